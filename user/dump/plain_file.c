// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "dump/file_events.h"
#include "dump/file_features.h"
#include "dump/plain_file.h"
#include "dump/window/markers.h"
#include "dump/window/page_set.h"
#include "dump/window/task_set.h"
#include "perfdata/record.h"

/* ns between look-ups of the files that samples hit: tasks that ended since must still be known */
#define NAMES_NS (10 * 1000000000ULL)

struct plain_file {
	const struct dump_env *env;
	struct session *session;
	int dir_fd;
	char name[DUMP_OUTPUT_MAX + 1];
	struct file_events events;
	uint64_t *ids; /* of the anchors, then of the side band; owned */
	struct perfdata_writer *writer;
	struct sideband_slice *names; /* build ids and BPF programs so far; owned */
	/* what the samples since `looked` hit */
	struct task_set tasks;
	struct page_set pages;
	uint64_t looked; /* ns */

	uint64_t started, first_sample, last_sample, samples, records, skipped;
	bool dirty;	       /* records came since the last pass */
	struct dump_cpu *cpus; /* one per CPU that the session may get; owned */
};

/* ---- names ---- */

/*
 * Add records that name all tasks, also those outside the cgroup: a task may enter it later.
 * Readers sort by time, so the records get the time @since, ns, which precedes every sample.
 */
static int begin_names(struct plain_file *f, uint64_t since, struct err *err)
{
	const struct sideband_request req = { .all_tasks = true,
					      .start = since,
					      .end = f->started };

	return sideband__slice(f->env->sideband, &req, err, &f->names);
}

/* Look up the files that samples hit since the last look-up. */
static int add_names(struct plain_file *f, struct err *err)
{
	struct sideband_request req = { .start = f->looked, .end = now_ns() };
	struct sideband_slice *more;
	int code;

	task_set__sort(&f->tasks);
	page_set__sort(&f->pages);
	req.tasks = f->tasks.v;
	req.n_tasks = f->tasks.n;
	req.all_files = f->pages.incomplete;
	req.pages = f->pages.v;
	req.n_pages = f->pages.n;
	code = sideband__slice(f->env->sideband, &req, err, &more);
	if (code)
		return code;
	code = sideband_slice__join(f->names, more);
	sideband_slice__free(more);
	f->tasks.n = f->pages.n = 0;
	f->looked = req.end;
	return code ? err_set(err, code, "out of memory") : 0;
}

/* ---- opening ---- */

static int list_ids(struct plain_file *f, struct file_tracking *ret)
{
	size_t n = f->session->n_cpus, n_sideband;
	const uint64_t *sideband = sideband__ids(f->env->sideband, &n_sideband);

	f->ids = calloc(n + n_sideband, sizeof(*f->ids));
	if (!f->ids)
		return -ENOMEM;
	for (size_t c = 0; c < n; c++)
		f->ids[c] = f->session->cpus[c].anchor_id;
	memcpy(f->ids + n, sideband, n_sideband * sizeof(*sideband));
	*ret = (struct file_tracking){ &f->session->tracking, f->ids, n + n_sideband };
	return 0;
}

/* Rename an old file, as perf_data__open() in tools/perf/util/data.c. An empty file is replaced. */
static void keep_old_file(const struct plain_file *f)
{
	char old[sizeof(f->name) + 4];
	struct stat st;

	snprintf(old, sizeof(old), "%s.old", f->name);
	if (fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISREG(st.st_mode) && !st.st_size)
		unlinkat(f->dir_fd, f->name, 0);
	else
		renameat(f->dir_fd, f->name, f->dir_fd, old);
}

static int set_features(struct plain_file *f, struct file_features *ff)
{
	int err = file_features__make(ff, f->env, f->session, f->names);

	ff->f.first_sample = f->first_sample;
	ff->f.last_sample = f->last_sample;
	ff->f.monotonic = f->started;
	ff->f.realtime = f->started + (clock_ns(CLOCK_REALTIME) - now_ns());
	return err;
}

/* Write what precedes the first record of the rings. */
static int write_first_records(struct plain_file *f, struct err *err)
{
	struct file_features ff;
	const struct perf_event_header *rec;
	size_t off = 0;
	int code = set_features(f, &ff);

	code = code ? err_set(err, code, "out of memory") : perfdata__open(f->writer, &ff.f, err);
	file_features__free(&ff);
	while (!code && (rec = record__next(&f->names->records, &off))) {
		code = perfdata__write(f->writer, rec, err);
		if (code == -EINVAL)
			code = 0;
	}
	code = code ?: perfdata__end_round(f->writer, err);
	return code ?: perfdata__checkpoint(f->writer, err);
}

static int plain_file_create(struct plain_file *f, struct err *err)
{
	const struct record_output *o = &f->session->output;
	struct file_tracking tracking;
	int code = list_ids(f, &tracking);

	code = code ?: file_events__list(&f->events, f->session, &tracking, false);
	code = code ?: page_set__init(&f->pages, f->session);
	f->cpus = calloc(f->session->max_cpus, sizeof(*f->cpus));
	if (code || !f->cpus)
		return err_set(err, -ENOMEM, "out of memory");
	keep_old_file(f);
	code = perfdata__create(f->dir_fd, f->name, f->events.attrs, f->events.n, err, &f->writer);
	if (!code && o->compression)
		code = perfdata__compress(f->writer, o->compression, err);
	return code;
}

