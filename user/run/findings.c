// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "confine/reading.h"
#include "dump/base/manifest.h"
#include "run/findings.h"
#include "run/findings_json.h"
#include "run/hot_stacks.h"
#include "run/incident_why.h"
#include "run/outcome.h"

#define SECONDS_MAX 60 /* of CPU time, for the process that reads the dumps */

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
	log_warn("the reports lack findings of the dumps: %s", o->unread);
}
