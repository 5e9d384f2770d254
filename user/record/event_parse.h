/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One item of an -e list taken apart: what it names, its /terms/ and its modifiers. Of this machine
 * only the PMUs in sysfs are looked at; tracepoints stay text.
 */
#ifndef FRBPF_RECORD_EVENT_PARSE_H
#define FRBPF_RECORD_EVENT_PARSE_H

#include <linux/perf_event.h>

#include "record/record_opts.h"

enum callchain_term { CALLCHAIN_AS_SESSION, CALLCHAIN_NO, CALLCHAIN_FP };

struct event_spec {
	/* type, config..config2, exclude_*, precise_ip, pinned, exclusive; the rest is 0 */
	struct perf_event_attr attr;
	bool precise_max;     /* :P - precise_ip may be lowered until the PMU takes it */
	char *system, *event; /* both halves of a tracepoint, perhaps globs; NULL: none. Owned */
	struct span system_span, event_span;
	char *name;    /* to be shown: name= or the text of the item; owned */
	uint64_t freq; /* 0: as the session. At most one of freq and period is set: the last one of
			  the terms */
	uint64_t period; /* 0: as the session */
	struct span freq_span;
	enum callchain_term callchain;
	uint16_t max_stack; /* 0: as the session */
	struct span max_stack_span;
};

/* Parse @item, whose span points into @src. Errors, each at its token, go to @d. 0, -EINVAL or
 * -ENOMEM; event_spec__free() in every case. */
int event_spec__parse(const struct event_item *item, const struct source_text *src, struct diags *d,
		      struct event_spec *ret);
void event_spec__free(struct event_spec *spec);

#endif
