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

#include "paths.bpf.h"
#include "task.bpf.h"

#define EEXIST 17

/* Two halves, of which control.generation says which one is in force: entry i of half h is at
 * 2 * i + h. A source that is loaded often, for few rules each time, has less room in both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * FRBPF_MAX_RULES);
	__type(key, __u32);
	__type(value, struct frbpf_rule);
} rules SEC(".maps");

/* The automata of its globs: two halves, too, in the same order. */
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

/* Cooldowns and counts that are not per rule. When full, what is new is suppressed and counted; the
 * daemon deletes those that mean nothing any more. One map of each for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRBPF_MAX_COOLING);
	__type(key, struct frbpf_key);
	__type(value, struct frbpf_cooling);
} cooling SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FRBPF_MAX_COUNTING);
	__type(key, struct frbpf_key);
	__type(value, struct frbpf_count);
} counting SEC(".maps");

/* One map for all sources. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FRBPF_MAX_HOLDS);
	__type(key, __u32);
	__type(value, __u64);
} holds SEC(".maps");

/* Who is in the scope: a task that has an entry. One map for all sources, written by
 * bpf/scope.bpf.c and used with FRBPF_SCOPE_TASKS only. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} scope SEC(".maps");

/* As above, by the address and by the number of a task. Its size is that of bpf/scope.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} scope_keys SEC(".maps");

const struct frbpf_count no_count = {};

struct frbpf_control control;
/* Waits not measured because the task has no storage. On a cache line of its own: control is read
 * by every event. */
__u64 missing_storage __attribute__((aligned(64)));

enum { MATCH_SUBJECT, MATCH_CURRENT, MATCH_TASKS };

enum { MATCH_CGROUP_PATH, MATCH_EXE_PATH, MATCH_PATHS };

