// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "dump/file_events.h"
#include "perfdata/file_attr.h"
#include "perfdata/marker.h"
#include "record/offcpu_event.h"

/*
 * Give the event the type and name of a tracepoint: a BPF program wrote its samples in the
 * tracepoint's format.
 */
static void name_fed(struct file_events *f, enum marker_kind kind, struct perfdata_attr *attr)
{
	struct perf_event_attr *copy = &f->extra[f->n_extra++];
	const struct perfdata_attr as = marker__event(kind);

	*copy = *attr->attr;
	copy->type = as.attr->type;
	copy->config = as.attr->config;
	attr->attr = copy;
	attr->name = as.name;
	attr->format = as.format;
}

/* Replace the attr by a copy with the fields that samples of @ev have in files. */
static void set_fields(struct file_events *f, const struct event *ev, struct perfdata_attr *attr)
{
	struct perf_event_attr *copy = &f->extra[f->n_extra++];

	*copy = ev->attr;
	copy->sample_type = event__file_fields(ev);
	attr->attr = copy;
}

static void add_session_event(struct file_events *f, const struct session *s, size_t e)
{
	const struct event *ev = &s->events->v[e];
	struct perfdata_attr *attr = &f->attrs[f->n++];
	enum marker_kind kind;

	*attr = (struct perfdata_attr){
		.attr = &ev->attr,
		.name = ev->name,
	};
	attr->ids = session__event_ids(s, e, &attr->n_ids);
	attr->group_name = ev->group_name;
	for (size_t m = e; m < s->events->n; m++)
		attr->group_members += s->events->v[m].leader == e;
	if (marker__is_fed(&ev->attr, ev->name, &kind) && f->n_extra < FILE_EVENTS_FED)
		name_fed(f, kind, attr);
	if (ev->off_cpu)
		set_fields(f, ev, attr);
	if (!ev->tp)
		return;
	f->formats[e] = (struct perfdata_format){ ev->tp->system, ev->tp->name, ev->tp->format,
						  ev->tp->format_len };
	attr->format = &f->formats[e];
}

/* Add a copy of @attr. Returns the copy, for changes. */
static struct perf_event_attr *add_extra(struct file_events *f, struct perfdata_attr attr)
{
	struct perf_event_attr *copy = &f->extra[f->n_extra++];

	*copy = *attr.attr;
	attr.attr = copy;
	f->attrs[f->n++] = attr;
	return copy;
}

static void add_marker(struct file_events *f, enum marker_kind kind, uint64_t fields)
{
	marker__add_fields(add_extra(f, marker__event(kind)), fields, f->attrs[0].attr);
}

/* The side band comes last, like perf's own tracking event. It has no samples. */
static void add_tracking(struct file_events *f, const struct file_tracking *t)
{
	size_t n = f->n;
	struct perf_event_attr *attr = add_extra(
		f, (struct perfdata_attr){
			   .attr = t->attr, .name = "dummy:HG", .ids = t->ids, .n_ids = t->n_ids });

	file_attr__list_common(attr, f->attrs, n);
}

int file_events__list(struct file_events *f, const struct session *s,
		      const struct file_tracking *tracking, bool gaps)
{
	uint64_t fields = session__marker_fields(s);
	size_t n = s->events->n;

	*f = (struct file_events){ 0 };
	f->attrs = calloc(n + FILE_EVENTS_EXTRA, sizeof(*f->attrs));
	f->formats = calloc(n, sizeof(*f->formats));
	if (!f->attrs || !f->formats)
		return -ENOMEM;
	for (size_t e = 0; e < n; e++)
		add_session_event(f, s, e);
	add_marker(f, MARKER_TRIGGER, fields);
	add_marker(f, MARKER_BEGIN, fields);
	if (gaps)
		add_marker(f, MARKER_GAP, fields);
	add_tracking(f, tracking);
	return 0;
}

void file_events__free(struct file_events *f)
{
	free(f->attrs);
	free(f->formats);
	*f = (struct file_events){ 0 };
}
