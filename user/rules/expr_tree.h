/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of expr: words, then a tree, then the normal form. */
#ifndef FRBPF_RULES_EXPR_TREE_H
#define FRBPF_RULES_EXPR_TREE_H

#include "rules/expr.h"

enum token_type {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_STRING, /* its span has the quotes */
	TOKEN_COMPARE,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_UNKNOWN, /* one character, or an operator, that the language lacks */
};

struct token {
	enum token_type type;
	enum frbpf_op op; /* of TOKEN_COMPARE */
	struct span span;
};

/* The token at or behind @pos; TOKEN_END lies directly behind the last one. */
struct token token__read(const struct source_text *src, uint32_t pos, uint32_t end);

enum tree_type { TREE_LEAF, TREE_AND, TREE_OR };

struct tree_node {
	enum tree_type type;
	bool negated; /* a "!" before it */
	struct span span;
	uint8_t left, right;	/* indices; of TREE_AND and TREE_OR */
	struct frbpf_node leaf; /* of TREE_LEAF */
};

/* A leaf is at least one node of the normal form, so more leaves than that are refused at once. */
#define TREE_MAX (2 * FRBPF_MAX_NODES - 1)

struct tree {
	struct tree_node nodes[TREE_MAX];
	uint8_t n;
	uint8_t n_leaves;
	uint8_t root;
};

/* 0 or -EINVAL with what is wrong in @d; -EINVAL also after errors that do not stop the parser. */
int tree__parse(const struct source_text *src, struct span span, struct diags *d, struct tree *ret);

/* Fill @ret from "field op value". 0 or -EINVAL. */
int leaf__parse(const struct source_text *src, struct token field, struct token op,
		struct token value, struct diags *d, struct frbpf_node *ret);

/* Push negations down to the leaves and multiply out. 0 or -EINVAL when that is too large. */
int tree__normalise(const struct tree *tree, const struct source_text *src, struct diags *d,
		    struct expr *ret);

#endif