struct match {
	struct path_text path[MATCH_TASKS][MATCH_PATHS]; /* when a rule asks for them */
	__u64 val[MATCH_TASKS][FRBPF_FIELD_MAX][FRBPF_FIELD_WORDS];
	struct cgroup_ids cgroup[MATCH_TASKS]; /* when a rule asks for them */
	__u64 process[2];		       /* of the subject, as in struct frbpf_key */
	__u64 thread[2];
	__u64 own_cgroup; /* as cgroup */
	__u64 now;
	__u64 value;
	__s64 ret;
	__u32 key; /* below FRBPF_KEY_MAX; 0 for sources without keys, whose rules have bit 0 set */
	__u32 source;
	__u32 cpu;
	__u32 self;  /* the subject is one of our own */
	__u32 half;  /* of the maps of rules and globs */
	__u32 error; /* of a call that failed: errno; else 0 */
	__u32 waits; /* a call that waits by its nature */
	__u32 alone; /* the subject is the current task: its paths stand there once */
	__u32 fired; /* set by the engine: a trigger was sent */
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

/* A comparison of a path: == is a pattern without wildcards. */
static __always_inline int path_holds(const struct frbpf_node *node, const struct match *m,
				      __u32 task)
{
	__u32 path = node->field == FRBPF_FIELD_EXE ? MATCH_EXE_PATH : MATCH_CGROUP_PATH;
	__u8 op = node->op;

	if (m->alone)
		task = MATCH_SUBJECT;
	return path_glob_holds(node->val[0], &m->path[task][path]) ==
	       (op == FRBPF_OP_GLOB || op == FRBPF_OP_EQ);
}

/* Are the first @bits of two addresses the same? Their highest bits come first. */
static __always_inline bool prefix_holds(const __u64 *a, const __u64 *b, __u32 bits)
{
	__u64 high = a[0] ^ b[0], low = a[1] ^ b[1];

	if (bits <= 64)
		return !bits || !(high >> (64 - bits) % 64);
	return !high && !(low >> (128 - bits) % 64);
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
	if (field == FRBPF_FIELD_CGROUP_PATH || field == FRBPF_FIELD_EXE)
		return path_holds(node, m, task);
	low = m->val[task][field][0];
	high = m->val[task][field][1];
	if (op == FRBPF_OP_GLOB || op == FRBPF_OP_NO_GLOB)
		return glob_holds(2 * node->val[0] + m->half, low, high) == (op == FRBPF_OP_GLOB);
	if (op == FRBPF_OP_PREFIX || op == FRBPF_OP_NO_PREFIX)
		return prefix_holds(m->val[task][field], node->val, node->prefix) ==
		       (op == FRBPF_OP_PREFIX);
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

/* The highest bit set, without a branch: the verifier walks one path. 0 for 0. */
static __always_inline __u32 log2_of(__u64 v)
{
	__u32 shift, r;

	r = (v > 0xffffffff) << 5;
	v >>= r;
	shift = (v > 0xffff) << 4;
	v >>= shift;
	r |= shift;
	shift = (v > 0xff) << 3;
	v >>= shift;
	r |= shift;
	shift = (v > 0xf) << 2;
	v >>= shift;
	r |= shift;
	shift = (v > 0x3) << 1;
	v >>= shift;
	return r | shift | v >> 1;
}

static __always_inline void state_count(struct frbpf_rule_state *st, __u64 value)
{
	__u32 bucket = log2_of(value);
	__u64 max, i;

	barrier_var(
		bucket); /* the compiler knows it is in bounds, the verifier before 6.0 does not */
	__sync_fetch_and_add(&st->matched, 1);
	__sync_fetch_and_add(&st->values[bucket % FRBPF_MAX_VALUES], 1);
	__sync_fetch_and_add(&st->sum, value);
	st->last_value = value;
	/* A few attempts: whoever wins a race stored a maximum, too. */
	for (i = 0; i < 4; i++) {
		max = *(volatile __u64 *)&st->max_value;
		if (value <= max || __sync_val_compare_and_swap(&st->max_value, max, value) == max)
			break;
	}
}

static __always_inline void key_of(const struct frbpf_rule *rule, const struct frbpf_rate *rate,
				   const struct match *m, struct frbpf_key *ret)
{
	__u32 field = rate->field;

	ret->rule_id = rule->id;
	ret->val[0] = ret->val[1] = 0;
	ret->per = rate->per;
	ret->field = field;
	if (ret->per == FRBPF_PER_PROCESS) {
		ret->val[0] = m->process[0];
		ret->val[1] = m->process[1];
	} else if (ret->per == FRBPF_PER_THREAD) {
		ret->val[0] = m->thread[0];
		ret->val[1] = m->thread[1];
	} else if (ret->per == FRBPF_PER_CGROUP || field == FRBPF_FIELD_CGROUP) {
		ret->val[0] = m->own_cgroup;
	} else if (field < FRBPF_FIELD_MAX) {
		ret->val[0] = m->val[MATCH_SUBJECT][field][0];
		ret->val[1] = m->val[MATCH_SUBJECT][field][1];
	}
}

/* The count that this match belongs to; NULL: no room for it. */
static __always_inline struct frbpf_count *
count_of(const struct frbpf_rule *rule, struct frbpf_rule_state *st, const struct match *m)
{
	struct frbpf_count *count;
	struct frbpf_key key;

	if (rule->count.per == FRBPF_PER_RULE)
		return &st->count;
	key_of(rule, &rule->count, m, &key);
	count = bpf_map_lookup_elem(&counting, &key);
	if (count)
		return count;
	/* whoever is first makes it */
	bpf_map_update_elem(&counting, &key, &no_count, BPF_NOEXIST);
	return bpf_map_lookup_elem(&counting, &key);
}

/* One more match. Is it the n-th within the window since the last trigger? */
static __always_inline bool count_reached(struct frbpf_count *count, const struct frbpf_rate *rate,
					  __u64 now)
{
	__u64 i = __sync_fetch_and_add(&count->seen, 1), base, first, lap, k;

	lap = (i / FRBPF_COUNT_MAX + 1) % FRBPF_COUNT_MAX;
	count->times[i % FRBPF_COUNT_MAX] = now << FRBPF_COUNT_LAP_BITS | lap;
	count->until = now + rate->window;
	k = i + 1 - rate->n;
	for (__u32 attempt = 0; attempt < 4; attempt++) {
		base = *(volatile __u64 *)&count->base;
		if ((__s64)(k - base) < 0)
			return false;
		first = *(volatile __u64 *)&count->times[k % FRBPF_COUNT_MAX];
		lap = (k / FRBPF_COUNT_MAX + 1) % FRBPF_COUNT_MAX;
		/* of another lap: it is being written at this moment */
		if (first % FRBPF_COUNT_MAX == lap &&
		    (__s64)(now - (first >> FRBPF_COUNT_LAP_BITS)) > (__s64)rate->window)
			return false;
		if (__sync_val_compare_and_swap(&count->base, base, i + 1) == base)
			return true;
	}
	return false;
}

static __always_inline bool held_until(__u32 slot, __u64 now)
{
	__u64 *until = bpf_map_lookup_elem(&holds, &slot);

	return until && (__s64)(now - *until) < 0;
}

/* Why this match must not fire; FRBPF_CAUSE_MAX: it may, unless another CPU is faster. */
static __always_inline enum frbpf_cause
cause_against(const struct frbpf_rule *rule, struct frbpf_rule_state *st, const struct match *m)
{
	struct frbpf_count *count;

	if (m->self)
		return FRBPF_CAUSE_SELF;
	if (rule->count.n > 1) {
		count = count_of(rule, st, m);
		if (!count)
			return FRBPF_CAUSE_KEYS;
		if (!count_reached(count, &rule->count, m->now))
			return FRBPF_CAUSE_COUNT;
	}
	if (rule->flags & FRBPF_RULE_QUIET)
		return FRBPF_CAUSE_MAX;
	if (held_until(rule->slot, m->now))
		return FRBPF_CAUSE_RULE_CAP;
	if (held_until(FRBPF_HOLD_ALL, m->now))
		return FRBPF_CAUSE_CAP;
	return FRBPF_CAUSE_MAX;
}

/* A cooldown under way, or the last one. */
struct cooldown {
	struct frbpf_key key;
	__u64 *last_fired; /* NULL: none yet */
	__u64 last;	   /* what it was */
};

static __always_inline bool is_cooling(const struct frbpf_rule *rule, struct frbpf_rule_state *st,
				       const struct match *m, struct cooldown *c)
{
	if (rule->cooldown.per == FRBPF_PER_RULE) {
		c->last_fired = &st->last_fired;
	} else {
		key_of(rule, &rule->cooldown, m, &c->key);
		c->last_fired = bpf_map_lookup_elem(&cooling, &c->key);
	}
	c->last = c->last_fired ? *(volatile __u64 *)c->last_fired : 0;
	return rule->cooldown.window && c->last &&
	       (__s64)(m->now - c->last) < (__s64)rule->cooldown.window;
}

/*
 * The cooldown begins for exactly one match, however many CPUs see one: the winner of the exchange,
 * or whoever makes the entry. `now` may be older than what another CPU stored: differences are
 * signed.
 */
static __always_inline enum frbpf_cause cooldown_begin(const struct frbpf_rule *rule,
						       const struct match *m, struct cooldown *c)
{
	struct frbpf_cooling fresh = { m->now, m->now + rule->cooldown.window };
	long err;

	if (!rule->cooldown.window)
		return FRBPF_CAUSE_MAX;
	if (!c->last_fired) {
		err = bpf_map_update_elem(&cooling, &c->key, &fresh, BPF_NOEXIST);
		if (!err)
			return FRBPF_CAUSE_MAX;
		return err == -EEXIST ? FRBPF_CAUSE_COOLDOWN : FRBPF_CAUSE_KEYS;
	}
	if (__sync_val_compare_and_swap(c->last_fired, c->last, m->now) != c->last)
		return FRBPF_CAUSE_COOLDOWN;
	if (rule->cooldown.per != FRBPF_PER_RULE)
		c->last_fired[1] = fresh.until;
	return FRBPF_CAUSE_MAX;
}

static __always_inline void suppress(struct frbpf_rule_state *st, enum frbpf_cause cause)
{
	if (cause < FRBPF_CAUSE_MAX)
		__sync_fetch_and_add(&st->suppressed[cause], 1);
}

static __always_inline void trigger_fill(struct frbpf_trigger *t, const struct frbpf_rule *rule,
					 const struct match *m)
{
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
	__builtin_memcpy(t->args, m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG], sizeof(t->args));
}

/* The record is reserved first, so that a full ring does not begin a cooldown. */
static __always_inline enum frbpf_cause fire(const struct frbpf_rule *rule,
					     struct frbpf_rule_state *st, struct match *m)
{
	struct frbpf_trigger *t = NULL;
	struct cooldown c = {};
	enum frbpf_cause cause;

