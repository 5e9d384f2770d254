// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/dump.h"
#include "dump/markers.h"
#include "dump/ring_image.h"
#include "dump/task_set.h"
#include "dump/timeline.h"
#include "perfdata/marker.h"
#include "perfdata/record.h"

/* The records of one CPU's ring, oldest first. */
struct ring_records {
	const struct perf_event_header **v;
	size_t n;
};

/* A dump while it is made. */
struct work {
	const struct dump_job *job;
	struct dump_result *res;
	struct ring_records *rings; /* one per CPU */
	struct buf markers;
	struct task_set tasks;
	struct sideband_slice *slice;
	struct timeline timeline;
	uint64_t first_sample, last_sample;
	size_t n_gaps;
};

void gap_log__add(struct gap_log *g, uint64_t paused, uint64_t resumed)
{
	size_t i = g->n++ % GAP_LOG_SIZE;

	g->v[i].paused = paused;
	g->v[i].resumed = resumed;
}

bool gap_log__find(const struct gap_log *g, uint64_t time, uint64_t *ret_paused,
		   uint64_t *ret_resumed)
{
	size_t n = g->n < GAP_LOG_SIZE ? g->n : GAP_LOG_SIZE;

	for (size_t k = 1; k <= n; k++) {
		size_t i = (g->n - k) % GAP_LOG_SIZE;

		if (g->v[i].resumed <= time) {
			*ret_paused = g->v[i].paused;
			*ret_resumed = g->v[i].resumed;
			return true;
		}
	}
	return false;
}

static int read_ring(struct work *w, size_t c)
{
	const struct session_cpu *cpu = &w->job->session->cpus[c];
	const struct ring_shot *shot = &w->job->shots[c];
	struct ring_image img =
		ring_image__make(cpu->copy, cpu->ring.size, shot->head, shot->after);
	struct ring_records *r = &w->rings[c];
	struct dump_cpu *res = &w->res->cpus[c];
	size_t torn;
	int err = ring_image__records(&img, &r->v, &r->n, &torn);

	if (err)
		return err;
	res->cpu = cpu->cpu;
	res->torn = torn;
	res->paused = shot->resumed - shot->paused;
	res->from = w->job->session->started;
	if (img.wrapped)
		res->from = r->n ? record__time(r->v[0]) : UINT64_MAX;
	return 0;
}

/* The window: what the triggers asked for, or back to where every CPU is complete. */
static void set_window(struct work *w)
{
	struct dump_result *res = w->res;
	uint64_t complete = 0, asked = incident__start(w->job->inc);

	for (size_t c = 0; c < w->job->session->n_cpus; c++) {
		if (res->cpus[c].from > complete)
			complete = res->cpus[c].from;
	}
	res->end = incident__end(w->job->inc);
	res->short_window = complete > res->end;
	if (asked != RULESET_WINDOW_AUTO)
		res->short_window = complete > asked;
	res->start = asked == RULESET_WINDOW_AUTO ? complete : asked;
	if (res->start > res->end)
		res->start = res->end;
}

/* A LOST record in an overwritable ring means that records came while we had it paused. It becomes a marker that says
 * so; perf would blame the disk for it. */
static int add_gap(struct work *w, size_t c, const struct record_lost *lost)
{
	uint64_t time = record__time(&lost->header), paused = time, resumed = time;

	gap_log__find(&w->job->gaps[c], time, &paused, &resumed);
	w->res->cpus[c].lost += lost->lost;
	w->n_gaps++;
	return markers__add_gap(&w->markers, w->job->session->cpus[c].cpu, time, paused, resumed,
				lost->lost);
}

static void note_sample_time(struct work *w, uint64_t time)
{
	if (!w->first_sample || time < w->first_sample)
		w->first_sample = time;
	if (time > w->last_sample)
		w->last_sample = time;
}

static int add_ring_record(struct work *w, size_t c, const struct perf_event_header *h)
{
	uint64_t time = record__time(h);
	int err;

	if (time < w->res->start || time > w->res->end)
		return 0;
	if (h->type == PERF_RECORD_LOST)
		return add_gap(w, c, (const struct record_lost *)h);
	w->res->cpus[c].records++;
	if (h->type == PERF_RECORD_SAMPLE) {
		note_sample_time(w, time);
		err = task_set__add(&w->tasks, record__pid(h), record__tid(h));
		if (err)
			return err;
	}
	return timeline__add(&w->timeline, time, h);
}

static int add_rings(struct work *w)
{
	int err = 0;

	for (size_t c = 0; !err && c < w->job->session->n_cpus; c++) {
		for (size_t i = 0; !err && i < w->rings[c].n; i++)
			err = add_ring_record(w, c, w->rings[c].v[i]);
	}
	return err;
}

