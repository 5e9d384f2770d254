/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target of a span, `A:start -> B:end by KEY[, KEY] [nested]`, to text and back. Rules on the
 * same span have the same text.
 */
#ifndef FRBPF_RULES_SPAN_TARGET_H
#define FRBPF_RULES_SPAN_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frbpf.h"

#define SPAN_WORD_MAX 128

struct span_target {
	char start[SPAN_WORD_MAX]; /* "system:name" */
	char end[SPAN_WORD_MAX];
	uint32_t n_keys;
	struct {
		char start[SPAN_WORD_MAX]; /* paths of arguments, or tid, pid, cpu */
		char end[SPAN_WORD_MAX];
	} keys[FRBPF_SPAN_KEYS];
	bool nested;
};

/* Format a target. Owned by the caller. NULL: out of memory. */
char *span_target__format(const struct span_target *t);
/* Parse what span_target__format() made. 0 or -EINVAL. */
int span_target__parse(const char *text, struct span_target *ret);

/* The same for the part after "by" alone, which is all that they set or read of a target. */
char *span_target__format_keys(const struct span_target *t);
int span_target__parse_keys(const char *text, struct span_target *t);

#endif
