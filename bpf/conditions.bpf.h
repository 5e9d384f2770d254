/* SPDX-License-Identifier: GPL-2.0-only */
/* Evaluates conditions for an event. */
#ifndef FRBPF_CONDITIONS_BPF_H
#define FRBPF_CONDITIONS_BPF_H

#include "engine.bpf.h"

/*
 * Results of a condition: `&` is "and", `|` is "or". MAY_HOLD: some values are not filled in yet.
 */
enum { HOLDS_NOT = 0, MAY_HOLD = 1, HOLDS = 3 };

static __always_inline bool key_in(const __u64 *keys, __u32 key)
{
	__u32 word = key / 64;

	/* the compiler may drop the mask as needless, but the verifier of 6.1 needs it */
	barrier_var(word);
	return keys[word % FRBPF_KEY_WORDS] & (1ULL << (key % 64));
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

/* Does the automaton @idx accept the string in @low and @high? See struct frbpf_glob. */
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

/* Is the task in the cgroup with index @idx, or below it? */
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

#ifdef MATCH_READS_TEXTS
/* Read the string that argument @arg of the event points to, unless it was the last one read. */
static __always_inline void match_read_text(struct match *m, __u32 arg)
{
	char *text = m->path[MATCH_SUBJECT][MATCH_CALL_PATH].text;

	if (m->text == 2 + arg)
		return;
	m->text = 2 + arg;
	m->no_text = 0;
	if (bpf_probe_read_user_str(
		    text, FRBPF_MATCH_PATH,
		    (void *)m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + arg % FRBPF_MAX_ARGS][0]) >= 0)
		return;
	text[0] = '\0';
	m->no_text = 1;
	__sync_fetch_and_add(&texts_unread, 1);
}
#endif

/* Compare a path with a pattern; the pattern of == has no wildcards. */
static __always_inline int path_holds(const struct frbpf_node *node, struct match *m, __u32 task)
{
	__u32 path = node->field == FRBPF_FIELD_EXE ? MATCH_EXE_PATH : MATCH_CGROUP_PATH;
	__u8 op = node->op;

	if (node->field == FRBPF_FIELD_PATH)
		path = MATCH_CALL_PATH;
#ifdef MATCH_READS_TEXTS
	if (node->flags & FRBPF_NODE_TEXT)
		match_read_text(m, node->prefix);
#endif
	if (path == MATCH_CALL_PATH && m->no_text) /* an unknown path matches nothing */
		return 0;
	if (m->alone)
		task = MATCH_SUBJECT;
	return path_glob_holds(node->val[0], &m->path[task][path]) ==
	       (op == FRBPF_OP_GLOB || op == FRBPF_OP_EQ);
}

/* Are the first @bits of two addresses equal? The first bit is the highest of word 0. */
static __always_inline bool prefix_holds(const __u64 *a, const __u64 *b, __u32 bits)
{
	__u64 high = a[0] ^ b[0], low = a[1] ^ b[1];

	if (bits <= 64)
		return !bits || !(high >> (64 - bits) % 64);
	return !high && !(low >> (128 - bits) % 64);
}

static __always_inline bool node_check(const struct frbpf_node *node, struct match *m)
{
	__u32 task, field = node->field;
	__u64 low, high;
	__u8 op;

	if (field >= FRBPF_FIELD_MAX)
		return 0;
	op = node->op;
	task = MATCH_SUBJECT;
	if (node->flags & FRBPF_NODE_CURRENT && field < FRBPF_FIELD_VALUE)
		task = MATCH_CURRENT;
	if (field == FRBPF_FIELD_CGROUP)
		return cgroup_holds(node->val[0], task, m) == (op == FRBPF_OP_EQ);
	if (field == FRBPF_FIELD_CGROUP_PATH || field == FRBPF_FIELD_EXE ||
	    field == FRBPF_FIELD_PATH)
		return path_holds(node, m, task);
	low = m->val[task][field][0];
	high = m->val[task][field][1];
	if (op == FRBPF_OP_GLOB || op == FRBPF_OP_NO_GLOB)
		return glob_holds(2 * node->val[0] + m->bank, low, high) == (op == FRBPF_OP_GLOB);
	if (op == FRBPF_OP_PREFIX || op == FRBPF_OP_NO_PREFIX)
		return prefix_holds(m->val[task][field], node->val, node->prefix) ==
		       (op == FRBPF_OP_PREFIX);
	if (op == FRBPF_OP_EQ || op == FRBPF_OP_NE)
		return (low == node->val[0] && high == node->val[1]) == (op == FRBPF_OP_EQ);
	return number_holds(low, op, node->val[0]);
}

/*
 * Evaluate a conjunction up to this node; @before is its result without the node. If that is
 * HOLDS_NOT, the node is not evaluated: matching a pattern costs more than calling this function.
 */
__noinline int node_holds(const struct frbpf_node *node, struct match *m, __u32 before)
{
	if (!node || !m || before == HOLDS_NOT)
		return HOLDS_NOT;
	if (m->lacks_tasks && node->field < FRBPF_FIELD_VALUE)
		return MAY_HOLD;
	return node_check(node, m) ? before : HOLDS_NOT;
}

/*
 * Evaluate a condition: see struct frbpf_node. MAY_HOLD: it needs values of tasks, which are not
 * filled in yet. It has no branches, so that the verifier walks one path.
 */
__noinline int nodes_hold(const struct frbpf_rule *rule, struct match *m)
{
	__u32 any = HOLDS_NOT, all = HOLDS, end, i;

	if (!rule || !m)
		return HOLDS_NOT;
	if (!rule->n_nodes)
		return HOLDS;
	for (i = 0; i < FRBPF_MAX_NODES; i++) {
		if (i >= rule->n_nodes)
			break;
		all = node_holds(&rule->nodes[i], m, all);
		end = -(rule->nodes[i].flags / FRBPF_NODE_END & 1);
		any |= all & end;
		all |= HOLDS & end;
		barrier_var(all);
		barrier_var(any);
	}
	return any & HOLDS;
}

#endif
