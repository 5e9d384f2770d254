/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to frbpf-admin: messages, and the calls that need CAP_SYS_ADMIN. Private to user/admin.
 */
#ifndef FRBPF_ADMIN_ADMIN_REQUEST_H
#define FRBPF_ADMIN_ADMIN_REQUEST_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum admin_kind {
	ADMIN_EVENT,	 /* a perf event; for a cgroup, with its descriptor */
	ADMIN_UPROBE,	 /* a uprobe, with the descriptor of its file */
	ADMIN_BPF_PROG,	 /* a BPF program by its id */
	ADMIN_BPF_BTF,	 /* BTF by its id */
	ADMIN_NEXT_PROG, /* the next id; the reply has no descriptor */
	ADMIN_KINDS
};

/* Comes with one or two descriptors. The first is a socket for the reply. */
struct admin_request {
	uint32_t kind;
	union {
		struct {
			struct perf_event_attr attr;
			pid_t pid; /* -1: all */
			int32_t cpu;
			uint32_t of_cgroup; /* 1: the descriptor is the cgroup; pid is not used */
		} event;
		struct {
			uint64_t offset, ref_ctr; /* bytes in the file; ref_ctr: 0: none */
		} uprobe;
		uint32_t id;
	};
};

struct admin_reply {
	int32_t error; /* 0 or negative errno */
	uint32_t id;   /* of ADMIN_NEXT_PROG */
	pid_t pid;     /* of the server */
};

/* perf types of kprobes and uprobes; -1: this kernel has none. */
struct admin_pmus {
	int kprobe, uprobe;
};

/*
 * Check a message of @len bytes that came with @n_fds descriptors. 0; -EBADMSG: it is malformed;
 * -EACCES: frbpf-admin does not do that.
 */
int admin_request__check(const void *msg, size_t len, size_t n_fds, const struct admin_pmus *pmus);

/* ---- the calls, used by client and server alike ---- */

/* Reads the types from sysfs. */
struct admin_pmus admin_pmus__find(void);

/*
 * Make the call that @r describes. @file: the descriptor that came with it, or -1. Returns a
 * descriptor, 0 for ADMIN_NEXT_PROG, or negative errno.
 */
int admin_request__open(struct admin_request *r, int file, const struct admin_pmus *pmus,
			uint32_t *ret_id);

#endif
