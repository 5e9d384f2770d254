/* SPDX-License-Identifier: GPL-2.0-only */
/* From an event as it was written to the perf_event_attr that perf record -a would make of it. */
#ifndef FRBPF_RECORD_EVENT_ATTR_H
#define FRBPF_RECORD_EVENT_ATTR_H

#include <linux/perf_event.h>

#include "record/event_parse.h"

/* What holds for all events of a session unless their terms say otherwise. */
struct sampling {
	bool given;    /* by -F or -c: else a tracepoint samples every hit */
	uint64_t freq; /* Hz; 0: by period */
	uint64_t period;
	uint16_t max_stack;		/* 0: the kernel's limit */
	const struct record_opts *opts; /* for the rest; borrowed */
};

/* The attr of @spec; of a tracepoint without its id. */
void event_attr__make(const struct event_spec *spec, const struct sampling *s,
		      struct perf_event_attr *ret);

/* The modifier S: samples of @leader tell its count, and those of its members. */
void event_attr__read_count(struct perf_event_attr *leader, bool has_members);
/* Have @member of such a group not sample, unless its terms say so. */
void event_attr__follow(struct perf_event_attr *member, const struct perf_event_attr *leader,
			bool own_rate);

/* The modifiers that @attr stands for, as perf appends them to a name: "", ":u", ":ppH". Returns
 * @buf. */
char *event_attr__modifiers(const struct perf_event_attr *attr, char *buf, size_t size);

#endif
