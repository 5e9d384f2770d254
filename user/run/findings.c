// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/kernel_names.h"
#include "common/json_text.h"
#include "common/log.h"
#include "confine/reading.h"
#include "dump/base/manifest.h"
#include "run/findings.h"
#include "run/hot_stacks.h"
#include "run/incident_why.h"
#include "run/outcome.h"

#define SECONDS_MAX 60 /* of CPU time, for the process that reads the dumps */

/* hot_stacks.c and why_json__verdict() make no more than these */
#define TABLES_MAX  4096
#define STACKS_MAX  64
#define FRAMES_MAX  1024
#define VERDICT_MAX 16384 /* bytes of JSON */

#define WHOLE ((size_t)-1)

/* ---- to JSON ---- */

static json_t *frame_json(const struct run_frame *f)
{
	return json_pack("{s:o, s:o, s:b}", "symbol", json_text_or_null(f->symbol), "module",
			 json_text(f->module, WHOLE), "kernel", f->kernel);
}

static json_t *stack_json(const struct run_stack *s)
{
	json_t *frames = json_array();

	for (size_t i = 0; i < s->n_frames; i++)
		json_array_append_new(frames, frame_json(&s->frames[i]));
	return json_pack("{s:f, s:f, s:b, s:s, s:o, s:o}", "here", s->here, "rest", s->rest,
			 "noise", s->noise, "state", s->state, "comm",
			 json_text(s->comm, sizeof(s->comm)), "frames", frames);
}

static json_t *table_json(const struct run_stack_table *t)
{
	json_t *stacks = json_array();

	for (size_t i = 0; i < t->n; i++)
		json_array_append_new(stacks, stack_json(&t->v[i]));
	return json_pack("{s:o, s:o, s:I, s:I, s:o}", "session", json_text(t->session, WHOLE),
			 "event", json_text_or_null(t->event), "here", (json_int_t)t->here, "rest",
			 (json_int_t)t->rest, "stacks", stacks);
}

json_t *findings__json(const struct outcome *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->n_incidents; i++) {
		const struct run_incident *inc = &o->incidents[i];
		json_t *tables = json_array();

		for (size_t k = 0; k < inc->n_tables; k++)
			json_array_append_new(tables, table_json(&inc->tables[k]));
		json_array_append_new(list, json_pack("{s:o, s:o, s:O?, s:O?}", "tables", tables,
						      "why", json_text_or_null(inc->why), "verdict",
						      inc->verdict, "kernel_symbols",
						      inc->kernel_symbols));
	}
	return list;
}

/* ---- from JSON ---- */

/* A copy of a text, which may be missing if @optional. */
static int take_json_text(const json_t *o, const char *key, bool optional, char **ret)
{
	const json_t *v = json_object_get(o, key);

	if (optional && json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return -EBADMSG;
	*ret = strdup(json_string_value(v));
	return *ret ? 0 : -ENOMEM;
}

static int take_short(const json_t *o, const char *key, char *ret, size_t size)
{
	const char *v = json_string_value(json_object_get(o, key));

	if (!v)
		return -EBADMSG;
	snprintf(ret, size, "%s", v);
	return 0;
}

/* The list @key with at most @max entries; NULL: there is none. */
static const json_t *json_list_of(const json_t *o, const char *key, size_t max)
{
	const json_t *list = json_object_get(o, key);

	return json_is_array(list) && json_array_size(list) <= max ? list : NULL;
}

static int take_json_frames(const json_t *o, struct run_stack *to)
{
	const json_t *list = json_list_of(o, "frames", FRAMES_MAX), *v;
	int err = list ? 0 : -EBADMSG;
	size_t i;

	to->frames = calloc(json_array_size(list) ?: 1, sizeof(*to->frames));
	if (!to->frames)
		return -ENOMEM;
	json_array_foreach (list, i, v) {
		struct run_frame *f = &to->frames[i];

		if (err)
			break;
		to->n_frames++;
		f->kernel = json_is_true(json_object_get(v, "kernel"));
		err = take_json_text(v, "symbol", true, &f->symbol)
			      ?: take_json_text(v, "module", false, &f->module);
	}
	return err;
}

static double json_percent(const json_t *o, const char *key)
{
	double v = json_number_value(json_object_get(o, key));

	return v > 0 && v <= 100 ? v : 0;
}

static int take_stack(const json_t *o, struct run_stack *to)
{
	to->here = json_percent(o, "here");
	to->rest = json_percent(o, "rest");
	to->noise = json_is_true(json_object_get(o, "noise"));
	return take_short(o, "state", to->state, sizeof(to->state)) ?:
		       take_short(o, "comm", to->comm, sizeof(to->comm)) ?: take_json_frames(o, to);
}

static uint64_t json_number_of(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? v : 0;
}

static bool incident_has_session(const struct run_incident *inc, const char *name)
{
	for (size_t i = 0; name && i < inc->n_files; i++)
		if (!strcmp(inc->files[i].session, name))
			return true;
	return false;
}

static int take_table(const json_t *o, const struct run_incident *inc, struct run_stack_table *to)
{
	const json_t *list = json_list_of(o, "stacks", STACKS_MAX), *v;
	int err = list ? take_json_text(o, "session", false, &to->session) : -EBADMSG;
	size_t i;

	if (!incident_has_session(inc, to->session))
		err = err ?: -EBADMSG;
	err = err ?: take_json_text(o, "event", true, &to->event);
	to->here = json_number_of(o, "here");
	to->rest = json_number_of(o, "rest");
	to->v = err ? NULL : calloc(json_array_size(list) ?: 1, sizeof(*to->v));
	if (!to->v)
		return err ?: -ENOMEM;
	json_array_foreach (list, i, v) {
		if (err)
			break;
		to->n++;
		err = take_stack(v, &to->v[i]);
	}
	return err;
}

static int take_tables(const json_t *o, struct run_incident *inc)
{
	const json_t *list = json_list_of(o, "tables", TABLES_MAX), *v;
	int err = list ? 0 : -EBADMSG;
	size_t i;

	inc->tables = calloc(json_array_size(list) ?: 1, sizeof(*inc->tables));
	if (!inc->tables)
		return -ENOMEM;
	json_array_foreach (list, i, v) {
		if (err)
			break;
		inc->n_tables++;
		err = take_table(v, inc, &inc->tables[i]);
	}
	return err;
}

static int take_why_verdict(const json_t *o, struct run_incident *inc)
{
	json_t *v = json_object_get(o, "verdict");

	if (json_is_null(v))
		return 0;
	if (!json_is_object(v) || json_dumpb(v, NULL, 0, JSON_COMPACT) > VERDICT_MAX)
		return -EBADMSG;
	inc->verdict = json_incref(v);
	return 0;
}

static int take_kernel_symbols(const json_t *o, struct run_incident *inc)
{
	json_t *v = json_object_get(o, "kernel_symbols");

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_array(v) || json_dumpb(v, NULL, 0, JSON_COMPACT) > 2 * KERNEL_NAMES_MAX)
		return -EBADMSG;
	inc->kernel_symbols = json_incref(v);
	return 0;
}