static int add_trigger_markers(struct work *w)
{
	const struct incident *inc = w->job->inc;
	int err = 0;

	for (size_t i = 0; !err && i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		uint64_t begin = it->t.time - it->t.value;

		err = markers__add_trigger(&w->markers, it, inc->reason);
		note_sample_time(w, it->t.time);
		if (!err && it->rule && it->t.value && begin >= w->res->start) {
			err = markers__add_begin(&w->markers, it);
			note_sample_time(w, begin);
		}
		if (!err && it->rule)
			err = task_set__add(&w->tasks, it->t.subject.pid, it->t.subject.tid);
		if (!err && it->rule)
			err = task_set__add(&w->tasks, it->t.current.pid, it->t.current.tid);
	}
	return err;
}

static int add_sideband(struct work *w, struct err *err)
{
	int ret;

	task_set__sort(&w->tasks);
	ret = sideband__slice(w->job->env->sideband, w->tasks.v, w->tasks.n, w->res->start,
			      w->res->end, err, &w->slice);
	if (ret)
		return ret;
	w->res->sideband_lost = w->slice->lost;
	w->res->sideband_rescans = w->slice->rescans;
	w->res->sideband_incomplete = w->slice->incomplete;
	return timeline__add_buffer(&w->timeline, w->slice->records.data, w->slice->records.len);
}

/* Sideband first: what names an address comes before a sample of the same nanosecond. */
static int gather(struct work *w, struct err *err)
{
	struct timeline rings;
	int ret = add_rings(w);

	if (!ret)
		ret = add_trigger_markers(w);
	if (ret)
		return err_set(err, ret, "out of memory");
	rings = w->timeline;
	w->timeline = (struct timeline){ 0 };
	ret = add_sideband(w, err);
	for (size_t i = 0; !ret && i < rings.n; i++)
		ret = timeline__add(&w->timeline, rings.v[i].time, rings.v[i].rec);
	timeline__free(&rings);
	if (!ret)
		ret = timeline__add_buffer(&w->timeline, w->markers.data, w->markers.len);
	if (!ret)
		ret = timeline__sort(&w->timeline);
	if (ret && !err->msg[0])
		err_set(err, ret, "out of memory");
	return ret;
}

#define EXTRA_ATTRS 4 /* sideband, trigger, begin, gap */

static struct perfdata_attr marker_attr(enum marker_kind kind, uint64_t *id)
{
	*id = marker__id(kind);
	return (struct perfdata_attr){
		.attr = marker__attr(kind),
		.name = marker__name(kind),
		.ids = id,
		.n_ids = 1,
		.format = marker__format(kind),
	};
}

static int create_file(const struct work *w, const char *tmp, struct err *err,
		       struct perfdata_writer **ret)
{
	const struct session *s = w->job->session;
	_cleanup_free_ struct perfdata_attr *attrs = calloc(s->events->n + EXTRA_ATTRS, sizeof(*attrs));
	_cleanup_free_ struct perfdata_format *formats = calloc(s->events->n, sizeof(*formats));
	uint64_t marker_ids[3];
	size_t n = 0;

	if (!attrs || !formats)
		return err_set(err, -ENOMEM, "out of memory");
	for (; n < s->events->n; n++) {
		const struct event *ev = &s->events->v[n];

		attrs[n] = (struct perfdata_attr){ &ev->attr, ev->name, session__event_ids(s, n),
						   s->n_cpus, NULL };
		if (!ev->tp)
			continue;
		formats[n] = (struct perfdata_format){ ev->tp->system, ev->tp->name, ev->tp->format,
						       ev->tp->format_len };
		attrs[n].format = &formats[n];
	}
	attrs[n] = (struct perfdata_attr){ .attr = sideband__attr(w->job->env->sideband),
					   .name = "dummy:HG" };
	attrs[n].ids = sideband__ids(w->job->env->sideband, &attrs[n].n_ids);
	n++;
	attrs[n++] = marker_attr(MARKER_TRIGGER, &marker_ids[0]);
	attrs[n++] = marker_attr(MARKER_BEGIN, &marker_ids[1]);
	if (w->n_gaps)
		attrs[n++] = marker_attr(MARKER_GAP, &marker_ids[2]);
	return perfdata__create(w->job->dir_fd, tmp, attrs, n, err, ret);
}

