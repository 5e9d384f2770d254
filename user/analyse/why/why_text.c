// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "analyse/why/why_text.h"

struct tree_text {
	struct buf *b;
	const struct why *w;
	why_duration_fn duration;
	uint64_t ns; /* of the root */
	size_t lines, left_out;
	bool all;
};

static size_t nodes_below(const struct why_node *n)
{
	size_t sum = 0;

	for (const struct why_node *c = n->child; c; c = c->next)
		sum += 1 + nodes_below(c);
	return sum;
}

static int add_node(struct tree_text *t, const struct why_node *n, int depth)
{
	const struct why_node *parent = n->key.parent;
	char took[32], name[VERDICT_NAME];
	int err;

	err = buf__printf(t->b, " %5.1f %%  %-8s %*s", 100.0 * n->ns / t->ns,
			  t->duration(n->ns, took, sizeof(took)), 2 * depth, "");
	if (!err && parent && parent->key.tid != n->key.tid)
		err = buf__printf(t->b, "%s ", why_verdict__name(t->w, n->key.tid, name));
	err = err ?: why_verdict__phrase(t->b, t->w, n, t->duration);
	if (!err && n->times > 1)
		err = buf__printf(t->b, ", %u times", n->times);
	return err ?: buf__add_str(t->b, "\n");
}

static int add_children(struct tree_text *t, const struct why_node *n, int depth)
{
	for (const struct why_node *c = n->child; c; c = c->next) {
		if (!t->all && (c->ns < t->ns / 100 || t->lines >= WHY_LINES)) {
			t->left_out += 1 + nodes_below(c);
			continue;
		}
		t->lines++;
		if (add_node(t, c, depth) || add_children(t, c, depth + 1))
			return -ENOMEM;
	}
	return 0;
}

int why_text__tree(struct buf *b, const struct why *w, why_duration_fn duration, bool all)
{
	const struct why_node *root = why__root(w);
	struct tree_text t = { .b = b, .w = w, .duration = duration, .ns = root->ns, .all = all };

	if (add_children(&t, root, 0))
		return -ENOMEM;
	if (t.left_out)
		return buf__printf(b, "          and %zu smaller: -v has them\n", t.left_out);
	return 0;
}