	if (is_cooling(rule, st, m, &c))
		return FRBPF_CAUSE_COOLDOWN;
	if (rule->flags & FRBPF_RULE_QUIET) {
		cause = cooldown_begin(rule, m, &c);
		if (cause == FRBPF_CAUSE_MAX)
			__sync_fetch_and_add(&st->fired, 1);
		return cause;
	}
	t = bpf_ringbuf_reserve(&triggers, sizeof(*t), 0);
	if (!t)
		return FRBPF_CAUSE_FULL;
	cause = cooldown_begin(rule, m, &c);
	if (cause != FRBPF_CAUSE_MAX) {
		bpf_ringbuf_discard(t, BPF_RB_NO_WAKEUP);
		return cause;
	}
	if (!rule->cooldown.window || rule->cooldown.per != FRBPF_PER_RULE)
		st->last_fired = m->now;
	trigger_fill(t, rule, m);
	__sync_fetch_and_add(&st->fired, 1);
	/* Forced: the kernel's own choice wakes nobody when a discarded record is still unread. */
	bpf_ringbuf_submit(t, BPF_RB_FORCE_WAKEUP);
	m->fired = 1;
	return FRBPF_CAUSE_MAX;
}

static __always_inline bool error_fits(const struct frbpf_rule *rule, __u32 error)
{
	if (!error || rule->flags & FRBPF_RULE_ANY_ERRNO)
		return error;
	return error < FRBPF_ERRNO_MAX && rule->errnos[error / 64] & (1ULL << (error % 64));
}

/* Try one rule. Not 0: its threshold is not reached, nor are those of the rules after it. */
__noinline int rule_run(__u32 idx, struct match *m)
{
	struct frbpf_rule_state *st;
	struct frbpf_rule *rule;
	enum frbpf_cause cause;
	__u32 slot;

	if (!m)
		return 1;
	rule = bpf_map_lookup_elem(&rules, &idx);
	if (!rule)
		return 1;
	if (rule->flags & FRBPF_RULE_FAILS) {
		if (!error_fits(rule, m->error))
			return 0;
	} else if (!(rule->flags & FRBPF_RULE_HIT) && m->value <= rule->threshold) {
		return 1;
	} else if (rule->flags & FRBPF_RULE_ALL_CALLS && m->waits) {
		return 0;
	}
	if (!key_in(rule->keys, m->key) || !nodes_hold(rule, m))
		return 0;
	slot = rule->slot;
	st = bpf_map_lookup_elem(&states, &slot);
	if (!st)
		return 0;
	state_count(st, m->value);
	cause = cause_against(rule, st, m);
	if (cause == FRBPF_CAUSE_MAX)
		cause = fire(rule, st, m);
	suppress(st, cause);
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

/* Is the cgroup (v2) at @cgroup the one of this id, or below it? */
__noinline int cgroup_below(__u64 cgroup, __u64 id)
{
	struct cgroup *cgrp = (struct cgroup *)cgroup;
	__u32 i, level;

	if (!bpf_core_type_exists(struct cgroup) || !cgrp)
		return 0;
	level = BPF_CORE_READ(cgrp, level);
	for (i = 0; i < FRBPF_CGROUP_DEPTH; i++) {
		if (i > level)
			break;
		if (cgroup_ancestor_id(cgrp, i) == id)
			return 1;
	}
	return 0;
}

/* Are the rules about this task? A source whose subject is not at hand when it measures asks this
 * while it is. */
static __always_inline bool in_scope(struct task_struct *task)
{
	if (control.scope == FRBPF_SCOPE_TASKS)
		return bpf_task_storage_get(&scope, task, 0, 0);
	if (control.scope == FRBPF_SCOPE_CGROUP)
		return bpf_core_field_exists(task->cgroups) &&
		       cgroup_below((__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp),
				    control.scope_cgroup);
	return true;
}

/* The same for a task of which no more is known than its address, or its number in the initial
 * namespace: of the latter the cgroup cannot be told. */
static __always_inline bool address_in_scope(__u64 task)
{
	struct task_struct *t = (struct task_struct *)task;

	if (control.scope == FRBPF_SCOPE_TASKS)
		return bpf_map_lookup_elem(&scope_keys, &task);
	if (control.scope == FRBPF_SCOPE_CGROUP)
		return bpf_core_field_exists(t->cgroups) &&
		       cgroup_below((__u64)BPF_CORE_READ(t, cgroups, dfl_cgrp),
				    control.scope_cgroup);
	return true;
}

static __always_inline bool number_in_scope(__u64 tid)
{
	if (control.scope == FRBPF_SCOPE_TASKS)
		return bpf_map_lookup_elem(&scope_keys, &tid);
	return true;
}

static __always_inline void match_cgroups(struct match *m, struct task_struct *subject,
					  struct task_struct *current)
{
	if (!bpf_core_field_exists(subject->cgroups)) /* CONFIG_CGROUPS=n */
		return;
	m->own_cgroup = BPF_CORE_READ(subject, cgroups, dfl_cgrp, kn, id);
	cgroup_ids((__u64)BPF_CORE_READ(subject, cgroups, dfl_cgrp), &m->cgroup[MATCH_SUBJECT]);
	if (subject == current)
		m->cgroup[MATCH_CURRENT] = m->cgroup[MATCH_SUBJECT];
	else
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
}

static __always_inline void match_no_paths(struct match *m)
{
	m->path[MATCH_SUBJECT][MATCH_CGROUP_PATH].text[0] = '\0';
	m->path[MATCH_SUBJECT][MATCH_EXE_PATH].text[0] = '\0';
	m->path[MATCH_CURRENT][MATCH_CGROUP_PATH].text[0] = '\0';
	m->path[MATCH_CURRENT][MATCH_EXE_PATH].text[0] = '\0';
}

static __always_inline void match_empty(struct match *m)
{
	match_no_paths(m);
	/* in two: one of more than 1 KB the compiler leaves to a function that BPF lacks */
	__builtin_memset(m->val, 0, sizeof(m->val));
	barrier();
	__builtin_memset(m->cgroup, 0, sizeof(*m) - offsetof(struct match, cgroup));
}

static __always_inline void task_paths(struct match *m, __u32 which, struct task_struct *task,
				       __u32 fields)
{
	struct mm_struct *mm;
	struct file *exe;

	if (fields & (1U << FRBPF_FIELD_CGROUP_PATH) && bpf_core_field_exists(task->cgroups))
		cgroup_path((__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp),
			    &m->path[which][MATCH_CGROUP_PATH]);
	/* a kernel thread may have somebody's memory for a while */
	if (!(fields & (1U << FRBPF_FIELD_EXE)) || BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return;
	mm = BPF_CORE_READ(task, mm);
	exe_path((__u64)mm, &m->path[which][MATCH_EXE_PATH]);
	exe = BPF_CORE_READ(mm, exe_file);
	m->val[which][FRBPF_FIELD_EXE][0] = BPF_CORE_READ(exe, f_inode, i_ino);
	m->val[which][FRBPF_FIELD_EXE][1] = BPF_CORE_READ(exe, f_inode, i_sb, s_dev);
}

/* An event above the lowest threshold, without tasks. */
static __always_inline void match_clear(struct match *m, __u32 half, __u64 now, __u64 value)
{
	match_empty(m);
	m->half = half;
	m->now = now;
	m->value = value;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_VALUE][0] = value;
	m->cpu = bpf_get_smp_processor_id();
}

/* The same in `scratch`. NULL cannot be. */
static __always_inline struct match *match_new(__u32 half, __u64 now, __u64 value)
{
	__u32 zero = 0;
	struct match *m = bpf_map_lookup_elem(&scratch, &zero);

	if (m)
		match_clear(m, half, now, value);
	return m;
}

static __always_inline bool rules_look_at_cgroups(__u32 half)
{
	return control.half[half].fields & (1U << FRBPF_FIELD_CGROUP);
}

/* When a rule asks for them. */
static __always_inline void match_paths(struct match *m, __u32 half, struct task_struct *subject,
					struct task_struct *current)
{
	__u32 fields = control.half[half & 1].fields;

	if (!(fields & (1U << FRBPF_FIELD_CGROUP_PATH | 1U << FRBPF_FIELD_EXE)))
		return;
	m->alone = subject == current;
	task_paths(m, MATCH_SUBJECT, subject, fields);
	if (subject != current)
		task_paths(m, MATCH_CURRENT, current, fields);
}

static __always_inline void match_tasks(struct match *m, __u32 half, struct task_struct *subject,
					struct task_struct *current)
{
	m->self = (__u32)subject->tgid == control.self_tgid;
	m->process[0] = (__u32)subject->tgid;
	m->process[1] = subject->group_leader->start_boottime;
	m->thread[0] = (__u32)subject->pid;
	m->thread[1] = subject->start_boottime;
	task_fields(subject, m->val[MATCH_SUBJECT], m->cpu);
	if (subject == current)
		__builtin_memcpy(m->val[MATCH_CURRENT], m->val[MATCH_SUBJECT],
				 sizeof(m->val[MATCH_CURRENT]));
	else
		task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (rules_look_at_cgroups(half))
		match_cgroups(m, subject, current);
	match_paths(m, half, subject, current);
}

/*
 * An event above the lowest threshold, for the source to add to. Values of the event stand with
 * those of the subject. NULL: the rules are not about this subject.
 */
static __always_inline struct match *match_begin(__u32 half, struct task_struct *subject,
						 struct task_struct *current, __u64 now,
						 __u64 value)
{
	struct match *m;

	if (!in_scope(subject))
		return NULL;
	m = match_new(half, now, value);
	if (m)
		match_tasks(m, half, subject, current);
	return m;
}

/* The same for an event that no task suffers from: its subject's fields are empty, but for `cpu`. In
 * scope it is where it holds up a task that is. */
static __always_inline struct match *match_of_cpu(__u32 half, __u64 now, __u64 value)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct match *m;

	if (!in_scope(current))
		return NULL;
	m = match_new(half, now, value);
	if (!m)
		return NULL;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_CPU][0] = m->cpu;
	task_fields(current, m->val[MATCH_CURRENT], m->cpu);
	if (rules_look_at_cgroups(half) && bpf_core_field_exists(current->cgroups))
		cgroup_ids((__u64)BPF_CORE_READ(current, cgroups, dfl_cgrp),
			   &m->cgroup[MATCH_CURRENT]);
	return m;
}

