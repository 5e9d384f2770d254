/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rule engine, the same in every source. A source measures a value and asks rules_below(),
 * which ends almost every event; otherwise it fills a struct match (match_begin(), then its own
 * members) and calls rules_run().
 *
 * Rules are data. Each is looked at by a global function: the verifier checks that once, for any
 * number of rules, and the loop around it costs it a few instructions a rule. The engine looks at
 * the struct match only, never at a task, so that a test can run it on values of its own.
 */
#ifndef FRBPF_RULES_BPF_H
#define FRBPF_RULES_BPF_H

#include "task.bpf.h"

/* Two halves; control.generation says which one is in force. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_RULES);
	__type(key, __u32);
	__type(value, struct frbpf_rule);
} rules SEC(".maps");

/* The automata of its globs: two halves, too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_GLOBS);
	__type(key, __u32);
	__type(value, struct frbpf_glob);
} globs SEC(".maps");

/* The ids of the cgroups that rules name, 0 for one that does not exist. One map for all sources.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_CGROUPS);
	__type(key, __u32);
	__type(value, __u64);
} cgroups SEC(".maps");

/* One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_SLOTS);
	__type(key, __u32);
	__type(value, struct frbpf_rule_state);
} states SEC(".maps");

/* One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FRBPF_TRIGGERS_SIZE);
} triggers SEC(".maps");

struct frbpf_control control;
/* Waits not measured because the task has no storage. On a cache line of its own: control is read
 * by every event. */
__u64 missing_storage __attribute__((aligned(64)));

enum { MATCH_SUBJECT, MATCH_CURRENT, MATCH_TASKS };

struct match {
	__u64 val[MATCH_TASKS][FRBPF_FIELD_MAX][FRBPF_FIELD_WORDS];
	struct cgroup_ids cgroup[MATCH_TASKS]; /* when a rule asks for them */
	__u64 now;
	__u64 value;
	__s64 ret;
	__u32 key; /* below FRBPF_KEY_MAX; 0 for sources without keys, whose rules have bit 0 set */
	__u32 source;
	__u32 cpu;
	__u32 self; /* the subject is one of our own */
	__u32 half; /* of the maps of rules and globs */
};

/* Too large for the stack. Programs that use it neither sleep nor interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct match);
} scratch SEC(".maps");

static __always_inline bool key_in(const __u64 *keys, __u32 key)
{
	return keys[(key / 64) % FRBPF_KEY_WORDS] & (1ULL << (key % 64));
}

static __always_inline bool number_holds(__s64 val, __u8 op, __s64 arg)
{
	switch (op) {
	case FRBPF_OP_LT:
		return val < arg;
	case FRBPF_OP_LE:
		return val <= arg;
	case FRBPF_OP_GT:
		return val > arg;
	case FRBPF_OP_GE:
		return val >= arg;
	case FRBPF_OP_BITS:
		return val & arg;
	case FRBPF_OP_NO_BITS:
		return !(val & arg);
	}
	return false;
}

/* Does the automaton at @idx accept the string of these two words? See struct frbpf_glob. */
__noinline int glob_holds(__u32 idx, __u64 low, __u64 high)
{
	struct frbpf_glob *glob = bpf_map_lookup_elem(&globs, &idx);
	__u32 i, set = 1;
	__u8 byte;

	if (!glob)
		return 0;
	for (i = 0; i < FRBPF_COMM_LEN; i++) {
		byte = i < 8 ? low >> 8 * i : high >> 8 * (i - 8);
		if (!byte)
			break;
		set = (set & glob->next[byte]) << 1 | (set & glob->loop);
	}
	return (set & glob->accept) != 0;
}

/* Is the task in the cgroup at @idx, or in one below it? */
__noinline int cgroup_holds(__u32 idx, __u32 task, const struct match *m)
{
	__u64 *id = bpf_map_lookup_elem(&cgroups, &idx);
	__u32 i;

	if (!id || !*id || !m || task >= MATCH_TASKS)
		return 0;
	for (i = 0; i < FRBPF_CGROUP_DEPTH; i++) {
		if (m->cgroup[task].level[i] == *id)
			return 1;
	}
	return 0;
}

__noinline int node_holds(const struct frbpf_node *node, const struct match *m)
{
	__u32 task, field;
	__u64 low, high;
	__u8 op;

	if (!node || !m)
		return 0;
	field = node->field;
	if (field >= FRBPF_FIELD_MAX)
		return 0;
	op = node->op;
	task = node->flags & FRBPF_NODE_CURRENT ? MATCH_CURRENT : MATCH_SUBJECT;
	if (field == FRBPF_FIELD_CGROUP)
		return cgroup_holds(node->val[0], task, m) == (op == FRBPF_OP_EQ);
	low = m->val[task][field][0];
	high = m->val[task][field][1];
	if (op == FRBPF_OP_GLOB || op == FRBPF_OP_NO_GLOB)
		return glob_holds(m->half * FRBPF_MAX_GLOBS + node->val[0], low, high) ==
		       (op == FRBPF_OP_GLOB);
	if (op == FRBPF_OP_EQ || op == FRBPF_OP_NE)
		return (low == node->val[0] && high == node->val[1]) == (op == FRBPF_OP_EQ);
	return number_holds(low, op, node->val[0]);
}

/* A disjunction of conjunctions, see struct frbpf_node. */
__noinline int nodes_hold(const struct frbpf_rule *rule, const struct match *m)
{
	bool all = true;
	__u32 i;

	if (!rule || !m)
		return 0;
	if (!rule->n_nodes)
		return 1;
	for (i = 0; i < FRBPF_MAX_NODES; i++) {
		if (i >= rule->n_nodes)
			break;
		if (all && !node_holds(&rule->nodes[i], m))
			all = false;
		if (rule->nodes[i].flags & FRBPF_NODE_END) {
			if (all)
				return 1;
			all = true;
		}
	}
	return 0;
}

