// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "dump/window/contradiction.h"
#include "dump/window/page_set.h"
#include "dump/rings/ring_image.h"
#include "dump/incident/stack_frames.h"
#include "dump/window/switch_stacks.h"
#include "dump/window/task_set.h"
#include "dump/window/window.h"
#include "perfdata/record.h"
#include "record/offcpu_event.h"

#define FILE_OVERHEAD  (256 << 10) /* header, attributes, formats of events, host data */
#define BUILD_ID_BYTES 64	   /* of one build id, without its name */

/* The records of one CPU's ring, oldest first. */
struct ring_records {
	const struct perf_event_header **v;
	size_t n;
};

/* State while a window is gathered. */
struct gatherer {
	const struct dump_job *job;
	struct dump_result *res;
	struct window *win;
	struct ring_records *rings; /* one per CPU */
	struct task_set tasks;
	struct page_set pages;
	struct switch_stacks switches;
	uint32_t user_pid; /* pid of the oldest sample of user code; 0: none */
};

static int read_ring(struct gatherer *w, size_t c)
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
	session__rename(w->job->session, r->v, r->n);
	r->n = offcpu_event__unpack(w->job->session, c, r->v, r->n);
	res->cpu = cpu->cpu;
	res->torn = torn;
	res->paused = shot->resumed - shot->paused;
	res->from = w->job->session->started;
	if (img.wrapped || torn)
		res->from = r->n ? record__time(r->v[0]) : UINT64_MAX;
	return 0;
}

void window__set_bounds(const struct incident *inc, size_t n_cpus, struct dump_result *res)
{
	uint64_t complete = 0, oldest = UINT64_MAX, asked;
	bool more;

	for (size_t i = 0; i < inc->n_triggers; i++) {
		if (inc->triggers[i].t.time < oldest)
			oldest = inc->triggers[i].t.time;
	}
	for (size_t c = 0; c < n_cpus; c++) {
		uint64_t from = res->cpus[c].from;

		complete = from > complete ? from : complete;
		oldest = from < oldest ? from : oldest;
	}
	asked = incident__asked(inc, &more);
	res->end = incident__end(inc);
	res->asked = asked;
	res->complete = complete;
	res->short_window = complete > asked;
	res->start = asked;
	if (more && complete < asked)
		res->start = complete;
	else if (more && oldest > asked) /* even a part of a wait, on some CPUs, is useful */
		res->start = oldest;
	if (res->start > res->end)
		res->start = res->end;
}

uint64_t window__ring_needed(const struct dump_result *res, size_t n_cpus, uint64_t started,
			     uint64_t ring_bytes)
{
	uint64_t asked = res->asked > started ? res->asked : started;
	double times = 1;
	uint64_t size = ring_bytes;

	for (size_t c = 0; c < n_cpus; c++) {
		uint64_t from = res->cpus[c].from;

		if (from <= asked || from >= res->end)
			continue;
		if ((double)(res->end - asked) / (res->end - from) > times)
			times = (double)(res->end - asked) / (res->end - from);
	}
	if (times <= 1 || !ring_bytes || times * ring_bytes > (double)(UINT64_MAX / 2))
		return 0;
	while (size < times * ring_bytes)
		size *= 2;
	return size;
}

/*
 * A LOST record in an overwritable ring means that records came while the ring was paused. A marker
 * says so, since perf would blame slow writing.
 */
static int add_gap(struct gatherer *w, size_t c, const struct record_lost *lost)
{
	uint64_t time = record__time(&lost->header), paused = time, resumed = time;

	gap_log__find(&w->job->gaps[c], time, &paused, &resumed);
	w->res->cpus[c].lost += lost->lost;
	w->win->n_gaps++;
	return markers__add_gap(&w->win->markers, w->job->session->cpus[c].cpu, time, paused,
				resumed, lost->lost);
}

static void note_sample_time(struct gatherer *w, uint64_t time)
{
	if (!w->win->first_sample || time < w->win->first_sample)
		w->win->first_sample = time;
	if (time > w->win->last_sample)
		w->win->last_sample = time;
}

/* Note that records were lost before @time. */
static void note_loss(struct gatherer *w, size_t c, uint64_t time)
{
	if (time > w->res->cpus[c].lost_until)
		w->res->cpus[c].lost_until = time;
}

