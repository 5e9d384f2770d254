// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "analyse/why/why_text.h"
#include "common/printable.h"

struct tree_text {
	struct buf *b;
	const struct why *w;
	why_duration_fn duration;
	uint64_t ns;	/* of the root */
	uint64_t least; /* of a node that is shown */
	size_t columns; /* 0: lines are not wrapped */
	size_t lines, most, left_out;
};

static size_t nodes_below(const struct why_node *n)
{
	size_t sum = 0;

	for (const struct why_node *c = n->child; c; c = c->next)
		sum += 1 + nodes_below(c);
	return sum;
}

/* Lines of a screen that @len bytes take */
static size_t wrapped_lines(size_t len, size_t columns)
{
	return columns && len > columns ? (len + columns - 1) / columns : 1;
}

static int add_node(struct tree_text *t, const struct why_node *n, int depth)
{
	const struct why_node *parent = n->key.parent;
	size_t begin = t->b->len;
	char took[32], name[VERDICT_NAME];
	int err;

	err = buf__printf(t->b, " %5.1f %%  %-8s %*s", 100.0 * n->ns / t->ns,
			  t->duration(n->ns, took, sizeof(took)), 2 * depth, "");
	if (!err && parent && parent->key.tid != n->key.tid)
		err = buf__printf(t->b, "%s ", why_verdict__name(t->w, n->key.tid, name));
	err = err ?: why_verdict__phrase(t->b, t->w, n, t->duration);
	if (!err && n->times > 1)
		err = buf__printf(t->b, ", %u times", n->times);
	t->lines += wrapped_lines(t->b->len - begin, t->columns);
	return err ?: buf__add_str(t->b, "\n");
}

static int add_children(struct tree_text *t, const struct why_node *n, int depth)
{
	for (const struct why_node *c = n->child; c; c = c->next) {
		if (c->ns < t->least || t->lines >= t->most) {
			t->left_out += 1 + nodes_below(c);
			continue;
		}
		if (add_node(t, c, depth) || add_children(t, c, depth + 1))
			return -ENOMEM;
	}
	return 0;
}

/* Nodes with at least @percent of the time. 0 or -ENOMEM. */
static int add_tree(struct tree_text *t, unsigned percent)
{
	const struct why_node *root = why__root(t->w);

	t->least = t->ns / 100 * percent;
	t->lines = t->left_out = 0;
	return add_children(t, root, 0);
}

/* The most nodes that fit; if not even those with all of the time do, the first of them. */
static int add_fitting(struct tree_text *t, size_t room)
{
	size_t begin = t->b->len;
	int err = 0;

	for (unsigned percent = 1; percent <= 100 && !err; percent++) {
		t->b->len = begin;
		t->most = percent < 100 ? SIZE_MAX : room;
		err = add_tree(t, percent);
		if (t->lines <= room)
			break;
	}
	return err;
}

/* Add a line with the system call that the question is about. *ret_len: 0 without one */
static int add_call(struct buf *b, const struct why *w, size_t *ret_len)
{
	size_t begin = b->len;
	char call[sizeof(((struct why_question *)0)->call)];

	if (!why__call(w)[0])
		return 0;
	snprintf(call, sizeof(call), "%s", why__call(w));
	if (buf__printf(b, "          of %s\n", make_printable(call)))
		return -ENOMEM;
	*ret_len = b->len - begin - 1;
	return 0;
}

int why_text__answer(struct buf *b, const struct why *w, const struct why_verdict *v,
		     why_duration_fn duration, const struct why_screen *screen)
{
	struct tree_text t = {
		.b = b, .w = w, .duration = duration, .ns = why__root(w)->ns, .most = SIZE_MAX
	};
	size_t taken = 0, call_len = 0;

	if (buf__printf(b, "%s\n", v->text.data) || add_call(b, w, &call_len))
		return -ENOMEM;
	if (!screen)
		return add_tree(&t, 0);
	t.columns = screen->columns;
	/* the verdict, the line on smaller ones, and a prompt */
	taken = wrapped_lines(v->text.len, t.columns) + 2;
	taken += call_len ? wrapped_lines(call_len, t.columns) : 0;
	if (add_fitting(&t, screen->lines > taken ? screen->lines - taken : 1))
		return -ENOMEM;
	if (t.left_out)
		return buf__printf(b, "          and %zu smaller: -v has them\n", t.left_out);
	return 0;
}
