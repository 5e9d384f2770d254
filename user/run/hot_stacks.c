// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/printable.h"
#include "analyse/profile_diff.h"
#include "run/hot_stacks.h"
#include "symbols/demangle.h"

#define HOTTEST	      5
#define GREW_MOST     3	  /* stacks that grew most, in addition to the hottest ones */
#define GREW_PERCENT  1.0 /* less growth is not worth a line */
#define SHARE_MIN     0.05
#define REST_FILES    8	 /* per session; the newest */
#define INCIDENTS_MAX 10 /* incidents looked at */

/* State for one table. */
struct finder {
	struct outcome *o;
	struct run_incident *inc;
	struct profile_tables tables;
	struct profile here, rest;
};

/* A stack that may get into a table. */
struct candidate {
	uint32_t stack;
	struct change share; /* percent, in the window and in the rest */
	bool noise;
	const char *comm;
};

/* ---- the rest of the run ---- */

/* Dumps of one session, and the times that have been read. */
struct rest {
	const struct run_file *v[REST_FILES];
	size_t n;
	struct time_range covered[REST_FILES + 1]; /* sorted by start */
	size_t n_covered;
};

static const struct run_file *incident_session_file(const struct run_incident *inc,
						    const char *session)
{
	for (size_t i = 0; i < inc->n_files; i++)
		if (inc->files[i].path && !strcmp(inc->files[i].session, session))
			return &inc->files[i];
	return NULL;
}

static void rest__add(struct rest *r, const struct run_file *f)
{
	if (f && r->n < REST_FILES)
		r->v[r->n++] = f;
}

static void list_rest_files(const struct finder *f, const char *session, struct rest *r)
{
	rest__add(r, incident_session_file(&f->o->rest, session));
	for (size_t i = f->o->n_incidents; i-- > 0;)
		if (&f->o->incidents[i] != f->inc)
			rest__add(r, incident_session_file(&f->o->incidents[i], session));
}

static void cover_rest_window(struct rest *r, const struct run_file *f)
{
	size_t i = r->n_covered++;

	for (; i && r->covered[i - 1].start > f->start; i--)
		r->covered[i] = r->covered[i - 1];
	r->covered[i] = (struct time_range){ f->start, f->end };
}

/*
 * Read the dumps of the rest of the run. Every moment counts once, and the incident's own window
 * does not.
 */
static int read_rest_files(struct finder *f, const struct run_file *own, struct err *err)
{
	struct rest r = { .n = 0 };
	char held[PATH_MAX];
	int code = 0;

	list_rest_files(f, own->session, &r);
	cover_rest_window(&r, own);
	for (size_t i = 0; i < r.n && !code; i++) {
		f->rest.skip = r.covered;
		f->rest.n_skip = r.n_covered;
		code = profile__add_file(&f->rest, outcome__fd_path(f->o, r.v[i]->path, held), err);
		cover_rest_window(&r, r.v[i]);
	}
	f->rest.skip = NULL;
	f->rest.n_skip = 0;
	return code;
}

/* ---- tables ---- */

static int compare_stack_shares(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->share.a < y->share.a) - (x->share.a > y->share.a);
}

static double stack_growth(const struct candidate *c)
{
	return c->share.a - c->share.b;
}

static int compare_stack_growth(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (stack_growth(x) < stack_growth(y)) - (stack_growth(x) > stack_growth(y));
}

/* Choose the hottest stacks, then those that grew most. Returns their number. */
static size_t choose_stacks(struct candidate *v, size_t n, bool has_rest)
{
	size_t hottest, k;

	if (n)
		qsort(v, n, sizeof(*v), compare_stack_shares);
	for (hottest = 0; hottest < n && hottest < HOTTEST; hottest++)
		if (v[hottest].share.a < SHARE_MIN)
			return hottest;
	if (!has_rest)
		return hottest;
	if (n > hottest)
		qsort(v + hottest, n - hottest, sizeof(*v), compare_stack_growth);
	for (k = hottest; k < n && k < hottest + GREW_MOST; k++)
		if (stack_growth(&v[k]) < GREW_PERCENT || v[k].noise)
			break;
	return k;
}

/* The demangled name; a copy. */
static char *demangled_name(const struct function *f)
{
	return demangle(f->symbol) ?: strdup(f->symbol);
}

static int copy_frames(const struct finder *f, const struct stack *s, struct run_stack *to)
{
	to->frames = calloc(s->n ?: 1, sizeof(*to->frames));
	if (!to->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct function *fn = functions__get(f->tables.functions, s->functions[i]);
		struct run_frame *frame = &to->frames[to->n_frames++];

		frame->kernel = fn->kernel;
		frame->module = strdup(fn->module);
		frame->symbol = fn->symbol ? demangled_name(fn) : NULL;
		if (!frame->module || (fn->symbol && !frame->symbol))
			return -ENOMEM;
	}
	return 0;
}

static int fill_table(const struct finder *f, struct candidate *v, size_t n,
		      struct run_stack_table *to)
{
	int err = 0;

