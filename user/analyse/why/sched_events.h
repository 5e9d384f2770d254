/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects scheduling events from recordings: switches, wake-ups, migrations, signals, interrupts,
 * block requests and samples of CPU time. They may come from several files, and are kept in the
 * order of time. Life: { 0 }, add files, sort, look, free. Files are not trusted. Not locked.
 */
#ifndef FRBPF_ANALYSE_WHY_SCHED_EVENTS_H
#define FRBPF_ANALYSE_WHY_SCHED_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SCHED_COMM    16    /* bytes */
#define SCHED_HANDLER 24    /* bytes of the name of an interrupt's handler, with the NUL */
#define SCHED_CPU_MAX 65536 /* no machine has more */

enum sched_kind {
	SCHED_SWITCH,  /* tid leaves the CPU in state arg, other is next */
	SCHED_WAKING,  /* tid wakes other, on the waker's CPU */
	SCHED_WAKEUP,  /* other was woken and is on the run queue of CPU arg */
	SCHED_NEW,     /* the same for a new task */
	SCHED_MIGRATE, /* other moves to the run queue of CPU arg */
	SCHED_SIGNAL,  /* tid sends signal arg to other */
	SCHED_IRQ,     /* the handler of line arg begins */
	SCHED_IRQ_END,
	SCHED_SOFTIRQ, /* softirq arg begins */
	SCHED_SOFTIRQ_END,
	SCHED_RQ_INSERT, /* a request to device arg, sector value */
	SCHED_RQ_ISSUE,
	SCHED_RQ_REQUEUE, /* the device could not take it now */
	SCHED_RQ_COMPLETE,
	SCHED_RECLAIM, /* tid begins direct reclaim */
	SCHED_RECLAIM_END,
	SCHED_CGROUP_RECLAIM, /* the same, at the limit of its cgroup */
	SCHED_CGROUP_RECLAIM_END,
	SCHED_COMPACTION, /* tid begins to compact memory */
	SCHED_COMPACTION_END,
	SCHED_TIMER, /* a kernel timer expires; value: the address of its function */
	/*
	 * tid begins to wait for lock arg at address value, or has spun for it; other owns the lock
	 */
	SCHED_LOCK,
	/* interrupts of line arg, or softirqs if prio is 1, ran for value ns until now */
	SCHED_INTERRUPT,
	SCHED_CPUHP,		    /* CPU arg leaves state value on its way to state prio */
	SCHED_KINDS,		    /* number of tracepoints */
	SCHED_SAMPLE = SCHED_KINDS, /* tid ran */
	SCHED_ALIVE,		    /* tid ran, shown by something other than a sample */
	SCHED_GAP,		    /* records of this CPU were lost between value and time */
	/* from offcpu-time: tid was off its CPU for value ns; the stack is that of this wait */
	SCHED_OFF_CPU,
};

/* Bits of common_flags, include/linux/trace_events.h */
#define SCHED_HARDIRQ	   0x08
#define SCHED_SOFTIRQ_FLAG 0x10

struct sched_event {
	uint64_t time; /* ns */
	uint64_t value;
	uint32_t tid;	/* the current task, as the kernel counts tids; 0: idle */
	uint32_t other; /* tid */
	uint32_t cpu;
	uint32_t arg;
	/*
	 * Priorities of tid and other. 0 to 99: real-time; 100 to 139: nice; -1: deadline.
	 * SCHED_LOCK: prio is the time spun, us; other_prio is the tid of other in the recorder's
	 * namespace. SCHED_RQ_COMPLETE: prio is the number of sectors; 0: a request that needed a
	 * flush ends, after the flush itself
	 */
	int32_t prio, other_prio;
	uint32_t sample; /* index among the samples of its file */
	uint16_t file;
	uint8_t kind;  /* enum sched_kind */
	uint8_t flags; /* common_flags */
	bool has_stack;
	uint16_t handler; /* SCHED_IRQ, SCHED_INTERRUPT: 1 + index in handlers; 0: unknown */
	uint32_t stack;	  /* index into stack_notes; 0: none */
};

/* A task that some event names */
struct sched_task {
	uint32_t tid;	  /* as the kernel counts them */
	uint32_t own_tid; /* in the recorder's pid namespace; usually the same */
	uint32_t pid;	  /* its process; 0: unknown */
	int32_t prio;	  /* the last reported; INT32_MIN: none */
	char comm[SCHED_COMM];
	size_t timeline; /* used by sched_timeline.c */
};

struct sched_tasks; /* the tasks that events name, by tid */

int sched_tasks__new(struct sched_tasks **ret); /* -ENOMEM */
void sched_tasks__free(struct sched_tasks *t);	/* NULL is legal */

/* Find or add; NULL: out of memory. The task keeps its address. */
struct sched_task *sched_tasks__get(struct sched_tasks *t, uint32_t tid);
/* Find only. NULL: there is none. */
struct sched_task *sched_tasks__find(const struct sched_tasks *t, uint32_t tid);
/* Set the tid in the recorder's namespace, and the process. 0 or -ENOMEM. */
int sched_tasks__set_own(struct sched_tasks *t, struct sched_task *task, uint32_t own_tid,
			 uint32_t pid);

struct sched_events {
	struct sched_event *v; /* sorted by time after sched_events__sort(); owned */
	size_t n, cap;
	char **files; /* paths; owned */
	size_t n_files;
	bool recorded[SCHED_KINDS];    /* some file has every hit of this tracepoint */
	bool with_stacks[SCHED_KINDS]; /* with stacks */
	bool samples;		       /* some event samples CPU time */
	bool off_cpu_times;	       /* some file has offcpu-time: stacks of waits, not of all */
	/* ns; switches are complete from begin on; nothing is recorded after end */
	uint64_t begin, end;
	struct sched_tasks *tasks;	 /* owned */
	char (*handlers)[SCHED_HANDLER]; /* names of handlers of interrupts, each once; owned */
	size_t n_handlers, handlers_cap;
};

/*
 * Add a recording. @since, ns: the recording is complete from here on; 0: unknown, so its first
 * switch counts. On an idle machine, the first switch may come much later. 0; -EINVAL, -ENOMEM or
 * errno of the read, message in @err.
 */
int sched_events__add_file(struct sched_events *e, const char *path, uint64_t since,
			   struct err *err);
/* Sort by time. Call once, after the last file. */
void sched_events__sort(struct sched_events *e);
void sched_events__free(struct sched_events *e);

/*
 * Find a task by the kernel's tid, or by its tid in the recorder's namespace. NULL: no event names
 * it.
 */
struct sched_task *sched_events__task(const struct sched_events *e, uint32_t tid);
struct sched_task *sched_events__own_task(const struct sched_events *e, uint32_t own_tid);
/* The name of the handler of an interrupt, not always printable. NULL: unknown. */
const char *sched_events__handler(const struct sched_events *e, const struct sched_event *ev);
/* "sched:sched_switch" ... */
const char *sched_kind__name(enum sched_kind kind);

/* Index of the first event at or after @time. */
size_t sched_events__at(const struct sched_events *e, uint64_t time);

#endif
