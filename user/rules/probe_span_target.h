/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target of a span between places in programs, to text and back:
 * `uprobe:PATH:SYMBOL -> usdt:PATH:PROVIDER:PROBE by KEY[, KEY]`. Rules on the same span have the
 * same text.
 */
#ifndef FRBPF_RULES_PROBE_SPAN_TARGET_H
#define FRBPF_RULES_PROBE_SPAN_TARGET_H

#include "rules/span_target.h"

struct probe_end {
	enum frbpf_source source; /* FRBPF_SOURCE_UPROBE or _USDT */
	char *target;		  /* as of a rule on hits of it; owned */
};

struct probe_span_target {	 /* { 0 } is an empty one */
	struct probe_end end[2]; /* the start and the end */
	struct span_target keys; /* only the keys: "tid", "pid", "arg0" ... */
};

/* The index of an argument, from "arg0" to "arg7", or -EINVAL. */
int probe_span__arg(const char *name);

/* The same for a value that `if` uses: "arg0" of the end, "start.arg0" of the start. */
int probe_span__value(const char *name, bool *ret_start);

/* Format a target. Owned by the caller. NULL: out of memory. */
char *probe_span_target__format(const struct probe_span_target *t);
/* Parse what probe_span_target__format() made. 0, -EINVAL or -ENOMEM. */
int probe_span_target__parse(const char *text, struct probe_span_target *ret);
/* Free the members, not @t itself. */
void probe_span_target__free(struct probe_span_target *t);

#endif
