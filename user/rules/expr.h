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
#include "rules/constants.h"

/*
 * Values of an event that a rule names and frbpf knows nothing of beforehand: a tracepoint's
 * arguments, the keys of an application's message. They are taken as written when the rule is
 * parsed; whoever knows the event (the kernel, for a tracepoint) says later what they are, and
 * expr__bind() then reads what they are compared with.
 */
struct rule_arg {
	char *name;	/* as written: "rq.__sector"; owned */
	struct span at; /* where the rule names it first */
	uint32_t
		slot; /* the event's value FRBPF_FIELD_ARG + slot; the same for all rules of a source's
			    target */
	bool bound;			/* its comparisons are read */
	uint32_t type;			/* enum expr_type, once it is bound */
	const struct constant *symbols; /* names for its numbers that outlive it, or NULL */
};

struct rule_args {
	struct rule_arg v[FRBPF_MAX_ARGS];
	uint32_t n;
};

/* Index of the argument called so, which is added if it is new. -ENOSPC: FRBPF_MAX_ARGS are there;
 * -ENOMEM. */
int rule_args__add(struct rule_args *args, const char *name, size_t len, struct span at);

/* Index of the argument in @slot, or -ENOENT. */
int rule_args__by_slot(const struct rule_args *args, uint32_t slot);

/* Frees what it owns, not @args. */
void rule_args__free(struct rule_args *args);

/*
 * What BPF gets, but for that which only the kernel at hand knows: val[0] of a glob or of a
 * comparison of cgroups or devices is an index into `strings`. val[1] of a device is the place in
 * the text: offset << 32 | length.
 */
struct expr {
	struct frbpf_node nodes[FRBPF_MAX_NODES]; /* disjunctive normal form, as frbpf.h says */
	uint32_t n_nodes;			  /* 0: always true */
	uint32_t n_strings;
	char *strings[FRBPF_MAX_NODES]; /* patterns and paths; owned */
};

/* Which fields a name can mean. */
struct field_scope {
	enum frbpf_source source; /* whose events are looked at; 0: any field of any source */
	struct rule_args
		*args; /* takes the names that frbpf does not know; NULL: these are errors */
};

/* Parse @span of @src and normalise it. Errors, each at its token, go to @d: unknown field (with
 * the nearest one), an operator that the field's type lacks, a value of another type, a name that
 * cannot match (the kernel keeps 15 bytes), a number out of the field's range, missing parenthesis,
 * an empty expression, more than FRBPF_MAX_NODES predicates after normalisation (which part made it
 * so, and what to split). 0, -EINVAL or -ENOMEM. */
int expr__parse(const struct source_text *src, struct span span, const struct field_scope *scope,
		struct diags *d, struct expr *ret);

/* It, and that the subject is in the cgroup @path or below it. 0, -E2BIG: too many predicates, or -ENOMEM. */
int expr__require_cgroup(struct expr *e, const char *path);

struct expr_field_desc;
/*
 * Read what argument @slot is compared with as values of the type that @field says. Until then,
 * val[0] of its nodes is the index of the text in `strings` and val[1] the text's place in @src.
 * Errors as from expr__parse(). 0, -EINVAL or -ENOMEM.
 */
int expr__bind(struct expr *e, uint32_t slot, const struct expr_field_desc *field,
	       const struct source_text *src, struct diags *d);

/* Frees what it owns, not @e itself. A zeroed one is legal. */
void expr__free(struct expr *e);

/* The value of every field for one task pair, as BPF sees it; for the reference evaluation. */
struct expr_subject {
	__u64 val[2][FRBPF_FIELD_MAX][2]; /* [0 subject, 1 current][field][words] */
	const char *cgroup[2];		  /* path; NULL: none */
	const char *exe[2];		  /* likewise */
	const char *path;		  /* of FRBPF_FIELD_PATH, likewise */
	uint32_t unknown[2];		  /* bit per enum frbpf_field that nobody can tell */
};
/* What BPF must answer too: used by tests and by matches on samples in user space. */
bool expr__eval(const struct expr *e, const struct expr_subject *s);

/* As far as is known. */
enum expr_holds { EXPR_HOLDS_NOT, EXPR_MAY_HOLD, EXPR_HOLDS };
enum expr_holds expr__holds(const struct expr *e, const struct expr_subject *s);

enum expr_type {
	EXPR_STRING, /* == != ~ in */
	EXPR_NUMBER, /* == != < <= > >= & in */
	EXPR_DURATION,
	EXPR_PATH,   /* == != ~ in; of a cgroup: it and what is below it */
	EXPR_EXE,    /* == != ~ in; path of a file */
	EXPR_NAME,   /* the same, as a program wrote it */
	EXPR_DEVICE, /* == != in; of a block device: its name, its path in /dev, or "MAJOR:MINOR" */
	EXPR_IPV4,   /* == != in; an address, or a prefix such as 10.0.0.0/8 */
	EXPR_IPV6,
	EXPR_ADDRESS, /* of either kind; IPv4 is ::ffff:a.b.c.d */
};

/* Sources that look at their tasks while these are there: only they know paths. */
#define EXPR_PATH_SOURCES                                                                          \
	(1U << FRBPF_SOURCE_RUNQLAT | 1U << FRBPF_SOURCE_SYSCALL | 1U << FRBPF_SOURCE_BLOCKED |    \
	 1U << FRBPF_SOURCE_OFFCPU | 1U << FRBPF_SOURCE_ONCPU |                            \
	 1U << FRBPF_SOURCE_TRACEPOINT | 1U << FRBPF_SOURCE_SPAN)

/* Names and types of the fields, for errors, `frbpf events` and documentation; ends with name NULL.
 */
struct expr_field_desc {
	const char *name;
	enum frbpf_field field;
	enum expr_type type;
	__s64 min, max;			/* legal numbers */
	uint32_t sources;		/* bit per enum frbpf_source that has it; 0: all */
	bool of_event;			/* not of a task: there is no current.FIELD */
	const struct constant *symbols; /* names for its numbers, or NULL */
	const char *meaning;		/* one line */
	bool bits;			/* the symbols are bits of it */
	const struct constant *others;	/* names that it has elsewhere, for an error; or NULL */
};
extern const struct expr_field_desc expr_fields[];

/* The field called so, or NULL; one of another source if @scope's has none. */
const struct expr_field_desc *expr_field__find(const struct field_scope *scope, const char *s,
					       size_t len);
/* What @field is of an event of @source; NULL: it has none. */
const struct expr_field_desc *expr_field__of(enum frbpf_source source, enum frbpf_field field);
bool expr_field__is_of(const struct expr_field_desc *f, enum frbpf_source source);

/* What @name, at @at, means: a field, or NULL and the slot of an argument in *ret_slot. Errors, with
 * the nearest name, go to @d. 0, -EINVAL or -ENOMEM. */
int field_scope__find(const struct field_scope *scope, const struct source_text *src,
		      struct span at, struct diags *d, const struct expr_field_desc **ret,
		      uint32_t *ret_slot);

#endif
