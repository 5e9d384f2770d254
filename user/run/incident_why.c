// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "analyse/kernel_names.h"
#include "analyse/why/why_incident.h"
#include "analyse/why/why_text.h"
#include "common/clock.h"
#include "common/log.h"
#include "dump/base/manifest.h"
#include "rules/units.h"
#include "run/incident_why.h"

/* CPU time, ns, after which no further incident is asked about; half the limit of the process */
#define WHY_CPU_NS  (30 * NSEC_PER_SEC)
#define SYMBOLS_MAX 100 /* incidents that get kernel symbols: at most 12 MB */

/* Fill in the question @q from the manifest, which stays unchanged. */
static int read_question(json_t *manifest, void *q)
{
	why_incident__fill_question(manifest, q);
	return 0;
}

static bool incident_is_listed(const struct incident_question *v, size_t n,
			       const struct run_incident *inc)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].inc == inc)
			return true;
	return false;
}

/*
 * Add @inc to the @n questions @v, unless it is there, or its trigger @t cannot be explained.
 * Returns the new number.
 */
static size_t question_add(struct incident_question *v, size_t n, struct run_incident *inc,
			   const struct run_trigger *t, const struct base_dir *base)
{
	struct incident_question *k = &v[n];
	struct err err = { 0 };

	if (!t->tid || t->value > t->time || incident_is_listed(v, n, inc))
		return n;
	k->inc = inc;
	k->q = (struct why_question){ .tid = t->tid,
				      .to = t->time,
				      .from = t->value ? t->time - t->value : UINT64_MAX };
	/* if this fails, the question has only what the trigger says */
	manifest__edit(base, inc->name, read_question, &k->q, &err);
	return n + 1;
}

size_t incident_why__prepare(struct outcome *o, const struct base_dir *base,
			     struct incident_question *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_rules; i++) {
		const struct run_incident *worst = NULL;
		const struct run_trigger *t = outcome__worst(o, i, &worst);

		if (t)
			n = question_add(ret, n, &o->incidents[worst - o->incidents], t, base);
	}
	for (size_t i = 0; i < o->n_incidents; i++)
		if (o->incidents[i].n_triggers)
			n = question_add(ret, n, &o->incidents[i], &o->incidents[i].triggers[0],
					 base);
	return n;
}

static bool has_time_left(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) < WHY_CPU_NS;
}

static int explain_incident(const struct outcome *o, const struct incident_question *k,
			    struct why *w)
{
	const struct run_incident *inc = k->inc;
	struct err err = { 0 };
	char path[PATH_MAX];
	int code = 0;

	for (size_t i = 0; i < inc->n_files && !code; i++)
		if (inc->files[i].path)
			code = why__add_file(w, outcome__fd_path(o, inc->files[i].path, path),
					     inc->files[i].since, &err);
	return code ?: why__ask(w, &k->q, &err);
}

/* Set the sentence, and the whole verdict. */
static int note_verdict(struct run_incident *inc, const struct why *w)
{
	struct why_verdict v = { 0 };
	int err = why_verdict__make(&v, w, units__format_duration);

	if (!err) {
		inc->why = strdup(v.text.data);
		inc->verdict = why_json__verdict(&v);
		err = inc->why && inc->verdict ? 0 : -ENOMEM;
	}
	why_verdict__free(&v);
	return err;
}

void incident_why__find(const struct outcome *o, const struct incident_question *v, size_t n)
{
	for (size_t i = 0; i < n && has_time_left(); i++) {
		struct why *w;

		if (why__new(&w))
			return;
		if (!explain_incident(o, &v[i], w) && note_verdict(v[i].inc, w))
			log_warn("incident %s: out of memory, it is not explained", v[i].inc->name);
		why__free(w);
	}
}

static json_t *incident_symbols(const struct outcome *o, const struct run_incident *inc)
{
	struct kernel_names *names = NULL;
	struct err err = { 0 };
	char path[PATH_MAX];
	json_t *ret = NULL;
	int code = kernel_names__new(&names);

	for (size_t i = 0; i < inc->n_files && !code; i++)
		if (inc->files[i].path)
			code = kernel_names__add_file(
				names, outcome__fd_path(o, inc->files[i].path, path), &err);
	if (!code)
		ret = kernel_names__lines(names);
	kernel_names__free(names);
	return ret;
}

void incident_symbols__find(const struct outcome *o, const struct incident_question *v, size_t n)
{
	for (size_t i = 0; i < n && i < SYMBOLS_MAX && has_time_left(); i++)
		if (v[i].inc->verdict)
			v[i].inc->kernel_symbols = incident_symbols(o, v[i].inc);
}