/* Of sources that a dump being written disturbs: for as long as the daemon says, it is `self`. */
static __always_inline void match_check_self(struct match *m)
{
	if (held_until(FRBPF_HOLD_SELF, m->now))
		m->self = 1;
}

static __always_inline void rules_run(struct match *m)
{
	__u32 half = m->half & 1, n_rules = control.half[half].n_rules;
	__u32 i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n_rules)
			break;
		if (rule_run(2 * i + half, m))
			break;
	}
}

/* Bytes, or a negative error, to frames. */
static __always_inline __u32 n_frames(long bytes)
{
	return bytes > 0 ? bytes / sizeof(__u64) : 0;
}

/* Behind the trigger, whose wake-up need not wait for this. No room: there are no stacks. */
static __always_inline void stacks_send(const struct match *m, struct task_struct *task,
					bool is_current)
{
	struct frbpf_stacks *s = bpf_ringbuf_reserve(&triggers, sizeof(*s), 0);

	if (!s)
		return;
	s->tag = FRBPF_TAG_STACKS;
	s->cpu = m->cpu;
	s->time = m->now;
	s->n_kernel = n_frames(bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0));
	s->n_user = 0;
	if (is_current)
		s->n_user = n_frames(
			bpf_get_task_stack(task, s->user, sizeof(s->user), BPF_F_USER_STACK));
	bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
}

/* The same, for a source that has its subject at hand. */
static __always_inline void rules_run_for(struct match *m, struct task_struct *subject)
{
	rules_run(m);
	if (m->fired)
		stacks_send(m, subject, subject == bpf_get_current_task_btf());
}

/* Run once by the daemon, in its own context: who are we, in the initial pid namespace? */
SEC("raw_tp")
int learn_self(void *ctx)
{
	control.self_tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

#endif
