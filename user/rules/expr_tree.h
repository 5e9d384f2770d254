/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of expr: tokens, then a tree, then the normal form. */
#ifndef FRBPF_RULES_EXPR_TREE_H
#define FRBPF_RULES_EXPR_TREE_H

#include "rules/expr.h"

enum token_type {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_STRING, /* its span includes the quotes */
	TOKEN_COMPARE,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_UNKNOWN, /* a character or an operator that the language lacks */
};

struct token {
	enum token_type type;
	enum frbpf_op op; /* of TOKEN_COMPARE */
	struct span span;
};

/* Get the token at or after @pos. TOKEN_END is directly after the last token. */
struct token token__read(const struct source_text *src, uint32_t pos, uint32_t end);

enum tree_type { TREE_LEAF, TREE_AND, TREE_OR };

struct tree_node {
	enum tree_type type;
	bool negated; /* a "!" is before it */
	struct span span;
	uint8_t left, right;	/* indices; TREE_AND and TREE_OR only */
	struct frbpf_node leaf; /* TREE_LEAF only */
};

/*
 * Each leaf becomes at least one node of the normal form, so a tree with more than FRBPF_MAX_NODES
 * leaves is rejected at once.
 */
#define TREE_MAX (2 * FRBPF_MAX_NODES - 1)

struct tree {
	struct tree_node nodes[TREE_MAX];
	uint8_t n;
	uint8_t n_leaves;
	uint8_t root;
	uint8_t n_strings;
	char *strings[FRBPF_MAX_NODES]; /* owned, until struct expr takes them over */
};

/* Free the strings, not @tree itself. */
void tree__free(struct tree *tree);

/*
 * Parse @span of @src. 0, -ENOMEM, or -EINVAL with the errors in @d; some errors do not stop the
 * parser. Free the tree in every case.
 */
int tree__parse(const struct source_text *src, struct span span, const struct field_scope *scope,
		struct diags *d, struct tree *ret);

/* A field, with or without "current." before it. */
struct leaf_field {
	const struct expr_field_desc *desc; /* NULL: an argument */
	uint32_t slot;			    /* of the argument */
	bool current;
};
/* Find the field that the token names. 0, -EINVAL: unknown, or -ENOMEM. */
int leaf__field(const struct source_text *src, struct token field, const struct field_scope *scope,
		struct diags *d, struct leaf_field *ret);
/* Fill @ret from "field op value"; strings go to @tree. 0, -EINVAL or -ENOMEM. */
int leaf__parse(const struct source_text *src, const struct leaf_field *field, struct token op,
		struct token value, struct diags *d, struct tree *tree, struct frbpf_node *ret);

/*
 * Parse an address or a prefix of the field's family, for `==` or `!=`, into val, op and prefix of
 * @leaf. 0 or -EINVAL.
 */
int leaf__parse_address(const struct source_text *src, const struct expr_field_desc *field,
			struct token value, struct diags *d, struct frbpf_node *leaf);

/*
 * Push negations down to the leaves and multiply out. On success @ret owns the strings. 0 or
 * -EINVAL: the result is too large.
 */
int tree__normalise(struct tree *tree, const struct source_text *src, struct diags *d,
		    struct expr *ret);

#endif