static __always_inline void state_count(struct frbpf_rule_state *st, __u64 value)
{
	__u64 max, i;

	__sync_fetch_and_add(&st->matched, 1);
	st->last_value = value;
	/* A few attempts: whoever wins a race stored a maximum, too. */
	for (i = 0; i < 4; i++) {
		max = *(volatile __u64 *)&st->max_value;
		if (value <= max || __sync_val_compare_and_swap(&st->max_value, max, value) == max)
			break;
	}
}

/*
 * The cooldown ends for exactly one match, however many CPUs see one: the winner of the exchange.
 * Its record is reserved before, so that a full ring does not start a cooldown. `now` may be older
 * than what another CPU stored: the difference is signed.
 */
static __always_inline void fire(const struct frbpf_rule *rule, struct frbpf_rule_state *st,
				 const struct match *m)
{
	__u64 last = *(volatile __u64 *)&st->last_fired;
	struct frbpf_trigger *t;

	if (rule->cooldown && last && (__s64)(m->now - last) < (__s64)rule->cooldown) {
		__sync_fetch_and_add(&st->suppressed[FRBPF_CAUSE_COOLDOWN], 1);
		return;
	}
	t = bpf_ringbuf_reserve(&triggers, sizeof(*t), 0);
	if (!t) {
		__sync_fetch_and_add(&st->suppressed[FRBPF_CAUSE_FULL], 1);
		return;
	}
	if (!rule->cooldown) {
		st->last_fired = m->now;
	} else if (__sync_val_compare_and_swap(&st->last_fired, last, m->now) != last) {
		bpf_ringbuf_discard(t, BPF_RB_NO_WAKEUP);
		__sync_fetch_and_add(&st->suppressed[FRBPF_CAUSE_COOLDOWN], 1);
		return;
	}
	t->tag = FRBPF_TAG_TRIGGER;
	t->source = m->source;
	t->time = m->now;
	t->value = m->value;
	t->threshold = rule->threshold;
	t->rule_id = rule->id;
	t->slot = rule->slot;
	t->cpu = m->cpu;
	t->key = m->key;
	t->pad = 0;
	t->ret = m->ret;
	task_record(&t->subject, m->val[MATCH_SUBJECT]);
	task_record(&t->current, m->val[MATCH_CURRENT]);
	__sync_fetch_and_add(&st->fired, 1);
	/* Forced: the kernel's own choice wakes nobody when a discarded record is still unread. */
	bpf_ringbuf_submit(t, BPF_RB_FORCE_WAKEUP);
}

/* Try one rule. Not 0: its threshold is not reached, nor are those of the rules after it. */
__noinline int rule_run(__u32 idx, const struct match *m)
{
	struct frbpf_rule_state *st;
	struct frbpf_rule *rule;
	__u32 slot;

	if (!m)
		return 1;
	rule = bpf_map_lookup_elem(&rules, &idx);
	if (!rule || m->value <= rule->threshold)
		return 1;
	if (!key_in(rule->keys, m->key) || !nodes_hold(rule, m))
		return 0;
	slot = rule->slot;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return 0;
	state_count(st, m->value);
	if (m->self)
		__sync_fetch_and_add(&st->suppressed[FRBPF_CAUSE_SELF], 1);
	else
		fire(rule, st, m);
	return 0;
}

/* The half in force. Asked for once per event: a reload may flip it at any time. */
static __always_inline __u32 rules_half(void)
{
	return *(volatile __u32 *)&control.generation & 1;
}

static __always_inline bool rules_below(__u32 half, __u64 value)
{
	return value <= control.half[half].min_threshold;
}

static __always_inline void match_cgroups(struct match *m, struct task_struct *subject,
					  struct task_struct *current)
{
	cgroup_ids((__u64)BPF_CORE_READ(subject, cgroups, dfl_cgrp), &m->cgroup[MATCH_SUBJECT]);
	if (subject == current)
		m->cgroup[MATCH_CURRENT] = m->cgroup[MATCH_SUBJECT];
	else
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
}

/*
 * An event above the lowest threshold, for the source to add to. Values of the event stand with
 * those of the subject. NULL cannot be.
 */
static __always_inline struct match *match_begin(__u32 half, struct task_struct *subject,
						 struct task_struct *current, __u64 now,
						 __u64 value)
{
	__u32 zero = 0;
	struct match *m = bpf_map_lookup_elem(&scratch, &zero);

	if (!m)
		return NULL;
	__builtin_memset(m, 0, sizeof(*m));
	m->half = half;
	m->now = now;
	m->value = value;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_VALUE][0] = value;
	m->cpu = bpf_get_smp_processor_id();
	m->self = (__u32)subject->tgid == control.self_tgid;
	task_fields(subject, m->val[MATCH_SUBJECT], m->cpu);
	if (subject == current)
		__builtin_memcpy(m->val[MATCH_CURRENT], m->val[MATCH_SUBJECT],
				 sizeof(m->val[MATCH_CURRENT]));
	else
		task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (control.half[half].fields & (1U << FRBPF_FIELD_CGROUP))
		match_cgroups(m, subject, current);
	return m;
}

static __always_inline void rules_run(const struct match *m)
{
	__u32 half = m->half & 1, n_rules = control.half[half].n_rules;
	__u32 i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n_rules)
			break;
		if (rule_run(half * FRBPF_MAX_RULES + i, m))
			break;
	}
}

/* Run once by the daemon, in its own context: who are we, in the initial pid namespace? */
SEC("raw_tp")
int learn_self(void *ctx)
{
	control.self_tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

#endif