int plain_file__open(const struct dump_env *env, struct session *s, int dir_fd, uint64_t since,
		     struct err *err, struct plain_file **ret)
{
	struct plain_file *f = calloc(1, sizeof(*f));
	int code;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->env = env;
	f->session = s;
	f->dir_fd = dir_fd;
	f->started = f->looked = now_ns();
	snprintf(f->name, sizeof(f->name), "%s", s->output.name[0] ? s->output.name : "perf.data");
	code = disk_room__promise(env->room, dir_fd, s->output.min_free, 0, err);
	code = code ?: begin_names(f, since, err);
	code = code ?: plain_file_create(f, err);
	code = code ?: write_first_records(f, err);
	if (code) {
		plain_file__free(f);
		return err_prefix(err, code, "session '%s': ", s->name);
	}
	*ret = f;
	return 0;
}

/* ---- records ---- */

static int note_sample(struct plain_file *f, const struct perf_event_header *rec)
{
	uint64_t time = record__time(rec);
	int err;

	f->samples++;
	if (!f->first_sample || time < f->first_sample)
		f->first_sample = time;
	if (time > f->last_sample)
		f->last_sample = time;
	err = task_set__add(&f->tasks, record__pid(rec), record__tid(rec));
	return err ?: page_set__add_sample(&f->pages, rec);
}

int plain_file__add(struct plain_file *f, size_t c, const struct perf_event_header *rec,
		    struct err *err)
{
	uint64_t max = f->session->output.max_bytes;
	int code;

	if (max && perfdata__size(f->writer) >= max)
		return -EFBIG;
	code = perfdata__write(f->writer, rec, err);
	if (code == -EINVAL) { /* its id is unknown: the CPU may just have come online */
		f->skipped++;
		return 0;
	}
	if (code)
		return code;
	f->dirty = true;
	f->records++;
	f->cpus[c].records++;
	if (rec->type == PERF_RECORD_LOST)
		f->cpus[c].lost += ((const struct record_lost *)rec)->lost;
	if (rec->type == PERF_RECORD_SAMPLE && note_sample(f, rec))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int plain_file__end_pass(struct plain_file *f, struct err *err)
{
	uint64_t min_free = f->session->output.min_free;
	int code = 0;

	if (f->pages.n && now_ns() - f->looked >= NAMES_NS)
		code = add_names(f, err);
	if (code || !f->dirty)
		return code;
	f->dirty = false;
	code = perfdata__end_round(f->writer, err);
	code = code ?: perfdata__checkpoint(f->writer, err);
	return code ?: disk_room__promise(f->env->room, f->dir_fd, min_free, 0, err);
}

uint64_t plain_file__bytes(const struct plain_file *f)
{
	return perfdata__size(f->writer);
}

uint64_t plain_file__samples(const struct plain_file *f)
{
	return f->samples;
}

/* ---- closing ---- */

static int write_marker(struct plain_file *f, struct incident *inc, struct err *err)
{
	struct markers markers = { .fields = session__marker_fields(f->session) };
	const struct perf_event_header *rec;
	size_t off = 0;
	int code = 0;

	pthread_mutex_lock(&inc->name_lock);
	for (size_t i = 0; !code && i < inc->n_triggers; i++)
		code = markers__add_trigger(&markers, &inc->triggers[i], NULL, inc->reason);
	pthread_mutex_unlock(&inc->name_lock);
	if (code)
		err_set(err, code, "out of memory");
	while (!code && (rec = record__next(&markers.records, &off)))
		code = perfdata__write(f->writer, rec, err);
	markers__free(&markers);
	return code;
}

static int plain_file_finish(struct plain_file *f, struct err *err)
{
	struct file_features ff;
	int code = perfdata__end_round(f->writer, err);

	if (code)
		return code;
	code = set_features(f, &ff);
	code = code ? err_set(err, code, "out of memory") : perfdata__finish(f->writer, &ff.f, err);
	file_features__free(&ff);
	return code;
}

static void set_result(struct plain_file *f, struct dump_result *ret)
{
	ret->n_cpus = f->session->n_cpus;
	for (size_t c = 0; c < ret->n_cpus; c++) {
		f->cpus[c].cpu = f->session->cpus[c].cpu;
		f->cpus[c].from = f->started;
	}
	ret->cpus = TAKE_PTR(f->cpus);
	ret->records = f->records;
	ret->skipped = f->skipped;
	ret->start = ret->asked = ret->complete = f->started;
	ret->end = now_ns();
	ret->sideband_incomplete = f->names->incomplete;
}

int plain_file__close(struct plain_file *f, struct incident *inc, struct err *err,
		      struct dump_result *ret)
{
	int code = inc ? dump__name_file(f->env, inc, f->session, ret, err) : 0;

	code = code ?: add_names(f, err);
	if (!code && inc)
		code = write_marker(f, inc, err);
	code = code ?: plain_file_finish(f, err);
	if (!code && inc) {
		set_result(f, ret);
		code = perfdata__publish(f->writer, ret->file, &ret->bytes, err);
	}
	return code;
}

void plain_file__free(struct plain_file *f)
{
	if (!f)
		return;
	perfdata__free(f->writer);
	file_events__free(&f->events);
	sideband_slice__free(f->names);
	task_set__free(&f->tasks);
	page_set__free(&f->pages);
	free(f->cpus);
	free(f->ids);
	free(f);
}
