/* SPDX-License-Identifier: GPL-2.0-only */
/* Converts a parsed event to the perf_event_attr that perf record -a makes of it. */
#ifndef FRBPF_RECORD_EVENT_ATTR_H
#define FRBPF_RECORD_EVENT_ATTR_H

#include <linux/perf_event.h>

#include "common/buf.h"
#include "record/event_parse.h"

/* Settings for all events of a session, unless their terms say otherwise. */
struct sampling {
	bool given;    /* -F or -c is given; without it a tracepoint samples every hit */
	uint64_t freq; /* Hz; 0: by period */
	uint64_t period;
	uint16_t max_stack;		/* 0: the kernel's limit */
	const struct record_opts *opts; /* other options; borrowed */
};

/* Make the attr of @spec; for a tracepoint, without its id. */
void event_attr__make(const struct event_spec *spec, const struct sampling *s,
		      struct perf_event_attr *ret);

/* Apply modifier S: samples of @leader contain its count and those of the members. */
void event_attr__read_count(struct perf_event_attr *leader, bool has_members);
/* Apply modifier S: @member does not sample, unless its own terms set a rate (@own_rate). */
void event_attr__follow(struct perf_event_attr *member, const struct perf_event_attr *leader,
			bool own_rate);

/* Format the modifiers of @attr as perf appends them to a name: "", ":u", ":ppH". Returns @buf. */
char *event_attr__modifiers(const struct perf_event_attr *attr, char *buf, size_t size);

/* Append the attributes as text, like `perf evlist -v`: "type: 1, size: 128, ...". Those that are 0
 * are left out. 0 or -ENOMEM. */
int attr_text__format(const struct perf_event_attr *attr, struct buf *ret);

#endif
