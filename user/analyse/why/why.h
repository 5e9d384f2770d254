/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explains where the time of a task went, and because of whom: a tree of causes whose leaves add up
 * to the whole interval. A wait is explained by what its waker did during the wait, by the same
 * rules. Time that no event explains is WHY_UNKNOWN, with what would have explained it. Life: new,
 * add files, ask once, look, free. Not locked.
 */
#ifndef FRBPF_ANALYSE_WHY_WHY_H
#define FRBPF_ANALYSE_WHY_WHY_H

#include <jansson.h>

#include "analyse/why/sched_events.h"
#include "analyse/why/stack_notes.h"
#include "analyse/why/sched_timeline.h"

#define WHY_DEPTH     12 /* length of a chain of wakers */
#define WHY_FUNCTIONS 4	 /* kept per node: those with the most samples */
#define WHY_NODES     100000

enum why_type {
	WHY_ALL, /* the root */
	WHY_RAN, /* tid was on a CPU */
	/* interrupt number (soft: a softirq) took the CPU that tid was on or waited for, see cpu */
	WHY_INTERRUPTED,
	WHY_QUEUED,  /* tid was runnable while who was on the CPU */
	WHY_RECLAIM, /* tid was on a CPU, in direct reclaim; soft: because of its cgroup's limit */
	WHY_COMPACTED, /* tid was on a CPU, and compacted memory */
	WHY_SPUN,      /* tid was on a CPU, spinning for a kernel lock owned by who; 0: unknown */
	WHY_THROTTLED, /* tid was runnable, but its cgroup had used up its quota */
	WHY_WAITED,    /* tid was blocked, and woken in context, by who */
	WHY_SERVED,    /* tid waited for device number, which worked for who; 0: not recorded */
	WHY_HELD,      /* a cgroup's limit kept tid's request from device number */
	WHY_UNKNOWN,   /* no event explains it; see missing */
};

enum why_missing {
	MISSING_NOTHING,
	MISSING_BEFORE,	  /* the recording begins later */
	MISSING_AFTER,	  /* the recording ends earlier */
	MISSING_TASK,	  /* no event of the task */
	MISSING_LOST,	  /* records were lost */
	MISSING_HIDDEN,	  /* an expected event was not recorded */
	MISSING_WAKING,	  /* sched:sched_waking is not recorded */
	MISSING_STACK,	  /* the waking has no stack */
	MISSING_NOT_OVER, /* the wait has not ended yet */
	MISSING_IDLE,	  /* runnable, although its CPU was idle */
	MISSING_QUOTA,	  /* did a quota or other tasks keep it off its CPU? */
	MISSING_CPU,	  /* which task ran on the CPU */
	MISSING_REQUEST,  /* which task sent the request that it waited for */
	MISSING_REQUESTS, /* the same: no events of requests are recorded */
	MISSING_OWNER,	  /* which task owned the lock that it spun for */
	MISSING_HELD,	  /* what kept its request from the device */
	MISSING_SENDER,	  /* which task of this machine sent the data */
	MISSING_DIRTY,	  /* who made too many pages dirty */
	MISSING_SIGNAL,	  /* who stopped it */
	MISSING_DEPTH,	  /* more than WHY_DEPTH wakers, or a cycle */
	MISSING_FLUSH,	  /* several flushes were in flight */
	MISSING_ENDED,	  /* the task had ended */
	MISSING_LIMIT,	  /* there are more events than are looked at */
	MISSING_KINDS,
};

struct why_function {
	const char *name;
	const char *call; /* system call in which it ran; NULL: none */
	uint32_t samples;
};

