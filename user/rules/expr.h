/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The condition of a rule: text, tree, and the disjunctive normal form that BPF evaluates.
 * Grammar (that of the kernel's event filters, with lists):
 *	expr := and { "||" and }        and := unary { "&&" unary }
 *	unary := "!" unary | "(" expr ")" | field op value | field "in" "(" value { "," value } ")"
 *	op := == != < <= > >= & ~       value := number | duration | name | "string" | bare word
 */
#ifndef FRBPF_RULES_EXPR_H
#define FRBPF_RULES_EXPR_H

#include "frbpf.h"
#include "rules/diag.h"
#include "rules/symbols.h"

/*
 * What BPF gets, but for that which only the kernel at hand knows: val[0] of a glob or of a
 * comparison of cgroups is an index into `strings`.
 */
struct expr {
	struct frbpf_node nodes[FRBPF_MAX_NODES]; /* disjunctive normal form, as frbpf.h says */
	uint32_t n_nodes;			  /* 0: always true */
	uint32_t n_strings;
	char *strings[FRBPF_MAX_NODES];	       /* patterns and paths; owned */
	struct span field_at[FRBPF_FIELD_MAX]; /* where each field is used first; len 0: not */
};

/* Parse @span of @src and normalise it. Errors, each at its token, go to @d: unknown field (with
 * the nearest one), an operator that the field's type lacks, a value of another type, a name that
 * cannot match (the kernel keeps 15 bytes), a number out of the field's range, missing parenthesis,
 * an empty expression, more than FRBPF_MAX_NODES predicates after normalisation (which part made it
 * so, and what to split). 0, -EINVAL or -ENOMEM. */
int expr__parse(const struct source_text *src, struct span span, struct diags *d, struct expr *ret);

/* Frees what it owns, not @e itself. A zeroed one is legal. */
void expr__free(struct expr *e);

/* Errors for fields that events of @source do not have. 0 or -EINVAL. */
int expr__check_source(const struct expr *e, enum frbpf_source source,
		       const struct source_text *src, struct diags *d);

/* The value of every field for one task pair, as BPF sees it; for the reference evaluation. */
struct expr_subject {
	__u64 val[2][FRBPF_FIELD_MAX][2]; /* [0 subject, 1 current][field][words] */
	const char *cgroup[2];		  /* path; NULL: none */
	const char *exe[2];		  /* likewise */
};
/* What BPF must answer too: used by tests and by matches on samples in user space. */
bool expr__eval(const struct expr *e, const struct expr_subject *s);

enum expr_type {
	EXPR_STRING, /* == != ~ in */
	EXPR_NUMBER, /* == != < <= > >= & in */
	EXPR_DURATION,
	EXPR_PATH, /* == != ~ in; of a cgroup: it and what is below it */
	EXPR_EXE,  /* == != ~ in; path of a file */
};

/* Names and types of the fields, for errors, `frbpf events` and documentation; ends with name NULL.
 */
struct expr_field_desc {
	const char *name;
	enum frbpf_field field;
	enum expr_type type;
	__s64 min, max;		      /* legal numbers */
	uint32_t sources;	      /* bit per enum frbpf_source that has it; 0: all */
	bool of_event;		      /* not of a task: there is no current.FIELD */
	const struct symbol *symbols; /* names for its numbers, or NULL */
	const char *meaning;	      /* one line */
};
extern const struct expr_field_desc expr_fields[];

/* The field called so, or NULL. */
const struct expr_field_desc *expr_field__find(const char *s, size_t len);

#endif