int findings__take(const json_t *j, struct outcome *o)
{
	const json_t *v;
	size_t i;
	int err = json_is_array(j) && json_array_size(j) == o->n_incidents ? 0 : -EBADMSG;

	if (err)
		return err;
	json_array_foreach (j, i, v) {
		struct run_incident *inc = &o->incidents[i];

		err = err ?: take_tables(v, inc) ?: take_json_text(v, "why", true, &inc->why);
		err = err ?: take_why_verdict(v, inc) ?: take_kernel_symbols(v, inc);
	}
	return err;
}

/* ---- reading the dumps ---- */

struct finding {
	struct outcome *o;
	struct incident_question *questions; /* owned */
	size_t n;
};

/* Runs in the process that can only read: fill its copy of the outcome, and return the findings. */
static json_t *find_result_json(void *arg)
{
	const struct finding *f = arg;

	hot_stacks__find(f->o);
	incident_why__find(f->o, f->questions, f->n);
	incident_symbols__find(f->o, f->questions, f->n);
	return findings__json(f->o);
}

static void note_verdicts(const struct outcome *o, const struct base_dir *base)
{
	for (size_t i = 0; i < o->n_incidents; i++) {
		const struct run_incident *inc = &o->incidents[i];
		struct err err = { 0 };
		int code = 0;

		if (inc->verdict)
			code = manifest__set_why(base, inc->name, inc->verdict, &err);
		if (!code && inc->kernel_symbols)
			code = manifest__set_kernel_symbols(base, inc->name, inc->kernel_symbols,
							    &err);
		if (code && err.msg[0])
			log_warn("incident %s: cannot add the verdict to its manifest: %s",
				 inc->name, err.msg);
	}
}

static bool has_findings(const struct outcome *o)
{
	const struct run_incident *worst;

	for (size_t i = 0; i < o->n_rules; i++)
		if (outcome__worst(o, i, &worst))
			return true;
	return false;
}

void findings__find(struct outcome *o, const struct base_dir *base)
{
	struct finding f = { .o = o };
	struct err err = { 0 };
	json_t *j = NULL;
	int code;

	if (!has_findings(o))
		return;
	f.questions = calloc(o->n_incidents ?: 1, sizeof(*f.questions));
	if (f.questions)
		f.n = incident_why__prepare(o, base, f.questions);
	code = reading__run(find_result_json, &f, SECONDS_MAX, -1, &err, &j);
	if (!code && findings__take(j, o))
		code = err_set(&err, -EBADMSG,
			       "the process that read the recording sent a malformed result");
	json_decref(j);
	free(f.questions);
	note_verdicts(o, base);
	if (!code)
		return;
	snprintf(o->unread, sizeof(o->unread), "%.250s", err.msg[0] ? err.msg : "out of memory");
	log_warn("the reports say nothing about the dumps: %s", o->unread);
}