/* Pieces of time with equal keys are added up. Compared with memcmp(): no padding. */
struct why_key {
	const struct why_node *parent;
	const char *function; /* where it waited; NULL: unknown */
	const char *call;     /* the system call; NULL: none */
	const char *handler;  /* WHY_INTERRUPTED: the IRQ's handler; NULL: unknown, or a softirq */
	uint32_t tid;
	uint32_t who; /* waker, or task on the CPU; for a stop: the task that continued it */
	/*
	 * A stop: the sender of the signal.
	 * A lock: its owner at the start; of LOCK_RWSEM_READERS the last one that took it.
	 * WHY_RAN, WHY_QUEUED, WHY_SERVED: the task for which a kernel thread works.
	 * 0: not recorded, or none.
	 */
	uint32_t sender;
	int32_t prio; /* WHY_QUEUED: priority of who */
	/*
	 * WHY_INTERRUPTED: the interrupt.
	 * WHY_QUEUED: the CPU.
	 * WHY_WAITED, WHY_SPUN: enum lock_kind.
	 */
	uint32_t number;
	uint8_t type;	 /* enum why_type */
	uint8_t kind;	 /* enum wait_kind */
	uint8_t context; /* enum wake_context */
	uint8_t missing; /* enum why_missing */
	/*
	 * WHY_INTERRUPTED: a softirq.
	 * WHY_RECLAIM: at the limit of a cgroup.
	 * WHY_QUEUED: 1 + the CPU that it had to leave, because the CPU went offline.
	 * WHY_SPUN: who is inferred, no event names the owner.
	 * WHY_WAITED: its stack was not recorded, as short waits are sampled.
	 */
	uint32_t soft;
	uint32_t cpu; /* WHY_INTERRUPTED: 1 + the CPU that it waited for; 0: it was on the CPU */
};

#define WHY_PRIO_UNKNOWN INT32_MIN
#define WHY_PRIO_IDLE	 INT32_MAX /* SCHED_IDLE: runs after every nice value */

#define WHY_SEVERAL_CPUS UINT32_MAX

struct why_node {
	struct why_key key;
	uint64_t ns;	/* total; includes that of the children */
	uint64_t first; /* ns; when it first occurred */
	uint32_t times;
	/* WHY_QUEUED: another CPU seemed idle, and nothing says that tid may not run there */
	uint64_t idle_ns;
	uint64_t barred_ns;	       /* the same for a CPU where tid may not run */
	uint32_t idle_cpu, barred_cpu; /* these two CPUs, or WHY_SEVERAL_CPUS in turn */
	uint32_t softirq; /* WHY_QUEUED behind ksoftirqd: 1 + what that ran longest; 0: unknown */
	int32_t own_prio; /* WHY_QUEUED: priority of tid then, or a WHY_PRIO_ value */
	uint32_t samples; /* WHY_RAN */
	struct why_function functions[WHY_FUNCTIONS];
	/* WHY_WAITED for a device: the last request that ended it; device_ns 0: not known */
	uint32_t dev;
	uint64_t sector, queued_ns, device_ns;
	bool several_devices;	       /* earlier requests had other devices than dev */
	struct why_node *child, *next; /* after why__ask() the largest comes first */
	void *entry;
};

struct why;

/* Does anything limit the CPU time of the cgroups of a process? */
enum why_quota {
	WHY_QUOTA_UNKNOWN, /* perhaps: a stack shows when it is used up */
	WHY_QUOTA_SHOWN,   /* a quota: a stack or a timer shows when it is used up */
	WHY_QUOTA_NONE,	   /* no quota, or it has never been used up */
	WHY_QUOTA_HIDDEN,  /* a quota, and, before 6.18, no stack shows it */
};

/* What may limit a cgroup */
enum why_limit {
	WHY_LIMIT_CPU,
	WHY_LIMIT_MEMORY,
	WHY_LIMIT_IO,
	WHY_LIMITS,
};

#define WHY_CPUS 1024 /* only the first CPUs are checked for being idle */
#define WHY_PATH 256  /* bytes, with the NUL; longer paths of cgroups are not kept */

/* The only cgroup of a task that has reached a given limit */
struct why_cgroup {
	char path[WHY_PATH]; /* below /sys/fs/cgroup; "": unknown, or there are several */
	bool v1;
};

#define WHY_PEER 64 /* bytes, with the NUL */

#define WHY_DISKS     128
#define WHY_DISK_NAME 32 /* bytes, with the NUL */

struct why_disk {
	uint32_t dev;		  /* as in struct why_node */
	char name[WHY_DISK_NAME]; /* not always printable */
};

