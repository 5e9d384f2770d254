/* SPDX-License-Identifier: GPL-2.0-only */
/* The events of all files, each once, and the records of each file, which get the new ids. */
#ifndef FRBPF_ANALYSE_MERGE_MERGE_EVENTS_H
#define FRBPF_ANALYSE_MERGE_MERGE_EVENTS_H

#include "common/buf.h"
#include "perfdata/perf_file.h"
#include "perfdata/writer.h"

struct merge_events;

/* A file to merge */
struct merge_input {
	struct perf_file *file;
	const struct file_info *info;
	uint64_t first, last; /* ns, of its records; 0: no record has a time */
	/* set by merge_events__add() */
	uint32_t *events; /* index in the result, for each event of the file; owned */
	uint64_t *ids;	  /* id in the result, for each of info->ids; owned */
};

int merge_events__new(struct merge_events **ret); /* 0 or -ENOMEM */
void merge_events__free(struct merge_events *m);  /* NULL is legal */

/*
 * Add the events of @in. Equal events become one, unless two sessions recorded the same event at
 * the same time: that would count everything twice. 0, -ENOMEM, or -EINVAL with a message: a
 * tracepoint has no format.
 */
int merge_events__add(struct merge_events *m, struct merge_input *in, struct err *err);

/*
 * Get the attributes for the writer, the markers of frbpf and the side band last. Fixes the
 * order: call it once, after all files were added. The attributes belong to @m and refer to the
 * files. 0 or -ENOMEM.
 */
int merge_events__attrs(struct merge_events *m, const struct perfdata_attr **ret, size_t *ret_n);

/* Translate @id into the id in the result. @id is from a record of @in, of its event @event. */
uint64_t merge_events__id(const struct merge_events *m, const struct merge_input *in,
			  uint32_t event, uint64_t id);
/* The same for a counter value in such a record: @id may be that of another event of the group. */
uint64_t merge_events__counter_id(const struct merge_events *m, const struct merge_input *in,
				  uint32_t event, uint64_t id);
const struct perf_event_attr *merge_events__attr(const struct merge_events *m,
						 const struct merge_input *in, uint32_t event);
/*
 * Fields of RECORD_EMPTY_FIELDS that the markers of the result have, after merge_events__attrs().
 */
uint64_t merge_events__marker_fields(const struct merge_events *m);
/* Is it a marker of frbpf, which the dump of every session has? */
bool merge_events__is_marker(const struct perf_event_attr *attr);
/* The same for an id in the result. */
bool merge_events__is_marker_id(const struct merge_events *m, uint64_t id);

/* ---- records of one file, rewritten for the result ---- */

/* Time of @rec, ns; 0: it has none. */
uint64_t merge_record__time(const struct file_record *rec);

/*
 * Append @rec of @in to @out. A sample gets the fields of its event in the result and its new ids.
 * Other records get the trailer of frbpf, and @time if they have no time. 0; -EINVAL: lengths do
 * not fit, message in @err; -EFBIG: too long for a record, nothing was appended; -ENOMEM.
 */
int merge_record__append(const struct merge_events *m, const struct merge_input *in,
			 const struct file_record *rec, uint64_t time, struct buf *out,
			 struct err *err);

#endif
