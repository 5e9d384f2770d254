// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/dump_name.h"
#include "dump/base/manifest.h"
#include "dump/dump_file.h"
#include "perfdata/marker.h"
#include "record/words.h"

#define ROUND_BYTES (1 << 20) /* bytes of records; small, to limit the memory of readers */
#define EXTRA_FED   4	      /* events whose samples a BPF program writes */
#define EXTRA_ATTRS (EXTRA_FED + 4) /* trigger, begin, gap, side band */

/* State while a file is written. */
struct file_job {
	const struct dump_job *job;
	const struct window *win;
	struct dump_result *res;
	/* owned; borrowed by the writer until the file is finished */
	struct perfdata_attr *attrs;
	struct perfdata_format *formats;
	size_t n_attrs;
	/* attributes of these, with callchains if the session has them */
	struct perf_event_attr extra[EXTRA_ATTRS];
	size_t n_extra;
};

/* The event's samples were written by a BPF program as those of a tracepoint: show them as such. */
static void name_fed(struct file_job *w, enum marker_kind kind, struct perfdata_attr *attr)
{
	struct perf_event_attr *copy = &w->extra[w->n_extra++];
	const struct perfdata_attr as = marker__event(kind);

	*copy = *attr->attr;
	copy->type = as.attr->type;
	copy->config = as.attr->config;
	attr->attr = copy;
	attr->name = as.name;
	attr->format = as.format;
}

static void add_event(struct file_job *w, size_t e)
{
	const struct session *s = w->job->session;
	const struct event *ev = &s->events->v[e];
	struct perfdata_attr *attr = &w->attrs[w->n_attrs++];
	enum marker_kind kind;

	*attr = (struct perfdata_attr){
		.attr = &ev->attr,
		.name = ev->name,
	};
	attr->ids = session__event_ids(s, e, &attr->n_ids);
	attr->group_name = ev->group_name;
	for (size_t m = e; m < s->events->n; m++)
		attr->group_members += s->events->v[m].leader == e;
	if (marker__is_fed(&ev->attr, ev->name, &kind) && w->n_extra < EXTRA_FED)
		name_fed(w, kind, attr);
	if (!ev->tp)
		return;
	w->formats[e] = (struct perfdata_format){ ev->tp->system, ev->tp->name, ev->tp->format,
						  ev->tp->format_len };
	attr->format = &w->formats[e];
}

/*
 * Give it callchains if other events have them: `perf sched timehist` shows none at all if one attr
 * of a file lacks them.
 */
static void add_extra(struct file_job *w, struct perfdata_attr attr)
{
	struct perf_event_attr *copy = &w->extra[w->n_extra++];

	*copy = *attr.attr;
	if (w->win->markers.callchain)
		copy->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr.attr = copy;
	w->attrs[w->n_attrs++] = attr;
}

/*
 * The side band comes last, like perf's own tracking event. It has no samples. It lists the sample
 * fields of the first event, as go-perf decodes every sample by the last attr of a file.
 */
static void add_tracking(struct file_job *w)
{
	const struct sideband *sb = w->job->env->sideband;
	const struct perf_event_attr *first = w->attrs[0].attr;
	struct perf_event_attr attr = *sideband__attr(sb);
	struct perfdata_attr tracking = { .attr = &attr, .name = "dummy:HG" };

	attr.sample_type |= first->sample_type;
	attr.branch_sample_type = first->branch_sample_type;
	attr.sample_regs_user = first->sample_regs_user;
	attr.sample_regs_intr = first->sample_regs_intr;
	attr.sample_stack_user = first->sample_stack_user;
	tracking.ids = sideband__ids(sb, &tracking.n_ids);
	add_extra(w, tracking);
}

static int list_events(struct file_job *w)
{
	size_t n = w->job->session->events->n;

	w->attrs = calloc(n + EXTRA_ATTRS, sizeof(*w->attrs));
	w->formats = calloc(n, sizeof(*w->formats));
	if (!w->attrs || !w->formats)
		return -ENOMEM;
	for (size_t e = 0; e < n; e++)
		add_event(w, e);
	add_extra(w, marker__event(MARKER_TRIGGER));
	add_extra(w, marker__event(MARKER_BEGIN));
	if (w->win->n_gaps)
		add_extra(w, marker__event(MARKER_GAP));
	add_tracking(w);
	return 0;
}

/* The timeline is sorted, so readers that work in one pass need not keep more than two rounds. */
static int write_records(struct file_job *w, struct perfdata_writer *writer, struct err *err)
{
	size_t round = 0;

	for (size_t i = 0; i < w->win->timeline.n; i++) {
		const struct perf_event_header *rec = w->win->timeline.v[i].rec;
		int ret = perfdata__write(writer, rec, err);

		if (ret && ret != -EINVAL)
			return ret;
		if (ret) /* torn, but it looked like a record */
			w->res->skipped++;
		else
			w->res->records++;
		round += rec->size;
		if (round < ROUND_BYTES)
			continue;
		round = 0;
		ret = perfdata__end_round(writer, err);
		if (ret)
			return ret;
	}
	return perfdata__end_round(writer, err);
}

