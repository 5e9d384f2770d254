/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer of why in one sentence: what took most of the time, followed along the wakers, and who
 * caused it.
 */
#ifndef FRBPF_ANALYSE_WHY_WHY_VERDICT_H
#define FRBPF_ANALYSE_WHY_WHY_VERDICT_H

#include "analyse/why/why.h"
#include "common/buf.h"

#define VERDICT_NAME (SCHED_COMM + 12)

enum why_cause {
	CAUSE_UNKNOWN,
	CAUSE_COMPUTED,	 /* the culprit ran */
	CAUSE_INTERRUPT, /* interrupts or softirqs had the culprit's CPU */
	CAUSE_CPU,	 /* the culprit had the CPU that another task waited for */
	CAUSE_CPU_MANY,	 /* several tasks had it; the culprit is the first of them */
	CAUSE_QUOTA,	 /* the culprit's cgroup had used up its CPU quota */
	CAUSE_OWN_TIMER, /* the culprit slept */
	CAUSE_TIMEOUT,	 /* the culprit waited until its timeout */
	CAUSE_DEVICE,	 /* a device that worked for the culprit */
	CAUSE_IO_LIMIT,	 /* a limit kept the culprit's request from a device */
	CAUSE_RECLAIM,	 /* the culprit was in direct reclaim */
	CAUSE_COMPACT,	 /* the culprit compacted memory */
	CAUSE_NETWORK,	 /* the task waited for the network */
	CAUSE_STOPPED,	 /* the culprit sent the signal that stopped the task */
	CAUSE_TASK,	 /* the culprit woke the task; what it did before is unknown */
	CAUSE_KINDS,
};

/* Formats @ns for people into @buf, and returns @buf. */
typedef char *(*why_duration_fn)(uint64_t ns, char *buf, size_t size);

struct why_verdict {
	struct buf text;  /* one sentence, printable; owned */
	struct buf chain; /* "futex<sleep": equal for equal causes; owned */
	struct buf next;  /* what to look at, one line, printable; owned */
	enum why_cause cause;
	uint32_t culprit, culprit_pid; /* in the recorder's pid namespace; 0: nobody, or unknown */
	char culprit_comm[SCHED_COMM];
	/* printable; "": unknown */
	char process[SCHED_COMM], command[256], cgroup[WHY_PATH];
	/*
	 * what took the time, "loop0 (7:0)", "softirq net_rx"; "": no device, IRQ or softirq; owned
	 */
	struct buf resource;
	uint64_t ns, of_ns, unknown_ns;
	uint64_t stolen_ns, cpu_ns; /* as in the question */
	enum why_missing missing;   /* for CAUSE_UNKNOWN: the reason */
	const struct why_node *end; /* where it ends in the tree; belongs to why */
};

/* Make the verdict; @v is { 0 } before. 0 or -ENOMEM. */
int why_verdict__make(struct why_verdict *v, const struct why *w, why_duration_fn duration);
void why_verdict__free(struct why_verdict *v);

const char *why_cause__word(enum why_cause c);
/* Append why events are missing, and what would have recorded them. 0 or -ENOMEM. */
int why_missing__add(struct buf *b, const struct why *w, enum why_missing m);
/*
 * Append only what would have recorded them: "record -e sched:sched_waking -g of all tasks (-a)". 0
 * or -ENOMEM.
 */
int why_missing__add_record(struct buf *b, const struct why *w, enum why_missing m);
const char *why_missing__word(enum why_missing m);

#endif
