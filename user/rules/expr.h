/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The condition of a rule: its text, its tree, and the disjunctive normal form that BPF evaluates.
 * Grammar, that of the kernel's event filters with lists added:
 *
 *	expr := and { "||" and }        and := unary { "&&" unary }
 *	unary := "!" unary | "(" expr ")" | field op value | field "in" "(" value { "," value } ")"
 *	op := == != < <= > >= & ~       value := number | duration | name | "string" | bare word
 */
#ifndef FRBPF_RULES_EXPR_H
#define FRBPF_RULES_EXPR_H

#include "abi.h"
#include "rules/diag.h"
#include "rules/constants.h"

/*
 * Values of an event that frbpf does not know when it parses the rule: arguments of a tracepoint,
 * keys of an application's message. The parser keeps them as written. Later the owner of the event
 * (the kernel, for a tracepoint) tells their types, and expr__bind() parses the values that they
 * are compared with.
 */
struct rule_arg {
	char *name;	/* as written: "rq.__sector"; owned */
	struct span at; /* its first place in the rule */
	/* the field is FRBPF_FIELD_ARG + slot, the same for all rules on a target of a source */
	uint32_t slot;
	bool bound;			/* its comparisons are parsed */
	uint32_t type;			/* enum expr_type, once it is bound */
	const struct constant *symbols; /* names for its numbers, static; NULL: none */
};

struct rule_args {
	struct rule_arg v[FRBPF_MAX_ARGS];
	uint32_t n;
};

/*
 * Get the index of the argument @name; adds it if it is new. -ENOSPC: there are FRBPF_MAX_ARGS
 * already; -ENOMEM.
 */
int rule_args__add(struct rule_args *args, const char *name, size_t len, struct span at);

/* Get the index of the argument in @slot, or -ENOENT. */
int rule_args__by_slot(const struct rule_args *args, uint32_t slot);

/* Free the names, not @args itself. */
void rule_args__free(struct rule_args *args);

/*
 * What BPF gets, except for values that only the running kernel knows. val[0] of a glob, and of a
 * comparison of cgroups or devices, is an index into `strings`. val[1] of a device is its place in
 * the text: offset << 32 | length.
 */
struct expr {
	struct frbpf_node nodes[FRBPF_MAX_NODES]; /* disjunctive normal form, as abi.h says */
	uint32_t n_nodes;			  /* 0: always true */
	uint32_t n_strings;
	char *strings[FRBPF_MAX_NODES]; /* patterns and paths; owned */
};

/* The fields that a name can mean. */
struct field_scope {
	enum frbpf_source source; /* the source of the events; 0: any field of any source */
	struct rule_args *args;	  /* gets names unknown to frbpf; NULL: these are errors */
};

/*
 * Parse @span of @src and normalise it. Errors go to @d, each at its token:
 * - an unknown field (with the nearest one), or a missing parenthesis;
 * - an operator that the field's type lacks, or a value of another type;
 * - a name that cannot match (the kernel keeps 15 bytes), or a number out of the field's range;
 * - an empty expression;
 * - more than FRBPF_MAX_NODES predicates after normalisation: which part causes it, and what to
 *   split.
 *
 * 0, -EINVAL or -ENOMEM.
 */
int expr__parse(const struct source_text *src, struct span span, const struct field_scope *scope,
		struct diags *d, struct expr *ret);

/*
 * Add to @e that the subject is in the cgroup @path or below it. 0, -E2BIG: too many predicates, or
 * -ENOMEM.
 */
int expr__require_cgroup(struct expr *e, const char *path);

struct expr_field_desc;
/*
 * Parse the values that argument @slot is compared with; @field has their type. Before that, val[0]
 * of its nodes is the index of the text in `strings`, and val[1] the place of the text in @src.
 * Errors as from expr__parse(). 0, -EINVAL or -ENOMEM.
 */
int expr__bind(struct expr *e, uint32_t slot, const struct expr_field_desc *field,
	       const struct source_text *src, struct diags *d);

/* Free the strings, not @e itself. A zeroed one is legal. */
void expr__free(struct expr *e);

