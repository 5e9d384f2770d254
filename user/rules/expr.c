// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "rules/expr_tree.h"

#define PID_MAX_LIMIT 4194304	    /* include/linux/threads.h, 64 bit */
#define CPU_MAX	      8191	    /* CONFIG_NR_CPUS is at most 8192 (arch/x86/Kconfig) */
#define UID_MAX	      0xfffffffeULL /* (uid_t)-1 is no user */

const struct expr_field_desc expr_fields[] = {
	{ "comm", FRBPF_FIELD_COMM, true, 0, "name of the thread, at most 15 bytes" },
	{ "process", FRBPF_FIELD_PROCESS, true, 0,
	  "name of the process: of its first thread, at most 15 bytes" },
	{ "pid", FRBPF_FIELD_PID, false, PID_MAX_LIMIT, "process id (thread group id)" },
	{ "tid", FRBPF_FIELD_TID, false, PID_MAX_LIMIT, "thread id" },
	{ "uid", FRBPF_FIELD_UID, false, UID_MAX, "effective user id" },
	{ "cpu", FRBPF_FIELD_CPU, false, CPU_MAX, "processor" },
	{ NULL },
};

int expr__parse(const struct source_text *src, struct span span, struct diags *d, struct expr *ret)
{
	struct tree tree;
	int err = tree__parse(src, span, d, &tree);

	return err ? err : tree__normalise(&tree, src, d, ret);
}

static bool compare(enum frbpf_op op, __u64 a, __u64 b)
{
	switch (op) {
	case FRBPF_OP_EQ:
		return a == b;
	case FRBPF_OP_NE:
		return a != b;
	case FRBPF_OP_LT:
		return a < b;
	case FRBPF_OP_LE:
		return a <= b;
	case FRBPF_OP_GT:
		return a > b;
	case FRBPF_OP_GE:
		return a >= b;
	case FRBPF_OP_MAX:
		break;
	}
	return false;
}

static bool node_holds(const struct frbpf_node *n, const struct expr_subject *s)
{
	const __u64 *val = s->val[n->flags & FRBPF_NODE_CURRENT ? 1 : 0][n->field];

	if (n->field == FRBPF_FIELD_COMM || n->field == FRBPF_FIELD_PROCESS) {
		bool same = val[0] == n->val[0] && val[1] == n->val[1];

		return same == (n->op == FRBPF_OP_EQ);
	}
	return compare(n->op, val[0], n->val[0]);
}

bool expr__eval(const struct expr *e, const struct expr_subject *s)
{
	bool all = true;

	if (!e->n_nodes)
		return true;
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		all = all && node_holds(&e->nodes[i], s);
		if (!(e->nodes[i].flags & FRBPF_NODE_END))
			continue;
		if (all)
			return true;
		all = true;
	}
	return false;
}
