// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "dump/dump_file.h"
#include "perfdata/marker.h"

/* A file while it is written. */
struct file_job {
	const struct dump_job *job;
	const struct window *win;
	struct dump_result *res;
};

#define EXTRA_ATTRS 4 /* sideband, trigger, begin, gap */

static int create_file(const struct file_job *w, const char *tmp, struct err *err,
		       struct perfdata_writer **ret)
{
	const struct session *s = w->job->session;
	_cleanup_free_ struct perfdata_attr *attrs =
		calloc(s->events->n + EXTRA_ATTRS, sizeof(*attrs));
	_cleanup_free_ struct perfdata_format *formats = calloc(s->events->n, sizeof(*formats));
	size_t n = 0;

	if (!attrs || !formats)
		return err_set(err, -ENOMEM, "out of memory");
	for (; n < s->events->n; n++) {
		const struct event *ev = &s->events->v[n];

		attrs[n] = (struct perfdata_attr){&ev->attr, ev->name, session__event_ids(s, n),
						  s->n_cpus, NULL};
		if (!ev->tp)
			continue;
		formats[n] = (struct perfdata_format){ev->tp->system, ev->tp->name, ev->tp->format,
						      ev->tp->format_len};
		attrs[n].format = &formats[n];
	}
	attrs[n] = (struct perfdata_attr){.attr = sideband__attr(w->job->env->sideband),
					  .name = "dummy:HG"};
	attrs[n].ids = sideband__ids(w->job->env->sideband, &attrs[n].n_ids);
	n++;
	attrs[n++] = marker__event(MARKER_TRIGGER);
	attrs[n++] = marker__event(MARKER_BEGIN);
	if (w->win->n_gaps)
		attrs[n++] = marker__event(MARKER_GAP);
	return perfdata__create(w->job->dir_fd, tmp, attrs, n, err, ret);
}

static int write_records(struct file_job *w, struct perfdata_writer *writer, struct err *err)
{
	for (size_t i = 0; i < w->win->timeline.n; i++) {
		int ret = perfdata__write(writer, w->win->timeline.v[i].rec, err);

		if (ret == -EINVAL) /* torn in a way that still looked like a record */
			w->res->skipped++;
		else if (ret)
			return ret;
		else
			w->res->records++;
	}
	return 0;
}

static int finish_file(struct file_job *w, struct perfdata_writer *writer, struct err *err)
{
	const struct dump_env *env = w->job->env;
	const struct sideband_slice *s = w->win->slice;
	const char *cmdline[] = {env->program, w->job->session->run, NULL};
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
		.first_sample = w->win->first_sample,
		.last_sample = w->win->last_sample,
		.clock_resolution = 1,
		.monotonic = w->job->inc->freeze.frozen,
		.realtime = w->job->inc->freeze.frozen + w->job->inc->realtime_offset,
	};

	if (!ids || !progs || !btfs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->n_build_ids; i++)
		ids[i] = (struct perfdata_build_id){s->build_ids[i].id, s->build_ids[i].kernel,
						    s->build_ids[i].name};
	for (size_t i = 0; i < s->n_bpf_progs; i++)
		progs[i] = (struct perfdata_blob){0, s->bpf_progs[i].data, s->bpf_progs[i].len};
	for (size_t i = 0; i < s->n_btfs; i++)
		btfs[i] = (struct perfdata_blob){s->btfs[i].id, s->btfs[i].data.data,
						 s->btfs[i].data.len};
	return perfdata__finish(writer, &f, err);
}

int dump_file__write(const struct dump_job *job, const struct window *win, struct dump_result *res,
		     struct err *err)
{
	struct file_job file = {.job = job, .win = win, .res = res}, *w = &file;
	struct incident *inc = job->inc;
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
