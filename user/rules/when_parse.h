/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of when: what the parsers of its forms share. */
#ifndef FRBPF_RULES_WHEN_PARSE_H
#define FRBPF_RULES_WHEN_PARSE_H

#include "rules/text.h"
#include "rules/when.h"

/* Within pending() no threshold stands behind the source, within absent() there may be one. */
enum when_open { OPEN_NOT, OPEN_PENDING, OPEN_ABSENT };

struct when_parser {
	const struct source_text *src;
	struct diags *d;
	uint32_t pos;
	uint32_t end;
	enum when_open open;
	bool failed; /* something was wrong, but its form is right: go on for the errors behind it
		      */
};

bool when_parser__at(const struct when_parser *p, const char *s);
void when_parser__skip_blanks(struct when_parser *p);
/* What stands here up to a blank or one of the signs of the language; perhaps nothing. */
struct span when_parser__word(struct when_parser *p);
struct span when_parser__rest(const struct when_parser *p);
/* The place of an error: the character here, or the one behind the last word at the end. */
struct span when_parser__here(const struct when_parser *p);

/* One of the names of "softirq:net_rx,net_tx", at its colon or comma: into @ret. @what it is the name of, for the
 * error. @may_be_all: 1 is returned for a "*". Otherwise 0 or -EINVAL. */
int when_parser__listed_name(struct when_parser *p, const char *what, bool may_be_all,
			     struct span *ret);

/* "> 20ms", "> p99 * 4" or "> max(p99 * 4, 5ms)" and the end of the text. 0 or -EINVAL. */
int when_parser__threshold(struct when_parser *p, struct when *ret);
/* "> 20ms" and the end of the text, in ns. 0 or -EINVAL. */
int when_parser__duration(struct when_parser *p, uint64_t *ret);

/* "of /system.slice/x.service", perhaps in quotes: up to the end, into @to; "" for all of the machine. 0 or -EINVAL. */
int when_parser__of_cgroup(struct when_parser *p, char *to, size_t size);

/* Nothing may stand behind ':' of the source @name. 0 or -EINVAL. */
int when_parser__no_target(struct when_parser *p, struct span name);
/* "> 20ms", "fails" or "fails (EMFILE, ENFILE)", and the end of the text. 0 or -EINVAL. */
int when_parser__threshold_or_fails(struct when_parser *p, struct when *ret);

/* A source and what stands behind it, up to the end, into @ret. 0, -EINVAL (or p->failed) or -ENOMEM. */
int when_parser__source(struct when_parser *p, struct when *ret);

/* Do several rules of the file stand here, and not a source? */
bool when_parser__at_rules(const struct when_parser *p);
/* They, up to the end. 0 or -EINVAL. */
int when_parser__rules(struct when_parser *p, struct when *ret);

/* At the "(" behind @name, `pending` or `absent`. As the next. */
int when_parser__in_parentheses(struct when_parser *p, struct span name, enum when_open open,
				struct when *ret);
/* What stands behind the name @name of a source, up to the end: into @ret, whose source is set. 0,
 * -EINVAL (or p->failed) or -ENOMEM. */
int when__parse_syscall(struct when_parser *p, struct span name, struct when *ret);
int when__parse_connect(struct when_parser *p, struct span name, struct when *ret);
int when__parse_uprobe(struct when_parser *p, struct span name, struct when *ret);
int when__parse_usdt(struct when_parser *p, struct span name, struct when *ret);
int when__parse_softirq(struct when_parser *p, struct span name, struct when *ret);
int when__parse_tracepoint(struct when_parser *p, struct span name, struct when *ret);
int when__parse_psi(struct when_parser *p, struct span source, struct when *ret);
int when__parse_app(struct when_parser *p, struct span source, struct when *ret);
int when__bind_app(const struct ruleset *rs, struct rule_conf *rule, struct diags *d);

#endif