static int write_records(struct work *w, struct perfdata_writer *writer, struct err *err)
{
	for (size_t i = 0; i < w->timeline.n; i++) {
		int ret = perfdata__write(writer, w->timeline.v[i].rec, err);

		if (ret == -EINVAL) /* torn in a way that still looked like a record */
			w->res->skipped++;
		else if (ret)
			return ret;
		else
			w->res->records++;
	}
	return 0;
}

static int finish_file(struct work *w, struct perfdata_writer *writer, struct err *err)
{
	const struct dump_env *env = w->job->env;
	const struct sideband_slice *s = w->slice;
	const char *cmdline[] = { env->program, w->job->session->run, NULL };
	_cleanup_free_ struct perfdata_build_id *ids = calloc(s->n_build_ids + 1, sizeof(*ids));
	_cleanup_free_ struct perfdata_blob *progs = calloc(s->n_bpf_progs + 1, sizeof(*progs));
	_cleanup_free_ struct perfdata_blob *btfs = calloc(s->n_btfs + 1, sizeof(*btfs));
	struct perfdata_features f = {
		.host = env->host,
		.tracing = env->tracing,
		.cmdline = cmdline,
		.build_ids = ids,
		.n_build_ids = s->n_build_ids,
		.bpf_progs = progs,
		.n_bpf_progs = s->n_bpf_progs,
		.btfs = btfs,
		.n_btfs = s->n_btfs,
		.first_sample = w->first_sample,
		.last_sample = w->last_sample,
		.clock_resolution = 1,
		.monotonic = w->job->inc->freeze.frozen,
		.realtime = w->job->inc->freeze.frozen + w->job->inc->realtime_offset,
	};

	if (!ids || !progs || !btfs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->n_build_ids; i++)
		ids[i] = (struct perfdata_build_id){ s->build_ids[i].id, s->build_ids[i].kernel,
						     s->build_ids[i].name };
	for (size_t i = 0; i < s->n_bpf_progs; i++)
		progs[i] = (struct perfdata_blob){ 0, s->bpf_progs[i].data, s->bpf_progs[i].len };
	for (size_t i = 0; i < s->n_btfs; i++)
		btfs[i] = (struct perfdata_blob){ s->btfs[i].id, s->btfs[i].data.data,
						  s->btfs[i].data.len };
	return perfdata__finish(writer, &f, err);
}

static int write_file(struct work *w, struct err *err)
{
	struct incident *inc = w->job->inc;
	struct perfdata_writer *writer = NULL;
	char tmp[96];
	int ret;

	pthread_mutex_lock(&inc->name_lock);
	if (!inc->name[0])
		base_dir__reserve_name(w->job->env->base, inc->freeze.frozen + inc->realtime_offset,
				       inc->name);
	pthread_mutex_unlock(&inc->name_lock);
	snprintf(w->res->file, sizeof(w->res->file), "perf.data.%s", inc->name);
	snprintf(tmp, sizeof(tmp), BASE_DIR_TMP_PREFIX "%s", w->res->file);
	ret = create_file(w, tmp, err, &writer);
	if (!ret)
		ret = write_records(w, writer, err);
	if (!ret)
		ret = finish_file(w, writer, err);
	if (!ret)
		ret = perfdata__publish(writer, w->res->file, &w->res->bytes, err);
	perfdata__free(writer);
	return ret;
}

static int make_dump(struct work *w, struct err *err)
{
	size_t n_cpus = w->job->session->n_cpus;
	int ret = 0;

	w->res->cpus = calloc(n_cpus, sizeof(*w->res->cpus));
	w->rings = calloc(n_cpus, sizeof(*w->rings));
	if (!w->res->cpus || !w->rings)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t c = 0; !ret && c < n_cpus; c++)
		ret = read_ring(w, c);
	if (ret)
		return err_set(err, ret, "out of memory");
	set_window(w);
	ret = gather(w, err);
	return ret ?: write_file(w, err);
}

void dump__write(const struct dump_job *job, struct dump_result *ret)
{
	struct work w = { .job = job, .res = ret };
	uint64_t begun = now_ns();
	struct err err = { 0 };

	ret->session = job->session;
	ret->error = make_dump(&w, &err);
	if (ret->error) {
		snprintf(ret->error_text, sizeof(ret->error_text), "%.*s",
			 (int)sizeof(ret->error_text) - 1, err.msg);
		ret->file[0] = '\0';
	}
	for (size_t c = 0; w.rings && c < job->session->n_cpus; c++)
		free(w.rings[c].v);
	free(w.rings);
	buf__free(&w.markers);
	task_set__free(&w.tasks);
	sideband_slice__free(w.slice);
	timeline__free(&w.timeline);
	ret->write_ns = now_ns() - begun;
}
