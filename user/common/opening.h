/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens files for a process that reads untrusted files and must open none itself. Another
 * process, the opener, finds and opens them, and reads none. Before opening__start(), and in
 * processes without an opener, files are opened directly.
 */
#ifndef FRBPF_COMMON_OPENING_H
#define FRBPF_COMMON_OPENING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OPENING_LINK_MAX 256
#define OPENING_ID_MAX	 20 /* bytes of a build id */

enum opening_kind {
	OPENING_RECORDING, /* a path that our user named */
	OPENING_KERNEL,	   /* path of a file of the kernel, or of perf's copy of it */
	OPENING_TEMPORARY, /* a new file without a name */
	OPENING_MAPPED,	   /* a file that a process mapped: see file_search.h */
	OPENING_DEBUG,
	OPENING_VDSO,
	OPENING_PERF_MAP,
	OPENING_KINDS,
};

struct opening_request {
	uint32_t kind;
	uint32_t candidate, pid;
	uint32_t id_size;
	uint64_t start, end;
	uint8_t id[OPENING_ID_MAX];
	char link[OPENING_LINK_MAX];
	char path[PATH_MAX];
};

/* Opens a file in the opener. Returns a descriptor or negative errno. */
typedef int (*opening_fn)(const struct opening_request *r);

/*
 * Fork the opener. It calls @enter to limit its own rights, then @fn for each request. It ends with
 * us, and closes the @n descriptors of @ours. *ret_sock: the socket for requests; the opener has no
 * copy of it. Call it when there are no other threads. 0 or negative errno.
 */
int opening__start(int (*enter)(void), opening_fn fn, const int *ours, size_t n, int *ret_sock);

/* Is there an opener? */
bool opening__is_remote(void);
/* The pid of the opener; 0: there is none. */
pid_t opening__pid(void);
/*
 * Ask the opener for a file. Returns a descriptor that the caller closes, or negative errno;
 * -ETIMEDOUT: a file system hangs, and no further file can be opened.
 */
int opening__ask(const struct opening_request *r);

/*
 * Open the recording @path, for reading. Returns a descriptor or negative errno; from the opener
 * also -ENXIO: not a regular file; -ENOEXEC: not a recording.
 */
int opening__recording(const char *path);
/* Open the file @path of the kernel, for reading. Returns a descriptor or negative errno. */
int opening__kernel(const char *path);
/* Make a file without a name, on disk if possible. Returns a descriptor or negative errno. */
int opening__temporary(void);

/* Is @r a complete request? For the opener, since its client may have been taken over. */
bool opening_request__is_valid(const struct opening_request *r);

/* The only system calls of a process that opens untrusted files for another process. */

/*
 * Allow only calls to find and open files, to read the beginning of one, and to receive and send
 * requests and descriptors: no other file is made or changed. Any other call raises SIGSYS. Needs
 * no_new_privs. 0, also if the kernel has no seccomp filters, or negative errno.
 */
int opening_calls__limit(void);

#endif
