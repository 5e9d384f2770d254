/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of why share: why.c asks, why_running.c says what was done on a CPU, why_runnable.c says behind whom, why_device.c for whom a
 * device worked, why_tree.c keeps the tree. */
#ifndef FRBPF_ANALYSE_WHY_WHY_IMPL_H
#define FRBPF_ANALYSE_WHY_WHY_IMPL_H

#include "analyse/why/why.h"

#define WHY_LONG_NS                                                                                \
	1000000 /* shorter waits are not asked whether another CPU was idle, or for a quota */
#define WHY_TIMERS 256 /* functions of timers that are told apart */

/* A function of the kernel's timers. */
struct why_timer {
	uint64_t function; /* address */
	uint32_t event;	   /* whose note has its name */
};

struct why {
	struct why_question q;
	struct why_timer timers[WHY_TIMERS];
	size_t n_timers;
	uint32_t looks; /* at events before a wait's end: see may_look() */
	struct sched_events events;
	struct sched_timeline timeline;
	struct stack_notes notes;
	struct why_tree *tree;
	struct why_node *root;	      /* of tree */
	bool collecting;	      /* the first round: which stacks will be needed */
	uint32_t path[WHY_DEPTH + 1]; /* tids, the subject first */
};

/* ---- why_tree.c ---- */
int why_tree__new(struct why_tree **ret);
void why_tree__free(struct why_tree *t);
/* Find or add the node of @key, and give it @ns more. NULL: out of memory, or of WHY_NODES. */
struct why_node *why_tree__add(struct why_tree *t, const struct why_key *key, uint64_t time,
			       uint64_t ns);
/* The largest child first, everywhere. */
void why_tree__sort(struct why_node *n);

/* A child of @parent that has no other attribute than these. */
int why__add_unknown(struct why *w, struct why_node *parent, uint32_t tid, enum why_missing missing,
		     uint64_t from, uint64_t to);

/* Whether one more event may be looked at: a question must not take forever, whatever is recorded. */
bool why__may_look(struct why *w);
/* What @tid did in that time, below @parent. 0 or -ENOMEM. */
int why__explain_task(struct why *w, struct why_node *parent, uint32_t tid, uint64_t from,
		      uint64_t to, size_t depth);

/* ---- why_running.c ---- */
/* What span @s of @tid's, on a CPU, was used for from @from to @to. 0 or -ENOMEM. */
int why_running__explain(struct why *w, struct why_node *parent, uint32_t tid,
			 const struct task_line *l, const struct task_span *s, uint64_t from,
			 uint64_t to);

/* ---- why_device.c ---- */
/* The wait @n of @tid, which a device's request ended by wake-up @wake: for whom the device worked. 0 or -ENOMEM. */
int why_device__explain(struct why *w, struct why_node *n, uint32_t tid, uint32_t wake,
			uint64_t from, uint64_t to, size_t depth);

/* ---- why_quota.c ---- */
/* Does the stack at the beginning of span @s say that a quota is used up? */
enum quota_sign {
	QUOTA_NO_SIGN,
	QUOTA_MAYBE, /* or that it was preempted when it returned to its program */
	QUOTA_USED_UP,
};
enum quota_sign why_quota__sign(const struct why *w, const struct task_span *s);
/*
 * Since when a task that was throttled at the beginning of @s may have had a quota again, and since when it had: the
 * first and the last time in it that the kernel gave one to any cgroup. False: not in it, or not recorded.
 */
bool why_quota__renewed(struct why *w, const struct task_span *s, uint64_t *ret_first,
			uint64_t *ret_last);
/* What else is known of that of @tid. */
enum why_quota why_quota__of(const struct why *w, uint32_t tid);

/* ---- why_runnable.c ---- */
/* Why span @s of @tid's, runnable, did not run from @from to @to. 0 or -ENOMEM. */
int why_runnable__explain(struct why *w, struct why_node *parent, uint32_t tid,
			  const struct task_span *s, uint64_t from, uint64_t to);

#endif
