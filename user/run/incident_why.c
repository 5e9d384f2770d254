// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_incident.h"
#include "analyse/why/why_text.h"
#include "common/log.h"
#include "dump/base/manifest.h"
#include "rules/units.h"
#include "run/incident_why.h"

/* Reads the manifest only. */
static int tell_question(json_t *manifest, void *q)
{
	why_incident__tell(manifest, q);
	return 0;
}

static bool is_listed(const struct incident_question *v, size_t n, const struct run_incident *inc)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].inc == inc)
			return true;
	return false;
}

size_t incident_why__prepare(struct outcome *o, const struct base_dir *base,
			     struct incident_question ret[static INCIDENT_WHY_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_rules && n < INCIDENT_WHY_MAX; i++) {
		const struct run_incident *worst = NULL;
		const struct run_trigger *t = outcome__worst(o, i, &worst);
		struct incident_question *k = &ret[n];
		struct err err = { 0 };

		if (!t || !t->tid || t->value > t->time || is_listed(ret, n, worst))
			continue;
		k->inc = &o->incidents[worst - o->incidents];
		k->q = (struct why_question){ .tid = t->tid,
					      .to = t->time,
					      .from = t->value ? t->time - t->value : UINT64_MAX };
		/* on failure, events alone answer */
		manifest__edit(base, worst->name, tell_question, &k->q, &err);
		n++;
	}
	return n;
}

static int ask_why(const struct outcome *o, const struct incident_question *k, struct why *w)
{
	const struct run_incident *inc = k->inc;
	struct err err = { 0 };
	char path[PATH_MAX];
	int code = 0;

	for (size_t i = 0; i < inc->n_files && !code; i++)
		if (inc->files[i].path)
			code = why__add_file(w, outcome__held_path(o, inc->files[i].path, path),
					     &err);
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
	for (size_t i = 0; i < n; i++) {
		struct why *w;

		if (why__new(&w))
			return;
		if (!ask_why(o, &v[i], w) && note_verdict(v[i].inc, w))
			log_warn("incident %s: out of memory, it is not explained", v[i].inc->name);
		why__free(w);
	}
}
