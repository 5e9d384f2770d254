// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_incident.h"
#include "analyse/why/why_text.h"
#include "common/log.h"
#include "dump/base/manifest.h"
#include "rules/units.h"
#include "run/incident_why.h"

#define INCIDENTS_MAX 10 /* incidents asked about */

/* Reads the manifest only. */
static int tell_question(json_t *manifest, void *q)
{
	why_incident__tell(manifest, q);
	return 0;
}

static int ask_why(const struct outcome *o, const struct run_incident *inc,
		   const struct run_trigger *t, const struct base_dir *base, struct err *err,
		   struct why *w)
{
	struct why_question q = { .tid = t->tid, .to = t->time, .from = t->time - t->value };
	char path[PATH_MAX];
	int code = 0;

	if (!t->tid || t->value > t->time)
		return -ENODATA;
	if (!t->value)
		q.from = UINT64_MAX;
	/* on failure, events alone answer */
	manifest__edit(base, inc->name, tell_question, &q, err);
	err->msg[0] = '\0';
	for (size_t i = 0; i < inc->n_files && !code; i++)
		if (inc->files[i].path)
			code = why__add_file(w, outcome__held_path(o, inc->files[i].path, path),
					     err);
	return code ?: why__ask(w, &q, err);
}

/* Set the sentence, and the whole verdict. */
static int note_verdict(struct run_incident *inc, const struct why *w)
{
	struct why_verdict v = { 0 };
	int code = why_verdict__make(&v, w, units__format_duration);

	if (!code) {
		inc->why = strdup(v.text.data);
		inc->verdict = why_json__verdict(&v);
		code = inc->why && inc->verdict ? 0 : -ENOMEM;
	}
	why_verdict__free(&v);
	return code;
}

void incident_why__find(struct outcome *o, const struct base_dir *base)
{
	size_t asked = 0;

	for (size_t i = 0; i < o->n_rules && asked < INCIDENTS_MAX; i++) {
		const struct run_incident *worst = NULL;
		const struct run_trigger *t = outcome__worst(o, i, &worst);
		struct err err = { 0 };
		struct why *w;

		if (!t || worst->why)
			continue;
		asked++;
		if (why__new(&w))
			return;
		if (!ask_why(o, worst, t, base, &err, w) &&
		    note_verdict(&o->incidents[worst - o->incidents], w))
			log_warn("incident %s: out of memory, it is not explained", worst->name);
		why__free(w);
	}
}