	n = choose_stacks(v, n, to->rest > 0);
	to->v = calloc(n ?: 1, sizeof(*to->v));
	if (!to->v)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		const struct stack *s = stacks__get(f->tables.stacks, v[i].stack);
		struct run_stack *row = &to->v[to->n++];

		row->here = v[i].share.a;
		row->rest = v[i].share.b;
		row->noise = v[i].noise;
		if (s->state != STACK_ON_CPU)
			snprintf(row->state, sizeof(row->state), "%s",
				 offcpu__state_name(s->state));
		snprintf(row->comm, sizeof(row->comm), "%s", v[i].comm);
		err = copy_frames(f, s, row);
	}
	return err;
}

/* @event: NULL for time off CPU. */
static int make_table(struct run_incident *inc, const char *session, const char *event,
		      struct run_stack_table **ret)
{
	struct run_stack_table *v, *t;

	v = reallocarray(inc->tables, inc->n_tables + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	inc->tables = v;
	t = &v[inc->n_tables++];
	*t = (struct run_stack_table){ .session = strdup(session),
				       .event = event ? strdup(event) : NULL };
	*ret = t;
	return t->session && (!event || t->event) ? 0 : -ENOMEM;
}

static int find_on_cpu(struct finder *f, const char *session, const char *event)
{
	struct run_stack_table *t;
	struct candidate *v;
	struct cpu_change c;
	int err;

	err = cpu_change__make(&f->here, &f->rest, event, &c);
	if (err)
		return err;
	v = calloc(c.n ?: 1, sizeof(*v));
	err = v ? make_table(f->inc, session, event, &t) : -ENOMEM;
	if (!err) {
		t->here = c.samples_a;
		t->rest = c.samples_b;
		for (size_t i = 0; i < c.n; i++)
			v[i] = (struct candidate){ c.v[i].stack, c.v[i].share, c.v[i].noise, "" };
		err = fill_table(f, v, c.n, t);
	}
	free(v);
	cpu_change__free(&c);
	return err;
}

static int find_off_cpu(struct finder *f, const char *session)
{
	struct run_stack_table *t;
	struct offcpu_change c;
	struct candidate *v;
	int err;

	err = offcpu_change__make(&f->here, &f->rest, &c);
	if (err)
		return err;
	v = calloc(c.n ?: 1, sizeof(*v));
	err = v ? make_table(f->inc, session, NULL, &t) : -ENOMEM;
	if (!err) {
		t->here = c.ns_a;
		t->rest = c.ns_b;
		for (size_t i = 0; i < c.n; i++)
			v[i] = (struct candidate){ c.v[i].stack, c.v[i].share, false, c.v[i].comm };
		err = fill_table(f, v, c.n, t);
	}
	free(v);
	offcpu_change__free(&c);
	return err;
}

static int find_session_stacks(struct finder *f, const char *session)
{
	int err = 0;

	for (size_t i = 0; i < f->here.n_events && !err; i++)
		if (f->here.events[i].on_cpu && f->here.events[i].samples)
			err = find_on_cpu(f, session, f->here.events[i].name);
	if (!err && f->here.switches)
		err = find_off_cpu(f, session);
	return err;
}

static void find_file_stacks(struct finder *f, const struct run_file *file)
{
	struct err err = { 0 };
	char held[PATH_MAX];
	int code;

	profile__init(&f->here, &f->tables);
	profile__init(&f->rest, &f->tables);
	f->here.keep_stacks = f->rest.keep_stacks = true;
	code = profile__add_file(&f->here, outcome__fd_path(f->o, file->path, held), &err);
	if (!code && read_rest_files(f, file, &err)) {
		log_warn("the rest of the run has no stacks: %s", make_printable(err.msg));
		err = (struct err){ 0 };
	}
	if (!code && find_session_stacks(f, file->session))
		code = err_set(&err, -ENOMEM, "out of memory");
	if (code)
		log_warn("incident %s: its stacks are not in the summary: %s", f->inc->name,
			 make_printable(err.msg));
	profile__free(&f->here);
	profile__free(&f->rest);
}

void hot_stacks__find(struct outcome *o)
{
	struct finder f = { .o = o };
	size_t looked_at = 0;

	for (size_t i = 0; i < o->n_rules && looked_at < INCIDENTS_MAX; i++) {
		const struct run_incident *worst = NULL;

		if (!outcome__worst(o, i, &worst) || worst->n_tables)
			continue;
		if (!f.tables.symbols && profile_tables__init(&f.tables)) {
			log_warn("no stacks in the summary: out of memory");
			return;
		}
		f.inc = &o->incidents[worst - o->incidents];
		for (size_t k = 0; k < f.inc->n_files; k++)
			if (f.inc->files[k].path)
				find_file_stacks(&f, &f.inc->files[k]);
		looked_at++;
	}
	profile_tables__free(&f.tables);
}

void hot_stacks__drop_rest(struct outcome *o)
{
	for (size_t i = 0; i < o->rest.n_files; i++) {
		const char *path = o->rest.files[i].path;
		char held[PATH_MAX];

		if (path && unlink(outcome__fd_path(o, path, held)))
			log_warn("%s cannot be deleted: %s", path, strerror(errno));
	}
	run_incident__free(&o->rest);
}
