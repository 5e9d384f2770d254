/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules whose conditions name fields of a tracepoint's format. Numbers, addresses and short strings
 * are values of the event, as of any source; a comparison with a longer string, or with a pattern, is
 * made on the whole of it in user space, and the event's value is the answer, 0 or 1.
 */
#ifndef FRBPF_DETECT_FIELDS_BIND_H
#define FRBPF_DETECT_FIELDS_BIND_H

#include "detect/tracepoint/event_format.h"
#include "rules/ruleset.h"

/* Bind @rule, whose source becomes FRBPF_SOURCE_TRACEPOINT_FIELDS. Errors go to @d, @more behind
 * those of an unknown name. 0, -EINVAL or -ENOMEM. */
int fields_bind__rule(const struct ruleset *rs, struct rule_conf *rule,
		      const struct event_format *f, const char *more, struct diags *d);

/* What argument @name stands for: a field, and if *ret_text is not NULL a comparison with that. */
const struct event_field *fields_bind__find(const struct event_format *f, const char *name,
					    const char **ret_text, bool *ret_glob);

/* The argument's value out of a sample's raw data. */
void fields_bind__value(const struct event_format *f, const char *name, const char *raw,
			size_t size, __u64 ret[2]);

#endif
