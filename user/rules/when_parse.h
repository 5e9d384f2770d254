/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of when: shared by the parsers of its forms. */
#ifndef FRBPF_RULES_WHEN_PARSE_H
#define FRBPF_RULES_WHEN_PARSE_H

#include "rules/text.h"
#include "rules/when.h"

struct span_target;

/* In pending() no threshold follows the source; in absent() there may be one. */
enum when_open { OPEN_NOT, OPEN_PENDING, OPEN_ABSENT };

struct when_parser {
	const struct source_text *src;
	struct diags *d;
	uint32_t pos;
	uint32_t end;
	enum when_open open;
	/* an error was found, but the form is right: parsing goes on, to find further errors */
	bool failed;
};

/* Does @s begin at the position of the parser? */
bool when_parser__at(const struct when_parser *p, const char *s);
void when_parser__skip_blanks(struct when_parser *p);
/* Read a word, up to a blank or a special character of the language; may be empty. */
struct span when_parser__word(struct when_parser *p);
struct span when_parser__rest(const struct when_parser *p);
/* Get the place for an error: this character, or after the last word at the end. */
struct span when_parser__here(const struct when_parser *p);

/*
 * Read one of the names of "softirq:net_rx,net_tx", from its colon or comma. @what: what it names,
 * for the error. @may_be_all: a "*" is legal, and 1 is returned for it. Otherwise 0 or -EINVAL.
 */
int when_parser__listed_name(struct when_parser *p, const char *what, bool may_be_all,
			     struct span *ret);

/* Parse "> 20ms", "> p99 * 4" or "> max(p99 * 4, 5ms)", up to the end of the text. 0 or -EINVAL. */
int when_parser__threshold(struct when_parser *p, struct when *ret);
/* Parse "> 20ms", up to the end of the text, into ns. 0 or -EINVAL. */
int when_parser__duration(struct when_parser *p, uint64_t *ret);

/*
 * Parse "of /system.slice/x.service", also in quotes, up to the end. @to gets the path; "" for the
 * whole machine. 0 or -EINVAL.
 */
int when_parser__of_cgroup(struct when_parser *p, char *to, size_t size);

/* Check that no ':' follows the source @name. 0 or -EINVAL. */
int when_parser__no_target(struct when_parser *p, struct span name);
/* Parse "> 20ms", "fails" or "fails (EMFILE, ENFILE)", up to the end of the text. 0 or -EINVAL. */
int when_parser__threshold_or_fails(struct when_parser *p, struct when *ret);

/*
 * Parse "by KEY[, KEY] [nested]" of a span, up to its threshold, into the keys of @t. 0 or -EINVAL.
 */
int when_parser__span_keys(struct when_parser *p, struct span_target *t);
/*
 * Parse the rest of a span that starts at a place in a program, from its "->". @start: the kind of
 * that place; its target is in @ret. 0, -EINVAL or -ENOMEM.
 */
int when_parser__probe_span(struct when_parser *p, struct span start, struct when *ret);
/*
 * Parse a place in a program, "uprobe:PATH:SYMBOL" or "usdt:PATH:PROVIDER:PROBE", from its first
 * colon. *ret is its target, owned by the caller. 0, -EINVAL or -ENOMEM.
 */
int when_parser__probe_place(struct when_parser *p, struct span source, char **ret);

/* Parse a source and the rest, up to the end. 0, -EINVAL (or p->failed) or -ENOMEM. */
int when_parser__source(struct when_parser *p, struct when *ret);

/* Does a list of rules begin here, not a source? */
bool when_parser__at_rules(const struct when_parser *p);
/* Parse the list of rules, up to the end. 0 or -EINVAL. */
int when_parser__rules(struct when_parser *p, struct when *ret);

/* Parse from the "(" after @name, `pending` or `absent`. Errors as below. */
int when_parser__in_parentheses(struct when_parser *p, struct span name, enum when_open open,
				struct when *ret);
/*
 * Parse what follows the name of a source, up to the end; the source in @ret is set already. 0,
 * -EINVAL (or p->failed) or -ENOMEM.
 */
int when__parse_syscall(struct when_parser *p, struct span name, struct when *ret);
int when__parse_connect(struct when_parser *p, struct span name, struct when *ret);
int when__parse_uprobe(struct when_parser *p, struct span name, struct when *ret);
int when__parse_usdt(struct when_parser *p, struct span name, struct when *ret);
int when__parse_softirq(struct when_parser *p, struct span name, struct when *ret);
int when__parse_tracepoint(struct when_parser *p, struct span name, struct when *ret);
int when__parse_psi(struct when_parser *p, struct span source, struct when *ret);
int when__parse_app(struct when_parser *p, struct span source, struct when *ret);
int when__bind_probe_span(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);
int when__bind_app(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);

#endif