/*
 * The command line as perf would have been called, one string per argument. @words owns them except
 * for the first two. The caller frees *ret. 0 or -ENOMEM.
 */
static int list_arguments(const struct file_job *w, struct words *words, const char ***ret)
{
	const char *run = w->job->session->run;
	struct source_text *src = NULL;
	struct diags diags = { 0 };
	size_t n = 0;
	int err;

	err = source_text__from_string("run", run, &src);
	err = err ?: words__split(src, (struct span){ 0, src->len }, &diags, words);
	*ret = err ? NULL : calloc(words->n + 3, sizeof(**ret));
	diags__free(&diags);
	source_text__free(src);
	if (!*ret)
		return -ENOMEM;
	(*ret)[n++] = w->job->env->program;
	(*ret)[n++] = "record";
	for (size_t i = 0; i < words->n; i++)
		(*ret)[n++] = words->v[i].text;
	return 0;
}

static int finish_file(struct file_job *w, struct perfdata_writer *writer, struct err *err)
{
	const struct dump_env *env = w->job->env;
	const struct sideband_slice *s = w->win->slice;
	_cleanup_free_ const char **cmdline = NULL;
	struct words words = { 0 };
	_cleanup_free_ struct perfdata_build_id *ids = calloc(s->n_build_ids + 1, sizeof(*ids));
	_cleanup_free_ struct perfdata_blob *progs = calloc(s->n_bpf_progs + 1, sizeof(*progs));
	_cleanup_free_ struct perfdata_blob *btfs = calloc(s->n_btfs + 1, sizeof(*btfs));
	struct perfdata_features f = {
		.host = env->host,
		.tracing = env->tracing,
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
	int ret;

	if (!ids || !progs || !btfs || list_arguments(w, &words, &cmdline)) {
		words__free(&words);
		return err_set(err, -ENOMEM, "out of memory");
	}
	f.cmdline = cmdline;
	for (size_t i = 0; i < s->n_build_ids; i++)
		ids[i] = (struct perfdata_build_id){ s->build_ids[i].id, s->build_ids[i].kernel,
						     s->build_ids[i].name };
	for (size_t i = 0; i < s->n_bpf_progs; i++)
		progs[i] = (struct perfdata_blob){ 0, s->bpf_progs[i].data, s->bpf_progs[i].len };
	for (size_t i = 0; i < s->n_btfs; i++)
		btfs[i] = (struct perfdata_blob){ s->btfs[i].id, s->btfs[i].data.data,
						  s->btfs[i].data.len };
	ret = perfdata__finish(writer, &f, err);
	words__free(&words);
	return ret;
}

/*
 * The incident's first session that gets here reserves the name, and writes the draft of the
 * manifest.
 */
static int name_file(struct file_job *w, struct err *err)
{
	const struct dump_env *env = w->job->env;
	struct incident *inc = w->job->inc;
	int ret = 0;

	pthread_mutex_lock(&inc->name_lock);
	if (!inc->name[0])
		base_dir__reserve_name(env->base, inc->freeze.frozen + inc->realtime_offset,
				       inc->name);
	if (!inc->drafted)
		ret = manifest__draft(env->base, inc, host_info__hostname(env->host), err);
	if (!ret)
		inc->drafted = true;
	pthread_mutex_unlock(&inc->name_lock);
	dump_name__format(w->job->session->output.name, inc->name, w->res->file);
	return ret;
}

static int write_file(struct file_job *w, struct err *err)
{
	struct perfdata_writer *writer = NULL;
	char tmp[96];
	int ret;

	ret = name_file(w, err);
	if (ret)
		return ret;
	if (list_events(w))
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(tmp, sizeof(tmp), BASE_DIR_TMP_PREFIX "%s", w->res->file);
	ret = perfdata__create(w->job->dir_fd, tmp, w->attrs, w->n_attrs, err, &writer);
	if (!ret && w->job->session->output.compression)
		ret = perfdata__compress(writer, w->job->session->output.compression, err);
	ret = ret ?: write_records(w, writer, err);
	ret = ret ?: finish_file(w, writer, err);
	ret = ret ?: perfdata__publish(writer, w->res->file, &w->res->bytes, err);
	perfdata__free(writer);
	return ret;
}

int dump_file__write(const struct dump_job *job, const struct window *win, struct dump_result *res,
		     struct err *err)
{
	struct file_job w = { .job = job, .win = win, .res = res };
	int ret = write_file(&w, err);

	free(w.attrs);
	free(w.formats);
	return ret;
}
