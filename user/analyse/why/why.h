/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task's time went, and through whom: a tree of causes whose leaves add up to the whole interval.
 * A wait is explained by what its waker did from when the wait began until it ended it, by the same rules. What
 * no event tells is WHY_UNKNOWN, with what would have told it.
 * Life: new, add files, ask once, look, free. Not locked.
 */
#ifndef FRBPF_ANALYSE_WHY_WHY_H
#define FRBPF_ANALYSE_WHY_WHY_H

#include "analyse/why/sched_events.h"
#include "analyse/why/stack_notes.h"
#include "analyse/why/sched_timeline.h"

#define WHY_DEPTH     12 /* wakers behind one another */
#define WHY_FUNCTIONS 4	 /* of a node, those with the most samples */
#define WHY_NODES     100000

enum why_type {
	WHY_ALL,	 /* the root */
	WHY_RAN,	 /* tid was on a CPU */
	WHY_INTERRUPTED, /* tid was on a CPU, and interrupt number (soft: vector) had it */
	WHY_QUEUED,	 /* tid was runnable, who was on the CPU */
	WHY_RECLAIM,	 /* tid was on a CPU, and searched for memory: soft: its cgroup's limit */
	WHY_SPUN, /* tid was on a CPU, and tried to get a lock of the kernel, which who had; 0: unknown */
	WHY_THROTTLED, /* tid was runnable, and its cgroup had used up its quota */
	WHY_WAITED,    /* tid was blocked, and woken in context, by who */
	WHY_SERVED,    /* tid waited for device number, which worked for who; 0: not recorded */
	WHY_HELD,      /* tid's request was kept from device number by a cgroup's limit */
	WHY_UNKNOWN,   /* of tid; missing says why */
};

enum why_missing {
	MISSING_NOTHING,
	MISSING_BEFORE,	  /* the recording begins later */
	MISSING_AFTER,	  /* the recording ends earlier */
	MISSING_TASK,	  /* no event is of the task */
	MISSING_LOST,	  /* records were lost */
	MISSING_HIDDEN,	  /* an event that should be there was not recorded */
	MISSING_WAKING,	  /* sched:sched_waking is not recorded */
	MISSING_STACK,	  /* the waking has no stack */
	MISSING_NOT_OVER, /* it has not ended yet */
	MISSING_IDLE,	  /* runnable, and its CPU idle */
	MISSING_QUOTA,	  /* whether a quota or others kept it from its CPU */
	MISSING_CPU,	  /* who ran on the CPU */
	MISSING_REQUEST,  /* who sent the request that it waited for */
	MISSING_OWNER,	  /* who had the lock that it spun for */
	MISSING_HELD,	  /* what kept its request from the device */
	MISSING_DEPTH,	  /* more wakers than WHY_DEPTH, or in a circle */
	MISSING_KINDS,
};

struct why_function {
	const char *name;
	const char *call; /* the system call that it was in; NULL: none */
	uint32_t samples;
};

/* What makes two pieces of time the same. Compared as memory: no padding. */
struct why_key {
	const struct why_node *parent;
	const char *function; /* where it waited; NULL: not known */
	const char *call;     /* the system call; NULL */
	uint32_t tid;
	uint32_t who;	 /* waker, or who was on the CPU; of a stop: who continued it */
	uint32_t sender; /* of a stop: who sent the signal; 0: not recorded */
	int32_t prio;	 /* WHY_QUEUED: of who */
	uint32_t number; /* WHY_INTERRUPTED: which; WHY_QUEUED: the CPU */
	uint8_t type;	 /* enum why_type */
	uint8_t kind;	 /* enum wait_kind */
	uint8_t context; /* enum wake_context */
	uint8_t missing; /* enum why_missing */
	uint32_t soft;	 /* WHY_INTERRUPTED: a softirq; WHY_RECLAIM: a cgroup's */
	uint32_t pad;
};

#define WHY_PRIO_UNKNOWN INT32_MIN
#define WHY_PRIO_IDLE	 INT32_MAX /* SCHED_IDLE: behind every nice value */

struct why_node {
	struct why_key key;
	uint64_t ns;	/* all of it; that of the children is a part */
	uint64_t first; /* ns; when it was first */
	uint32_t times;
	uint64_t idle_ns;  /* WHY_QUEUED: while another CPU was idle for all we see */
	uint32_t idle_cpu; /* that one */
	int32_t own_prio;  /* WHY_QUEUED: of tid then, or one of these */
	uint32_t samples;  /* WHY_RAN */
	struct why_function functions[WHY_FUNCTIONS];
	/* WHY_WAITED for a device: the request that ended it last */
	uint32_t dev;
	uint64_t sector, queued_ns, device_ns;
	struct why_node *child, *next; /* the largest first, once asked */
	void *entry;
};

struct why;

/* Whether something limits the CPU time of the cgroups of a process. */
enum why_quota {
	WHY_QUOTA_UNKNOWN,
	WHY_QUOTA_NONE,	  /* or it has never been used up */
	WHY_QUOTA_SET,	  /* and stacks show when it is used up */
	WHY_QUOTA_HIDDEN, /* and, before 6.18, no stack does */
};

struct why_question {
	uint32_t tid; /* as the recorder's pid namespace counts them */
	uint64_t from,
		to; /* ns; 0, 0: all that was recorded. from UINT64_MAX: its last wait before to, and the run behind it */
	uint32_t owner;	      /* as tid is: of what tid waits for at the end; 0: not known */
	enum why_quota quota; /* of tid's process, as far as something else than events tells */
	bool idle_policy;     /* tid has SCHED_IDLE, which no event tells */
};

int why__new(struct why **ret); /* -ENOMEM */
void why__free(struct why *w);	/* NULL is legal */

/* Errors are those of sched_events__add_file(). */
int why__add_file(struct why *w, const char *path, struct err *err);
/* -ENODATA: nothing there can answer it; -EINVAL: no such interval; words in @err. */
int why__ask(struct why *w, const struct why_question *q, struct err *err);

const struct why_node *why__root(const struct why *w); /* from is root->first */
const struct sched_events *why__events(const struct why *w);
/* What no event tells, of all: ns. */
uint64_t why__unknown_ns(const struct why *w);

#endif
