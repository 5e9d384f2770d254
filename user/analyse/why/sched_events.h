/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What recordings say about who ran, who waited and who woke whom: switches, wake-ups, migrations,
 * signals, interrupts, block requests and samples of CPU time, of one or several files, in the order of time.
 * Life: { 0 }, add files, sort, look, free. Nothing in a file is believed. Not locked.
 */
#ifndef FRBPF_ANALYSE_WHY_SCHED_EVENTS_H
#define FRBPF_ANALYSE_WHY_SCHED_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SCHED_COMM    16    /* bytes */
#define SCHED_CPU_MAX 65536 /* no machine has more */

enum sched_kind {
	SCHED_SWITCH,  /* tid leaves the CPU in state arg, other comes */
	SCHED_WAKING,  /* tid wakes other, on the waker's CPU */
	SCHED_WAKEUP,  /* other was woken and is on the queue of CPU arg */
	SCHED_NEW,     /* the same, of a new task */
	SCHED_MIGRATE, /* other goes to the queue of CPU arg */
	SCHED_SIGNAL,  /* tid sends signal arg to other */
	SCHED_IRQ,     /* handler of line arg begins */
	SCHED_IRQ_END,
	SCHED_SOFTIRQ, /* softirq arg begins */
	SCHED_SOFTIRQ_END,
	SCHED_RQ_INSERT, /* of a request to device arg, sector value */
	SCHED_RQ_ISSUE,
	SCHED_RQ_COMPLETE,
	SCHED_RECLAIM, /* tid begins to search for memory */
	SCHED_RECLAIM_END,
	SCHED_CGROUP_RECLAIM, /* the same, at its cgroup's limit */
	SCHED_CGROUP_RECLAIM_END,
	SCHED_TIMER, /* a timer of the kernel's with the function at address value expires */
	SCHED_KINDS, /* of tracepoints */
	SCHED_SAMPLE = SCHED_KINDS, /* tid ran */
	SCHED_ALIVE,		    /* tid ran, and no sample says it */
	SCHED_GAP,		    /* records of this CPU were lost from value to time */
};

/* Bits of common_flags, include/linux/trace_events.h. */
#define SCHED_HARDIRQ	   0x08
#define SCHED_SOFTIRQ_FLAG 0x10

struct sched_event {
	uint64_t time; /* ns */
	uint64_t value;
	uint32_t tid;	/* of the current task, as the kernel counts them; 0: idle */
	uint32_t other; /* tid */
	uint32_t cpu;
	uint32_t arg;
	int32_t prio, other_prio; /* 0 to 99: real-time; 100 to 139: nice; -1: deadline */
	uint32_t sample;	  /* its number among the samples of its file */
	uint16_t file;
	uint8_t kind;  /* enum sched_kind */
	uint8_t flags; /* common_flags */
	bool has_stack;
	uint32_t stack; /* of stack_notes; 0: none */
};

/* A task that some event names. */
struct sched_task {
	uint32_t tid;	  /* as the kernel counts them */
	uint32_t own_tid; /* as the recorder's pid namespace counts them; mostly the same */
	uint32_t pid;	  /* of its process; 0: not known */
	int32_t prio;	  /* the last that was told; INT32_MIN: none was */
	char comm[SCHED_COMM];
	size_t timeline; /* for sched_timeline.c */
};

struct sched_events {
	struct sched_event *v; /* by time, once sorted; owned */
	size_t n, cap;
	char **files; /* paths; owned */
	size_t n_files;
	bool recorded[SCHED_KINDS];    /* some file has this tracepoint, every hit of it */
	bool with_stacks[SCHED_KINDS]; /* and its stacks */
	bool samples;		       /* some event samples CPU time */
	uint64_t begin, end; /* ns; from when on switches are complete, until when anything is */
	struct sched_tasks *tasks; /* owned */
};

/* Add a recording. -EINVAL, -ENOMEM or errno of reading, with words in @err. */
int sched_events__add_file(struct sched_events *e, const char *path, struct err *err);
/* Once, after the last file. */
void sched_events__sort(struct sched_events *e);
void sched_events__free(struct sched_events *e);

/* NULL: no event names it. By the kernel's tid; by that of the recorder's namespace. */
struct sched_task *sched_events__task(const struct sched_events *e, uint32_t tid);
struct sched_task *sched_events__own_task(const struct sched_events *e, uint32_t own_tid);
/* "sched:sched_switch" ... */
const char *sched_kind__name(enum sched_kind kind);

/* The first event at or after @time. */
size_t sched_events__at(const struct sched_events *e, uint64_t time);

#endif