struct why_question {
	uint32_t tid; /* in the recorder's pid namespace */
	/*
	 * ns; 0, 0: all that was recorded. `from` UINT64_MAX: from the start of the task's last
	 * wait before `to`
	 */
	uint64_t from, to;
	uint32_t owner;	      /* as tid: the owner of what tid waits for at the end; 0: unknown */
	enum why_quota quota; /* of tid's process, as known from sources other than events */
	uint64_t cpus[WHY_CPUS / 64]; /* bit set: tid may run there; no bit: unknown */
	bool idle_policy;	      /* tid has SCHED_IDLE, which no event tells */
	char call[256];	     /* the system call of the question: "open(...) = 3"; "": none */
	char peer[WHY_PEER]; /* its other end: "10.0.0.1:80"; "": none, or unknown */
	uint64_t call_from;  /* ns; when that call began; it ended at `to` */
	/* tid's name at the end, if it is newer than its last event; "": unknown */
	char comm[SCHED_COMM];
	struct why_cgroup limits[WHY_LIMITS]; /* of tid's process */
	char command[256], cgroup[WHY_PATH];  /* likewise; not always printable; "": unknown */
	uint32_t culprit;		      /* process of the stored verdict's culprit; 0: none */
	char culprit_command[256], culprit_cgroup[WHY_PATH]; /* of that process; likewise */
	/*
	 * the least cpu.weight of the cgroups of tid's process; in version 1 the least cpu.shares;
	 * 0: unknown
	 */
	uint32_t weight;
	bool weight_is_shares;
	/*
	 * CPU time of the machine in the seconds of the interval, and what a hypervisor took of it;
	 * 0, 0: unknown
	 */
	uint64_t cpu_ns, stolen_ns;
	struct why_disk disks[WHY_DISKS]; /* those whose names are known */
	size_t n_disks;
};

int why__new(struct why **ret); /* -ENOMEM */
void why__free(struct why *w);	/* NULL is legal */

/* Add a recording: see sched_events__add_file(). */
int why__add_file(struct why *w, const char *path, uint64_t since, struct err *err);
/* Take the names of the kernel from @lines, see kernel_names.h. 0 or -ENOMEM. */
int why__use_kernel_names(struct why *w, const json_t *lines);
/*
 * Answer the question. -ENODATA: the recordings cannot answer it; -EINVAL: no such interval;
 * message in @err.
 */
int why__ask(struct why *w, const struct why_question *q, struct err *err);

const struct why_node *why__root(const struct why *w); /* the interval begins at root->first */
const struct sched_events *why__events(const struct why *w);
const struct why_question *why__question(const struct why *w); /* tid: as the kernel counts */
/* May @tid run on @cpu? If unknown, true. */
bool why__may_run_on(const struct why *w, uint32_t tid, uint32_t cpu);
/* The number of CPUs on which @tid may run; 0: unknown */
size_t why__n_cpus_of(const struct why *w, uint32_t tid);
/* Do kernel functions lack names? Then the answer may be poorer than on the recorded machine. */
bool why__lacks_kernel_names(const struct why *w);
/* The system call that the question is about; not always printable. */
const char *why__call(const struct why *w);
/* The other end of the connection that wait @n was for; not always printable. NULL: unknown */
const char *why__peer_of(const struct why *w, const struct why_node *n);
/* Is @peer an address of the loopback device? This machine may have other addresses, too. */
bool why__peer_is_local(const char *peer);
/* The disk with this number; NULL: its name is unknown */
const struct why_disk *why__disk(const struct why *w, uint32_t dev);
/*
 * Were no interrupts recorded, and does computing time of tasks therefore include them? False if no
 * task computed.
 */
bool why__lacks_interrupts(const struct why *w);
/* Is @tid ksoftirqd, the kernel thread that runs softirqs when there are too many? */
bool why__is_softirqd(const struct why *w, uint32_t tid);
/*
 * Does @tid work for an io_uring? Then `sender` is the owner of the ring; for other threads it is
 * who woke them.
 */
bool why__is_ring_worker(const struct why *w, uint32_t tid);
/* The total time of WHY_UNKNOWN, ns. */
uint64_t why__unknown_ns(const struct why *w);

#endif
