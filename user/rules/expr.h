/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The condition of a rule: text, tree, and the disjunctive normal form that BPF evaluates.
 * Grammar (that of the kernel's event filters):
 *	expr := and { "||" and }        and := unary { "&&" unary }
 *	unary := "!" unary | "(" expr ")" | field op value
 *	op := == != < <= > >=           value := number | "string" | bare word (for string fields)
 */
#ifndef FRBPF_RULES_EXPR_H
#define FRBPF_RULES_EXPR_H

#include "frbpf.h"
#include "rules/diag.h"

struct expr {
	struct frbpf_node nodes[FRBPF_MAX_NODES]; /* disjunctive normal form, as frbpf.h says */
	uint32_t n_nodes;			  /* 0: always true */
};

/* Parse @span of @src and normalise it. Errors, each at its token, go to @d: unknown field (with
 * the nearest one), a string with <, a number for a string field, a comm constant over 15 bytes
 * (cannot match: the kernel keeps 15), a number out of the field's range, missing parenthesis, an
 * empty expression, more than FRBPF_MAX_NODES predicates after normalisation (which part made it
 * so). 0, -EINVAL or -ENOMEM. */
int expr__parse(const struct source_text *src, struct span span, struct diags *d, struct expr *ret);

/* The value of every field for one task pair, as BPF sees it; for the reference evaluation. */
struct expr_subject {
	__u64 val[2][FRBPF_FIELD_MAX][2]; /* [0 subject, 1 current][field][words] */
};
/* What BPF must answer too: used by tests and by matches on samples in user space. */
bool expr__eval(const struct expr *e, const struct expr_subject *s);

/* Names and types of the fields, for errors, `frbpf events` and documentation; ends with name NULL.
 */
struct expr_field_desc {
	const char *name;
	enum frbpf_field field;
	bool is_string;
	__u64 max;	     /* largest legal number */
	const char *meaning; /* one line */
};
extern const struct expr_field_desc expr_fields[];

#endif
