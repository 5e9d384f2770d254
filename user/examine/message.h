/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages between frbpf and the processes that read files of other users. A request is a struct
 * examine_request; an answer is a head, followed by names. All are datagrams within one machine.
 * The receiver checks each: a malicious file may have taken over the parser.
 */
#ifndef FRBPF_EXAMINE_MESSAGE_H
#define FRBPF_EXAMINE_MESSAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata/build_id.h"

enum examine_kind {
	EXAMINE_BUILD_ID, /* build id of a mapped file */
	EXAMINE_SYMBOLS,  /* functions at offsets of the file with a build id */
	EXAMINE_VDSO,	  /* functions at offsets of the vDSO with a build id */
	EXAMINE_PERF_MAP, /* functions at addresses of code that a JIT made */
	EXAMINE_PROBE,	  /* facts that a probe needs about the file that comes with the request */
	EXAMINE_TASK,	  /* bytes of a file of /proc/TID, from start to end */
	EXAMINE_REACH,	  /* whether opening the file returns; the answer is empty */
	EXAMINE_KINDS,
};

#define EXAMINE_PLACES_MAX 256
#define EXAMINE_LINK_MAX   256
#define EXAMINE_NAME_MAX   4096	       /* bytes; longer names are skipped */
#define EXAMINE_ANSWER_MAX (64u << 10) /* bytes; names that do not fit are skipped */

/* Questions about a file that probes go into. */
enum examine_what {
	EXAMINE_FUNCTION,
	EXAMINE_USDT,
	EXAMINE_LIST_FUNCTIONS,
	EXAMINE_LIST_USDT,
	EXAMINE_WHATS,
};

/* Files of /proc/TID, whose reading the task can delay without limit. */
enum examine_task_file {
	EXAMINE_TASK_COMMAND, /* its command line, which is in its memory */
	EXAMINE_TASK_MEMORY,
	EXAMINE_TASK_SYSCALL,
	EXAMINE_TASK_FILES,
};

#define EXAMINE_PROVIDER_MAX 256
#define EXAMINE_SYMBOL_MAX   4096
#define EXAMINE_BODY_MAX     (512u << 20) /* bytes of all parts of an answer */

struct examine_probe {
	uint32_t what;
	uint32_t latency;		     /* 1: also where the function returns */
	uint64_t offset;		     /* bytes after the symbol */
	char provider[EXAMINE_PROVIDER_MAX]; /* of EXAMINE_USDT */
	char symbol[EXAMINE_SYMBOL_MAX];     /* or the name of the probe; for a list a glob */
};

struct examine_request {
	uint32_t number; /* set by examiner__ask() */
	uint32_t kind;
	uint32_t pid; /* of a process that has the file mapped at [start, end) */
	uint32_t n_places;
	uint32_t task_file; /* of EXAMINE_TASK */
	uint32_t zeros;
	uint64_t start, end;
	uint64_t ino, ino_generation; /* ino 0: not known */
	uint32_t maj, min;
	struct build_id id; /* size 0: not known */
	uint8_t zero[3];
	char path[PATH_MAX];	     /* as mapped; of EXAMINE_PROBE also shown in messages */
	char link[EXAMINE_LINK_MAX]; /* name of its debug file; "": unknown */
	uint64_t places[EXAMINE_PLACES_MAX];
	struct examine_probe probe;
};

/* 0 or -EBADMSG. */
int examine_request__check(const void *msg, size_t len);

/* Is it a file name without directories, or ""? */
bool examine_link__is_valid(const char link[static EXAMINE_LINK_MAX]);

struct examine_head {
	uint32_t number; /* number of the request */
	int32_t error;	 /* 0, or negative errno: no result */
	uint32_t n_names;
	uint32_t more; /* of EXAMINE_PROBE; 1: another part follows */
	/* of EXAMINE_BUILD_ID: the result; of EXAMINE_PROBE with -EAGAIN: ask again with this id */
	struct build_id id;
	uint8_t zero[3];
	/* of EXAMINE_SYMBOLS and EXAMINE_PROBE: name of the debug file; "": none named */
	char link[EXAMINE_LINK_MAX];
};

/* Follows the head n_names times, each with the bytes of the name, without a NUL. */
struct examine_name {
	uint32_t place; /* index into places[] */
	uint32_t len;
	uint64_t offset; /* bytes from the start of the function */
};

/* A name of an answer, which points into the message and has no NUL. */
struct examine_named {
	uint32_t place, len;
	uint64_t offset;
	const char *name;
};

/* Check that @msg is a complete answer to @request, and copy its head. 0 or -EBADMSG. */
int examine_answer__check(const void *msg, size_t len, const struct examine_request *request,
			  struct examine_head *ret);
/*
 * The same for a part of an answer to EXAMINE_PROBE or EXAMINE_TASK. After the head comes the
 * encoding of probe_found.h (EXAMINE_PROBE), or the bytes that were read (EXAMINE_TASK). With an
 * error, its message comes instead.
 */
int examine_part__check(const void *msg, size_t len, const struct examine_request *request,
			struct examine_head *ret);
/* Iterate over the names of a checked answer. *at is 0 at first. False: there are no more. */
bool examine_answer__next(const void *msg, size_t len, size_t *at, struct examine_named *ret);

#endif
