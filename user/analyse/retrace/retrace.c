// SPDX-License-Identifier: GPL-2.0-only
/* Reads all recordings in the order of time, and tracks when events are missing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyse/retrace/retrace_impl.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "perfdata/file_layout.h"

#define FILES_MAX 256

static int retrace_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

int retrace__new(struct retrace **ret)
{
	struct retrace *m = calloc(1, sizeof(*m));

	if (!m || sched_tasks__new(&m->tasks)) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

void retrace__free(struct retrace *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_files; i++) {
		taps__free(&m->files[i]);
		replay__free(m->files[i].replay);
	}
	for (size_t i = 0; i < m->n_wants; i++) {
		flights__drop(m->wants[i]);
		free(m->wants[i]);
	}
	sched_tasks__free(m->tasks);
	free(m->files);
	free(m->wants);
	free(m->now);
	free(m);
}

/* Is the recording from another architecture? Then its system call numbers differ from ours. */
static bool recording_is_foreign(struct replay *r)
{
	struct buf body = { 0 };
	struct utsname here;
	struct err ignored;
	uint32_t len;
	bool ret = false;

	/* length of the string with padding, then the string */
	if (!perf_file__section((struct perf_file *)replay__file(r), HEADER_ARCH, &body,
				&ignored) &&
	    body.len > sizeof(len) && !uname(&here)) {
		size_t room = body.len - sizeof(len);

		ret = strncmp(body.data + sizeof(len), here.machine, room) != 0;
	}
	buf__free(&body);
	return ret;
}

int retrace__add_file(struct retrace *m, const char *path, struct err *err)
{
	struct retrace_file *files;
	int code;

	if (m->n_files == FILES_MAX)
		return err_set(err, -EINVAL, "more than %d recordings", FILES_MAX);
	files = reallocarray(m->files, m->n_files + 1, sizeof(*files));
	if (!files)
		return retrace_no_memory(err);
	m->files = files;
	files[m->n_files] = (struct retrace_file){ 0 };
	code = replay__open(path, NULL, err, &files[m->n_files].replay);
	if (code)
		return code;
	files[m->n_files].foreign = recording_is_foreign(files[m->n_files].replay);
	m->n_files++;
	return 0;
}

/* ---- contents of the recordings ---- */

/* The format of a tracepoint in the first recording that has it. */
static const struct file_format *find_format(const struct retrace *m, const char *event)
{
	for (size_t i = 0; i < m->n_files; i++) {
		const struct perf_file *file = replay__file(m->files[i].replay);
		const struct file_info *info = perf_file__info(file);

		for (size_t k = 0; k < info->n_events; k++) {
			if (taps__is_whole(&info->events[k]) &&
			    !strcmp(info->events[k].name, event))
				return perf_file__format(file, info->events[k].attr.config);
		}
	}
	return NULL;
}

bool retrace__has_event(const struct retrace *m, const char *event)
{
	return find_format(m, event);
}

int retrace__find_field(const struct retrace *m, const char *event, const char *name,
			struct retrace_field *ret)
{
	const struct file_format *f = find_format(m, event);
	const char *last = strrchr(name, '.'), *first = last;
	char joined[64] = "";
	const char *names[] = { name, joined, last ? last + 1 + strspn(last + 1, "_") : "" };
	struct format_field field = { 0 };

	if (!f)
		return -ENOENT;
	while (last && first > name && first[-1] != '.')
		first--;
	if (last) /* next.pid is next_pid or pid in the format */
		snprintf(joined, sizeof(joined), "%.*s_%s", (int)(last - first), first, last + 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!format_field__find(f->text, f->len, names[i], &field))
			continue;
		ret->is_text = field.is_text;
		snprintf(ret->name, sizeof(ret->name), "%s", names[i]);
		return 0;
	}
	return -EINVAL;
}

int retrace__want(struct retrace *m, const struct retrace_want *want, size_t *ret)
{
	struct want **wants = reallocarray(m->wants, m->n_wants + 1, sizeof(*wants));
	struct want *w;

	if (!wants)
		return -ENOMEM;
	m->wants = wants;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->w = *want;
	wants[m->n_wants] = w;
	*ret = m->n_wants++;
	return 0;
}

const struct retrace_result *retrace__result(const struct retrace *m, size_t want)
{
	return &m->wants[want]->result;
}

const char *retrace__lacks(const struct retrace *m, size_t want)
{
	return m->wants[want]->needs ? m->wants[want]->lacks : NULL;
}

void retrace__sum(const struct retrace *m, struct retrace_sum *ret)
{
	*ret = (struct retrace_sum){ .first = m->first, .last = m->last, .n_files = m->n_files };
	for (size_t i = 0; i < m->n_files; i++) {
		ret->losses += replay__losses(m->files[i].replay);
		ret->foreign_machine |= m->files[i].foreign;
	}
}

/* ---- times without the needed events ---- */

static bool want_is_whole(const struct want *w)
{
	for (int role = 0; role < TAP_ROLES; role++) {
		if (w->needs >> role & 1 && !w->active[role])
			return false;
	}
	return w->needs;
}

static void want_give_up(struct want *w)
{
	w->result.given_up += HASH_COUNT(w->flights) + HASH_COUNT(w->hanging);
	flights__drop(w);
	if (w->w.cut)
		w->w.cut(w->w.arg);
}