static int add_ring_record(struct gatherer *w, size_t c, const struct perf_event_header *h)
{
	uint64_t time = record__time(h);
	int err;

	if (time < w->res->start || time > w->res->end)
		return 0;
	if (h->type == PERF_RECORD_LOST || h->type == PERF_RECORD_THROTTLE ||
	    h->type == PERF_RECORD_UNTHROTTLE)
		note_loss(w, c, time);
	if (h->type == PERF_RECORD_LOST)
		return add_gap(w, c, (const struct record_lost *)h);
	w->res->cpus[c].records++;
	w->res->cpus[c].throttled += h->type == PERF_RECORD_THROTTLE;
	if (h->type == PERF_RECORD_SAMPLE) {
		note_sample_time(w, time);
		if (!w->user_pid &&
		    (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
			w->user_pid = record__pid(h);
		switch_stacks__note(&w->switches, h);
		err = task_set__add(&w->tasks, record__pid(h), record__tid(h));
		err = err ?: page_set__add_sample(&w->pages, h);
		if (err)
			return err;
	}
	return timeline__add(&w->win->timeline, time, h);
}

static int add_rings(struct gatherer *w)
{
	int err = 0;

	for (size_t c = 0; !err && c < w->res->n_cpus; c++) {
		for (size_t i = 0; !err && i < w->rings[c].n; i++)
			err = add_ring_record(w, c, w->rings[c].v[i]);
	}
	return err;
}

/* Add samples of the tasks that sleep at the end of the window. */
static int add_asleep(struct gatherer *w)
{
	struct buf *samples = &w->win->asleep, cpus = { 0 };
	const struct perf_event_header *h;
	size_t at = 0;
	int err;

	if (!w->job->asleep)
		return 0;
	err = offcpu_event__add_asleep(w->job->session, w->job->asleep, w->res->end, samples,
				       &cpus);
	for (size_t i = 0; !err && at < samples->len; i++, at += h->size) {
		h = (const void *)(samples->data + at);
		err = add_ring_record(w, ((const size_t *)cpus.data)[i], h);
	}
	buf__free(&cpus);
	return err;
}

static int add_stack_pages(struct gatherer *w, uint32_t pid, const struct frbpf_stacks *s)
{
	int err = page_set__add(&w->pages, SIDEBAND_KERNEL, s->kernel, s->n_kernel);

	return err ?: page_set__add(&w->pages, pid, s->user, s->n_user);
}

/* Add the tasks and pages of triggers and their stacks, so that they get names. */
static int add_trigger_needs(struct gatherer *w)
{
	struct incident *inc = w->job->inc;
	int err = 0;

	pthread_mutex_lock(&inc->name_lock);
	switch_stacks__take(&w->switches, &w->pages, inc);
	for (size_t i = 0; !err && i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		const struct incident_stacks *stacks = incident__stacks(inc, &it->t);

		if (stacks)
			err = add_stack_pages(w, it->t.subject.pid, &stacks->raw);
		err = err ?: task_set__add(&w->tasks, it->t.subject.pid, it->t.subject.tid);
		if (!err && it->rule)
			err = task_set__add(&w->tasks, it->t.current.pid, it->t.current.tid);
	}
	pthread_mutex_unlock(&inc->name_lock);
	return err;
}

static int add_begin_marker(struct gatherer *w, const struct incident_trigger *it)
{
	uint64_t begin = incident_trigger__began(it);

	if (begin == it->t.time || begin < w->res->start)
		return 0;
	note_sample_time(w, begin);
	return markers__add_begin(&w->win->markers, it);
}

/* Add markers of the parts that matched before @it, if they are in the window. */
static int add_part_markers(struct gatherer *w, const struct incident_trigger *it)
{
	struct incident_trigger part;
	int err = 0;

	for (size_t i = 0; i < FRBPF_MAX_OTHERS && !err; i++) {
		if (!incident_trigger__part(it, i, &part) || part.t.time < w->res->start)
			continue;
		note_sample_time(w, part.t.time);
		err = markers__add_trigger(&w->win->markers, &part, NULL, NULL);
		err = err ?: add_begin_marker(w, &part);
	}
	return err;
}

/*
 * Add markers with stacks. The first session that gets here names the frames, and removes frbpf's
 * own frames.
 */
static int add_trigger_markers(struct gatherer *w)
{
	struct incident *inc = w->job->inc;
	int err = 0;

	pthread_mutex_lock(&inc->name_lock);
	stack_frames__name_kernel(inc, w->win->slice); /* out of memory: fewer names */
	for (size_t i = 0; !err && i < inc->n_triggers; i++) {
		const struct incident_trigger *it = &inc->triggers[i];
		const struct incident_stacks *stacks = incident__stacks(inc, &it->t);

		note_sample_time(w, it->t.time);
		err = markers__add_trigger(&w->win->markers, it, stacks ? &stacks->raw : NULL,
					   inc->reason);
		err = err ?: add_begin_marker(w, it);
		err = err ?: add_part_markers(w, it);
	}
	pthread_mutex_unlock(&inc->name_lock);
	return err;
}

/* The main process of the file: the subject's; without a rule, a process that ran user code. */
static uint32_t main_process(const struct gatherer *w)
{
	const struct incident *inc = w->job->inc;

	for (size_t i = 0; i < inc->n_triggers; i++) {
		if (inc->triggers[i].rule && inc->triggers[i].t.subject.pid)
			return inc->triggers[i].t.subject.pid;
	}
	return w->user_pid;
}

static int add_sideband(struct gatherer *w, struct err *err)
{
	struct sideband_request req = { .start = w->res->start, .end = w->res->end };
	int code;

	task_set__sort(&w->tasks);
	page_set__sort(&w->pages);
	req.tasks = w->tasks.v;
	req.n_tasks = w->tasks.n;
	req.all_files = w->pages.incomplete;
	req.pages = w->pages.v;
	req.n_pages = w->pages.n;
	req.first_pid = main_process(w);
	code = sideband__slice(w->job->env->sideband, &req, err, &w->win->slice);
	if (code)
		return code;
	w->res->sideband_lost = w->win->slice->lost;
	w->res->sideband_rescans = w->win->slice->rescans;
	w->res->sideband_incomplete = w->win->slice->incomplete;
	return timeline__add_buffer(&w->win->timeline, w->win->slice->records.data,
				    w->win->slice->records.len);
}

static int look_for_contradictions(struct gatherer *w)
{
	struct incident *inc = w->job->inc;
	int err;

	pthread_mutex_lock(&inc->name_lock);
	err = contradiction__look(inc, w->job->session, &w->pages, &w->win->timeline, w->res);
	pthread_mutex_unlock(&inc->name_lock);
	return err;
}

/* Add the side band first: what names an address must precede a sample of the same nanosecond. */
static int gather_records(struct gatherer *w, struct err *err)
{
	struct timeline rings;
	int code = page_set__init(&w->pages, w->job->session);

	code = code ?: switch_stacks__init(&w->switches, w->job->inc, w->job->session);
	code = code ?: add_rings(w);
	code = code ?: add_asleep(w);
	code = code ?: add_trigger_needs(w);
	if (code)
		return err_set(err, code, "out of memory");
	rings = w->win->timeline;
	w->win->timeline = (struct timeline){ 0 };
	code = add_sideband(w, err);
	for (size_t i = 0; !code && i < rings.n; i++)
		code = timeline__add(&w->win->timeline, rings.v[i].time, rings.v[i].rec);
	timeline__free(&rings);
	code = code ?: add_trigger_markers(w);
	code = code
		       ?: timeline__add_buffer(&w->win->timeline, w->win->markers.records.data,
					       w->win->markers.records.len);
	code = code ?: timeline__sort(&w->win->timeline);
	code = code ?: look_for_contradictions(w);
	if (code && !err->msg[0])
		err_set(err, code, "out of memory");
	return code;
}

static int read_rings(struct gatherer *w)
{
	size_t n_cpus = w->job->session->n_cpus;
	int err = 0;

	w->res->n_cpus = n_cpus;
	w->res->cpus = calloc(n_cpus, sizeof(*w->res->cpus));
	w->rings = calloc(n_cpus, sizeof(*w->rings));
	if (!w->res->cpus || !w->rings)
		return -ENOMEM;
	for (size_t c = 0; !err && c < n_cpus; c++)
		err = read_ring(w, c);
	return err;
}

/* Time, ns, from which the CPU's absence counts. covered_ns in the manifest begins there, too. */
static uint64_t away_from(const struct dump_result *res, size_t c)
{
	return res->cpus[c].from < res->start ? res->cpus[c].from : res->start;
}

int window__gather(const struct dump_job *job, struct dump_result *res, struct err *err,
		   struct window *ret)
{
	struct gatherer w = { .job = job, .res = res, .win = ret };
	int code;

	ret->markers.fields = session__marker_fields(job->session);
	code = read_rings(&w);
	if (code) {
		err_set(err, code, "out of memory");
	} else {
		window__set_bounds(job->inc, res->n_cpus, res);
		if (res->n_cpus)
			res->ring_needed =
				window__ring_needed(res, res->n_cpus, job->session->started,
						    job->session->cpus[0].ring.size);
		for (size_t c = 0; c < res->n_cpus; c++)
			res->cpus[c].away =
				session__away(job->session, c, away_from(res, c), res->end);
		for (size_t c = 0; c < res->n_cpus; c++)
			offcpu_event__cut(job->session, c, w.rings[c].v, w.rings[c].n, res->end);
		code = gather_records(&w, err);
	}
	for (size_t c = 0; w.rings && c < res->n_cpus; c++)
		free(w.rings[c].v);
	free(w.rings);
	task_set__free(&w.tasks);
	page_set__free(&w.pages);
	switch_stacks__free(&w.switches);
	return code;
}

uint64_t window__file_bytes(const struct window *win)
{
	const struct sideband_slice *slice = win->slice;
	uint64_t sum = FILE_OVERHEAD;

	for (size_t i = 0; i < win->timeline.n; i++)
		sum += win->timeline.v[i].rec->size;
	for (size_t i = 0; i < slice->n_build_ids; i++)
		sum += BUILD_ID_BYTES + strlen(slice->build_ids[i].name);
	for (size_t i = 0; i < slice->n_bpf_progs; i++)
		sum += slice->bpf_progs[i].len;
	for (size_t i = 0; i < slice->n_btfs; i++)
		sum += slice->btfs[i].data.len;
	return sum;
}

void window__free(struct window *win)
{
	markers__free(&win->markers);
	buf__free(&win->asleep);
	sideband_slice__free(win->slice);
	timeline__free(&win->timeline);
	*win = (struct window){ 0 };
}
