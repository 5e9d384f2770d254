/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts targets of struct when that have parts to text and back. Rules on the same target have
 * the same text.
 *
 * ---- spans between tracepoints: `A:start -> B:end by KEY[, KEY] [nested]` ----
 */
#ifndef FRBPF_RULES_TARGET_H
#define FRBPF_RULES_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

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

/* The same for the part after "by". They set or read only the keys and flags of @t. */
char *span_target__format_keys(const struct span_target *t);
int span_target__parse_keys(const char *text, struct span_target *t);

/* Can a span continue when the task that began it has ended? Not if the task is a key. */
bool span_target__outlives_task(const struct span_target *t);

/*
 * ---- spans between places in programs:
 * `uprobe:PATH:SYMBOL -> usdt:PATH:PROVIDER:PROBE by KEY[, KEY]` ----
 */

struct probe_end {
	enum frbpf_source source; /* FRBPF_SOURCE_UPROBE or _USDT */
	char *target;		  /* as in struct when of a rule on hits of this place; owned */
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

/* ---- the pressure that a rule `psi:...` measures ---- */

#define PSI_WORD_MAX 8

struct psi_target {
	char resource[PSI_WORD_MAX]; /* cpu memory io irq */
	char kind[PSI_WORD_MAX];     /* some full */
	uint64_t threshold_us;
	uint64_t window_us;
	char cgroup[FRBPF_PATH_LEN]; /* from the root of the hierarchy; "": the whole machine */
};

/*
 * Format it as "memory some > 150000us in 2000000us of /a/b". Owned by the caller. NULL: out of
 * memory.
 */
char *psi_target__format(const struct psi_target *t);
/* Parse what psi_target__format() made. 0 or -EINVAL. */
int psi_target__parse(const char *text, struct psi_target *ret);

#endif