/* Count what has not ended at @time, the end of the recordings. */
static void want_note_open(struct want *w, uint64_t time)
{
	struct flight *tables[] = { w->flights, w->hanging };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct flight *f, *next;

		HASH_ITER (hh, tables[i], f, next) {
			uint64_t value = time > f->begin ? time - f->begin : 0;

			w->result.open += value > w->w.least;
			if (value > w->result.open_largest)
				w->result.open_largest = value;
		}
	}
	flights__drop(w);
	if (w->w.cut)
		w->w.cut(w->w.arg);
}

/* A recording begins (@by is 1) or ends (-1): adjust the number of active recordings per role. */
static void want_roles_change(struct retrace_file *f, struct want *w, int by)
{
	size_t n = perf_file__info(replay__file(f->replay))->n_events;
	uint32_t roles = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < f->events[i].n_taps; k++) {
			if (f->events[i].taps[k].want == w)
				roles |= 1U << f->events[i].taps[k].role;
		}
	}
	for (int role = 0; role < TAP_ROLES; role++) {
		if (roles >> role & 1)
			w->active[role] += by;
	}
}

static int want_pass(struct want *w, uint64_t time)
{
	int err = w->since ? flights__pass(w, time) : 0;

	if (!err && w->since && w->w.pass)
		err = w->w.pass(time, w->w.arg);
	return err;
}

static int retrace_file_changes(struct retrace *m, struct retrace_file *f, uint64_t time, int by)
{
	for (size_t i = 0; i < m->n_wants; i++) {
		struct want *w = m->wants[i];
		int err = by < 0 ? want_pass(w, time) : 0;

		if (err)
			return err;
		want_roles_change(f, w, by);
		if (w->since && !want_is_whole(w)) {
			w->result.ns += time - w->since;
			want_note_open(w, time);
			w->since = 0;
		} else if (!w->since && want_is_whole(w)) {
			w->since = time;
		}
	}
	return 0;
}

/* ---- the order of time ---- */

/* Go to the next sample of the file, or to its end. */
static int file_advance(struct retrace *m, struct retrace_file *f)
{
	uint64_t before = f->next.time;
	int code;

	do
		code = replay__next(f->replay, m->err, &f->next);
	while (code > 0 && (!f->next.event || !f->next.time));
	if (code < 0)
		return code;
	if (!code) {
		f->ended = true;
		return f->begun ? retrace_file_changes(m, f, before, -1) : 0;
	}
	return 0;
}

static struct retrace_file *earliest_retrace_file(struct retrace *m)
{
	struct retrace_file *ret = NULL;

	for (size_t i = 0; i < m->n_files; i++) {
		struct retrace_file *f = &m->files[i];

		if (!f->ended && (!ret || f->next.time < ret->next.time))
			ret = f;
	}
	return ret;
}

/* Has another recording the same sample? 1: yes; 0; or -ENOMEM. */
static int is_recorded_twice(struct retrace *m, const struct retrace_file *f)
{
	const struct sample *s = &f->next;
	struct recorded *r;

	if (s->time != m->last)
		m->n_now = 0;
	for (size_t i = 0; i < m->n_now; i++) {
		r = &m->now[i];
		if (r->file != f && r->cpu == s->cpu && r->tid == s->tid &&
		    !strcmp(r->event->name, s->event->name))
			return 1;
	}
	if (!ARRAY_HAS_ROOM(m->now, m->n_now, m->now_cap, 16))
		return -ENOMEM;
	m->now[m->n_now++] = (struct recorded){ f, s->event, s->cpu, s->tid };
	return 0;
}

/* Were records lost before this event? */
static bool records_were_lost(struct retrace_file *f, const struct tap_event *e)
{
	bool lost = replay__losses(f->replay) != f->losses || e->is_gap;

	f->losses = replay__losses(f->replay);
	return lost;
}

static int file_sample(struct retrace *m, struct retrace_file *f)
{
	const struct sample *s = &f->next;
	const struct tap_event *e =
		&f->events[s->event - perf_file__info(replay__file(f->replay))->events];
	struct tapped t = { .m = m, .file = f, .s = s };
	int err = is_recorded_twice(m, f);

	if (err)
		return err < 0 ? err : 0;
	m->first = m->first ?: s->time;
	m->last = s->time;
	if (records_were_lost(f, e)) {
		for (size_t i = 0; i < m->n_wants; i++)
			want_give_up(m->wants[i]);
	}
	for (size_t i = 0; i < m->n_wants && !err; i++)
		err = want_pass(m->wants[i], s->time);
	err = err ?: retrace_task__note(&t);
	for (size_t i = 0; i < e->n_taps && !err; i++) {
		t.tap = &e->taps[i];
		if (t.tap->want->since)
			err = want__sample(&t);
	}
	return err;
}

static int retrace_begin(struct retrace *m)
{
	int err = 0;

	for (size_t i = 0; i < m->n_wants; i++)
		taps__needs(m->wants[i]);
	for (size_t i = 0; i < m->n_files && !err; i++)
		err = taps__make(m, &m->files[i]) ? retrace_no_memory(m->err)
						  : file_advance(m, &m->files[i]);
	for (size_t i = 0; i < m->n_wants && !err; i++)
		taps__describe(m->wants[i]);
	return err;
}

int retrace__run(struct retrace *m, struct err *err)
{
	struct retrace_file *f;
	int code;

	m->err = err;
	code = retrace_begin(m);
	while (!code && (f = earliest_retrace_file(m))) {
		if (!f->begun) {
			f->begun = true;
			code = retrace_file_changes(m, f, f->next.time, 1);
		}
		code = code ?: file_sample(m, f);
		if (code == -ENOMEM)
			return retrace_no_memory(err);
		code = code ?: file_advance(m, f);
	}
	return code == -ENOMEM ? retrace_no_memory(err) : code;
}
