// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "rules/expr_tree.h"
#include "rules/text.h"

/* A conjunction: the set of its leaves, as bits of their indexes in tree->nodes. */
typedef uint32_t leaf_set;
_Static_assert(TREE_MAX <= 32, "a bit for each node of the tree");

struct normal_form {
	leaf_set terms[FRBPF_MAX_NODES];
	uint32_t n;
	leaf_set negated; /* of the leaves of all terms */
};

struct extent {
	uint64_t terms;
	uint64_t nodes; /* of all terms together */
};

static bool is_product(const struct tree_node *n, bool negate)
{
	return (n->type == TREE_AND) != negate;
}

/* Find the first disjunction in a part that is too large, for the error. There is always one. */
static struct span first_sum(const struct tree *tree, uint8_t index, bool negate)
{
	const struct tree_node *n = &tree->nodes[index];
	struct span sum;

	if (n->type == TREE_LEAF)
		return (struct span){ 0, 0 };
	negate ^= n->negated;
	if (!is_product(n, negate))
		return n->span;
	sum = first_sum(tree, n->left, negate);
	return sum.len ? sum : first_sum(tree, n->right, negate);
}

/*
 * Compute the size of the normal form of a part. The error is at the first part that is too large.
 */
static int normal_form_extent(const struct tree *tree, uint8_t index, bool negate,
			      const struct source_text *src, struct diags *d, struct extent *ret)
{
	const struct tree_node *n = &tree->nodes[index];
	struct span part;
	struct extent a, b;

	if (n->type == TREE_LEAF) {
		*ret = (struct extent){ 1, 1 };
		return 0;
	}
	negate ^= n->negated;
	if (normal_form_extent(tree, n->left, negate, src, d, &a) ||
	    normal_form_extent(tree, n->right, negate, src, d, &b))
		return -EINVAL;
	if (is_product(n, negate))
		*ret = (struct extent){ a.terms * b.terms, a.nodes * b.terms + b.nodes * a.terms };
	else
		*ret = (struct extent){ a.terms + b.terms, a.nodes + b.nodes };
	if (ret->nodes <= FRBPF_MAX_NODES)
		return 0;
	part = first_sum(tree, index, negate ^ n->negated);
	return diags__error(d, src, n->span,
			    "too large: without parentheses this makes %llu comparisons, and a "
			    "rule has at most %d: write one rule for each alternative of " QUOTED,
			    (unsigned long long)ret->nodes, FRBPF_MAX_NODES, QUOTE_SPAN(src, part));
}

static void normal_form_and(const struct normal_form *a, const struct normal_form *b,
			    struct normal_form *ret)
{
	for (uint32_t i = 0; i < a->n; i++) {
		for (uint32_t k = 0; k < b->n; k++)
			ret->terms[ret->n++] = a->terms[i] | b->terms[k];
	}
}

static void normal_form_or(const struct normal_form *a, const struct normal_form *b,
			   struct normal_form *ret)
{
	for (uint32_t i = 0; i < a->n; i++)
		ret->terms[ret->n++] = a->terms[i];
	for (uint32_t i = 0; i < b->n; i++)
		ret->terms[ret->n++] = b->terms[i];
}

/* Build the normal form. It fits: normal_form_extent() was called before. */
static struct normal_form normal_form_of(const struct tree *tree, uint8_t index, bool negate)
{
	const struct tree_node *n = &tree->nodes[index];
	struct normal_form a, b, form = { .n = 0 };

	negate ^= n->negated;
	if (n->type == TREE_LEAF) {
		form.terms[form.n++] = (leaf_set)1 << index;
		form.negated = (leaf_set)negate << index;
		return form;
	}
	a = normal_form_of(tree, n->left, negate);
	b = normal_form_of(tree, n->right, negate);
	if (is_product(n, negate))
		normal_form_and(&a, &b, &form);
	else
		normal_form_or(&a, &b, &form);
	form.negated = a.negated | b.negated;
	return form;
}

static const __u8 inverse[FRBPF_OP_MAX] = {
	[FRBPF_OP_EQ] = FRBPF_OP_NE,
	[FRBPF_OP_NE] = FRBPF_OP_EQ,
	[FRBPF_OP_LT] = FRBPF_OP_GE,
	[FRBPF_OP_GE] = FRBPF_OP_LT,
	[FRBPF_OP_GT] = FRBPF_OP_LE,
	[FRBPF_OP_LE] = FRBPF_OP_GT,
	[FRBPF_OP_BITS] = FRBPF_OP_NO_BITS,
	[FRBPF_OP_NO_BITS] = FRBPF_OP_BITS,
	[FRBPF_OP_GLOB] = FRBPF_OP_NO_GLOB,
	[FRBPF_OP_NO_GLOB] = FRBPF_OP_GLOB,
	[FRBPF_OP_PREFIX] = FRBPF_OP_NO_PREFIX,
	[FRBPF_OP_NO_PREFIX] = FRBPF_OP_PREFIX,
};

static void emit_term(const struct tree *tree, leaf_set term, leaf_set negated, struct expr *e)
{
	for (uint8_t i = 0; i < tree->n; i++) {
		struct frbpf_node *node = &e->nodes[e->n_nodes];

		if (!(term >> i & 1))
			continue;
		*node = tree->nodes[i].leaf;
		if (negated >> i & 1)
			node->op = inverse[node->op];
		e->n_nodes++;
	}
	e->nodes[e->n_nodes - 1].flags |= FRBPF_NODE_END;
}

int tree__normalise(struct tree *tree, const struct source_text *src, struct diags *d,
		    struct expr *ret)
{
	struct expr e = { .n_nodes = 0 };
	struct normal_form form;
	struct extent extent;
	int err = normal_form_extent(tree, tree->root, false, src, d, &extent);

	if (err)
		return err;
	form = normal_form_of(tree, tree->root, false);
	for (uint32_t i = 0; i < form.n; i++)
		emit_term(tree, form.terms[i], form.negated, &e);
	memcpy(e.strings, tree->strings, sizeof(e.strings));
	e.n_strings = tree->n_strings;
	tree->n_strings = 0;
	*ret = e;
	return 0;
}

int expr__require_cgroup(struct expr *e, const char *path)
{
	struct frbpf_node in = { .field = FRBPF_FIELD_CGROUP,
				 .op = FRBPF_OP_EQ,
				 .flags = e->n_nodes ? 0 : FRBPF_NODE_END };
	struct frbpf_node nodes[FRBPF_MAX_NODES];
	uint32_t n = 0, i = 0;
	bool begins = true;

	in.val[0] = e->n_strings;
	if (e->n_strings == FRBPF_MAX_NODES)
		return -E2BIG;
	do {
		if (begins && n < FRBPF_MAX_NODES)
			nodes[n++] = in;
		if (i == e->n_nodes)
			break;
		if (n == FRBPF_MAX_NODES)
			return -E2BIG;
		begins = e->nodes[i].flags & FRBPF_NODE_END && i + 1 < e->n_nodes;
		nodes[n++] = e->nodes[i++];
	} while (i < e->n_nodes);
	e->strings[e->n_strings] = strdup(path);
	if (!e->strings[e->n_strings])
		return -ENOMEM;
	e->n_strings++;
	memcpy(e->nodes, nodes, n * sizeof(*nodes));
	e->n_nodes = n;
	return 0;
}