/* The values of all fields for a subject and the current task, as BPF sees them. */
struct expr_subject {
	__u64 val[2][FRBPF_FIELD_MAX][2]; /* [0 subject, 1 current][field][words] */
	const char *cgroup[2];		  /* path; NULL: none */
	const char *exe[2];		  /* likewise */
	const char *path;		  /* value of FRBPF_FIELD_PATH; NULL: none */
	/* for FRBPF_NODE_TEXT, by argument; NULL: unknown, so no comparison with it holds */
	const char *text[FRBPF_MAX_ARGS];
	/* a bit for each enum frbpf_field whose value is unknown */
	uint32_t unknown[2];
};
/* Evaluate the condition: the reference for BPF in tests, and used on samples in user space. */
bool expr__eval(const struct expr *e, const struct expr_subject *s);

/* Evaluate the condition when some fields are unknown; see expr_subject.unknown. */
enum expr_holds { EXPR_HOLDS_NOT, EXPR_MAY_HOLD, EXPR_HOLDS };
enum expr_holds expr__holds(const struct expr *e, const struct expr_subject *s);

enum expr_type {
	EXPR_STRING, /* == != ~ in */
	EXPR_NUMBER, /* == != < <= > >= & in */
	EXPR_DURATION,
	EXPR_PATH,   /* == != ~ in; a cgroup: also what is below it */
	EXPR_EXE,    /* == != ~ in; path of a file */
	EXPR_NAME,   /* the same; a path as a program passed it */
	EXPR_TEXT,   /* the same; a string that an argument points to */
	EXPR_DEVICE, /* == != in; a block device: its name, its path in /dev, or "MAJOR:MINOR" */
	EXPR_IPV4,   /* == != in; an address, or a prefix such as 10.0.0.0/8 */
	EXPR_IPV6,
	EXPR_ADDRESS, /* of either kind; IPv4 as ::ffff:a.b.c.d */
};

/*
 * Sources that handle an event while its tasks still exist: only these can read paths of the tasks.
 */
#define EXPR_PATH_SOURCES                                                                          \
	(1U << FRBPF_SOURCE_RUNQLAT | 1U << FRBPF_SOURCE_SYSCALL | 1U << FRBPF_SOURCE_BLOCKED |    \
	 1U << FRBPF_SOURCE_OFFCPU | 1U << FRBPF_SOURCE_ONCPU | 1U << FRBPF_SOURCE_TRACEPOINT |    \
	 1U << FRBPF_SOURCE_SPAN)

/*
 * Names and types of the fields, for messages, `frbpf events` and documentation. The last name is
 * NULL.
 */
struct expr_field_desc {
	const char *name;
	enum frbpf_field field;
	enum expr_type type;
	__s64 min, max;	  /* legal numbers; min of EXPR_TEXT: number of its argument */
	uint32_t sources; /* a bit for each enum frbpf_source that has it; 0: all */
	/* belongs to the event, not to a task: there is no current.FIELD */
	bool of_event;
	const struct constant *symbols; /* names for its numbers, or NULL */
	const char *meaning;		/* one line */
	bool bits;			/* the symbols name bits, not values */
	/* names for its values in other sources, to explain an error; NULL: none */
	const struct constant *others;
};
extern const struct expr_field_desc expr_fields[];

/*
 * Find the field named @s; NULL: none. If the source of @scope lacks the field, returns that of
 * another source.
 */
const struct expr_field_desc *expr_field__find(const struct field_scope *scope, const char *s,
					       size_t len);
/* Get the description of @field for events of @source; NULL: they do not have it. */
const struct expr_field_desc *expr_field__of(enum frbpf_source source, enum frbpf_field field);
bool expr_field__is_of(const struct expr_field_desc *f, enum frbpf_source source);

/*
 * Find what the name at @at means: a field, or NULL and the slot of an argument in *ret_slot.
 * Errors go to @d, with the nearest name. 0, -EINVAL or -ENOMEM.
 */
int field_scope__find(const struct field_scope *scope, const struct source_text *src,
		      struct span at, struct diags *d, const struct expr_field_desc **ret,
		      uint32_t *ret_slot);

#endif
