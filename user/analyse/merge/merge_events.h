/* SPDX-License-Identifier: GPL-2.0-only */
/* The events of all files, each once, and the ids that records of each file get. */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_EVENTS_H
#define FRBPF_ANALYSE_MERGE_MERGE_EVENTS_H

#include "common/buf.h"
#include "perfdata/perf_file.h"
#include "perfdata/writer.h"

struct merge_events;

/* A file that is merged. */
struct merge_input {
	struct perf_file *file;
	const struct file_info *info;
	uint64_t first, last; /* ns: of its records; 0: none has a time */
	/* set by merge_events__add() */
	uint32_t *events; /* of each event of the file: its place in the result; owned */
	uint64_t *ids;	  /* of each of info->ids: the id in the result; owned */
};

int merge_events__new(struct merge_events **ret); /* 0 or -ENOMEM */
void merge_events__free(struct merge_events *m);  /* NULL is legal */

/*
 * Add the events of @in. Equal ones become one, unless two
 * sessions recorded the same at the same time: that would count everything twice. 0, -ENOMEM, or
 * -EINVAL with words: a tracepoint has no format.
 */
int merge_events__add(struct merge_events *m, struct merge_input *in, struct err *err);

/* What the writer wants, our own markers and the side band last. Borrowed from @m, which refers to the
 * files. To be called once, when all files were added: it settles the order. -ENOMEM. */
int merge_events__attrs(struct merge_events *m, const struct perfdata_attr **ret, size_t *ret_n);

/* The id in the result of what has @id in @in, a record of its event @event. */
uint64_t merge_events__id(const struct merge_events *m, const struct merge_input *in,
			  uint32_t event, uint64_t id);
/* The same of a counter that such a record tells of: @id may be of another event of its group. */
uint64_t merge_events__counter_id(const struct merge_events *m, const struct merge_input *in,
				  uint32_t event, uint64_t id);
const struct perf_event_attr *merge_events__attr(const struct merge_events *m,
						 const struct merge_input *in, uint32_t event);
/* Whether it is one of the markers that frbpf writes, which every session's dump has. */
bool merge_events__is_marker(const struct perf_event_attr *attr);
/* The same of an id in the result. */
bool merge_events__is_marker_id(const struct merge_events *m, uint64_t id);

#endif
