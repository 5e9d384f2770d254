// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/dump_name.h"
#include "dump/base/manifest.h"
#include "dump/dump.h"
#include "dump/file_events.h"
#include "dump/file_features.h"
#include "dump/incident/stack_frames.h"
#include "dump/window/window.h"

#define ROUND_BYTES (1 << 20) /* bytes of records; small, to limit the memory of readers */

/* State while a file is written. */
struct file_job {
	const struct dump_job *job;
	const struct window *win;
	struct dump_result *res;
	struct file_events events; /* borrowed by the writer until the file is finished */
};

static int list_dump_events(struct file_job *w)
{
	const struct sideband *sb = w->job->env->sideband;
	struct file_tracking tracking = { .attr = sideband__attr(sb) };

	tracking.ids = sideband__ids(sb, &tracking.n_ids);
	return file_events__list(&w->events, w->job->session, &tracking, w->win->n_gaps);
}

/*
 * Write all records, with the end of a round after each ROUND_BYTES. The timeline is sorted. A
 * reader that sorts by rounds needs at most two of them in memory.
 */
static int write_dump_records(struct file_job *w, struct perfdata_writer *writer, struct err *err)
{
	size_t round = 0;

	for (size_t i = 0; i < w->win->timeline.n; i++) {
		const struct perf_event_header *rec = w->win->timeline.v[i].rec;
		int code = perfdata__write(writer, rec, err);

		if (code && code != -EINVAL)
			return code;
		if (code) /* a torn record, whose size and type looked valid */
			w->res->skipped++;
		else
			w->res->records++;
		round += rec->size;
		if (round < ROUND_BYTES)
			continue;
		round = 0;
		code = perfdata__end_round(writer, err);
		if (code)
			return code;
	}
	return perfdata__end_round(writer, err);
}

static int finish_dump_file(struct file_job *w, struct perfdata_writer *writer, struct err *err)
{
	const struct incident *inc = w->job->inc;
	struct file_features ff;
	int code = file_features__make(&ff, w->job->env, w->job->session, w->win->slice);

	ff.f.first_sample = w->win->first_sample;
	ff.f.last_sample = w->win->last_sample;
	ff.f.monotonic = inc->freeze.frozen;
	ff.f.realtime = inc->freeze.frozen + inc->realtime_offset;
	code = code ? err_set(err, -ENOMEM, "out of memory") : perfdata__finish(writer, &ff.f, err);
	file_features__free(&ff);
	return code;
}

int dump__name_file(const struct dump_env *env, struct incident *inc, const struct session *s,
		    struct dump_result *res, struct err *err)
{
	int code = 0;

	pthread_mutex_lock(&inc->name_lock);
	if (!inc->name[0])
		base_dir__reserve_name(env->base, inc->freeze.frozen + inc->realtime_offset,
				       inc->name);
	if (!inc->drafted)
		code = manifest__draft(env->base, inc, host_info__hostname(env->host), err);
	if (!code)
		inc->drafted = true;
	pthread_mutex_unlock(&inc->name_lock);
	dump_name__format(s->output.name, inc->name, res->file);
	return code;
}

static int write_file_job(struct file_job *w, struct err *err)
{
	struct perfdata_writer *writer = NULL;
	char tmp[96];
	int code;

	code = dump__name_file(w->job->env, w->job->inc, w->job->session, w->res, err);
	if (code)
		return code;
	if (list_dump_events(w))
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(tmp, sizeof(tmp), BASE_DIR_TMP_PREFIX "%s", w->res->file);
	code = perfdata__create(w->job->dir_fd, tmp, w->events.attrs, w->events.n, err, &writer);
	if (!code && w->job->session->output.compression)
		code = perfdata__compress(writer, w->job->session->output.compression, err);
	code = code ?: write_dump_records(w, writer, err);
	code = code ?: finish_dump_file(w, writer, err);
	code = code ?: perfdata__publish(writer, w->res->file, &w->res->bytes, err);
	perfdata__free(writer);
	return code;
}

/*
 * Make the file of @job from a gathered window: attributes, records, features, name. Fills file,
 * bytes and record counts of @res. 0 or negative errno with a message in @err; on failure no file
 * is left.
 */
static int write_dump_file(const struct dump_job *job, const struct window *win,
			   struct dump_result *res, struct err *err)
{
	struct file_job w = { .job = job, .win = win, .res = res };
	int code = write_file_job(&w, err);

	file_events__free(&w.events);
	return code;
}

/* Write the gathered window, if the disk has room. */
static int write_window(const struct dump_job *job, const struct window *win,
			struct dump_result *res, struct err *err)
{
	/* this includes the side band, which is most of the file after many calls of mmap() */
	uint64_t bytes = window__file_bytes(win);
	int code = disk_room__promise(job->env->room, job->dir_fd, job->inc->min_free, bytes, err);

	if (code)
		return code;
	code = write_dump_file(job, win, res, err);
	disk_room__release(job->env->room, bytes, code ? 0 : res->bytes);
	stack_frames__locate_user(job->inc, win->slice); /* out of memory: fewer names */
	return code;
}

void dump__write(const struct dump_job *job, struct dump_result *ret)
{
	struct window win = { 0 };
	uint64_t begun = now_ns();
	struct err err = { 0 };

	ret->session = job->session;
	if (job->env->before_write)
		job->env->before_write(job->env->before_write_arg, job->inc);
	ret->error = disk_room__promise(job->env->room, job->dir_fd, job->inc->min_free, 0, &err);
	if (!ret->error)
		ret->error = window__gather(job, ret, &err, &win);
	if (!ret->error)
		ret->error = write_window(job, &win, ret, &err);
	if (ret->error) {
		snprintf(ret->error_text, sizeof(ret->error_text), "%.*s",
			 (int)sizeof(ret->error_text) - 1, err.msg);
		ret->file[0] = '\0';
	}
	window__free(&win);
	ret->write_ns = now_ns() - begun;
}
