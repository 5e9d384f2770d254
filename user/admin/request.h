/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked of frbpf-admin. Private to user/admin. */
#ifndef FRBPF_ADMIN_REQUEST_H
#define FRBPF_ADMIN_REQUEST_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum admin_kind {
	ADMIN_EVENT,	 /* a perf event; with a cgroup, its descriptor comes along */
	ADMIN_UPROBE,	 /* an event on a place in a file, whose descriptor comes along */
	ADMIN_BPF_PROG,	 /* a BPF program by its id */
	ADMIN_BPF_BTF,	 /* its types */
	ADMIN_NEXT_PROG, /* the next id; no descriptor comes back */
	ADMIN_KINDS
};

/* The first descriptor that comes along is a socket for the reply. */
struct admin_request {
	uint32_t kind;
	union {
		struct {
			struct perf_event_attr attr;
			pid_t pid; /* -1: all */
			int32_t cpu;
			uint32_t of_cgroup; /* 1: pid is not used */
		} event;
		struct {
			uint64_t offset, ref_ctr; /* in the file; ref_ctr: 0: none */
		} uprobe;
		uint32_t id;
	};
};

struct admin_reply {
	int32_t error; /* 0 or negative errno */
	uint32_t id;   /* ADMIN_NEXT_PROG */
	pid_t pid;     /* who answers */
};

/* The types of the kernel's PMUs for probes: -1: it has none. */
struct admin_pmus {
	int kprobe, uprobe;
};

/* Is a message of @len bytes, with @n_fds descriptors, a request that is served? 0, -EBADMSG, or -EACCES: it could
 * be understood, and is not what frbpf-admin is for. */
int admin_request__check(const void *msg, size_t len, size_t n_fds, const struct admin_pmus *pmus);

#endif
