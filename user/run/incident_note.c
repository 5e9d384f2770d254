// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/printable.h"
#include "daemon/active_set.h"
#include "rules/units.h"
#include "run/incident_note.h"

static struct run_incident *find_incident(const struct outcome *o, uint64_t number)
{
	for (size_t i = 0; i < o->n_incidents; i++) {
		if (o->incidents[i].number == number)
			return &o->incidents[i];
	}
	return NULL;
}

static struct run_incident *note_incident(struct outcome *o, const struct incident *inc)
{
	struct run_incident *v, *new;

	v = reallocarray(o->incidents, o->n_incidents + 1, sizeof(*v));
	if (!v)
		return NULL;
	o->incidents = v;
	new = &v[o->n_incidents++];
	*new = (struct run_incident){ .number = inc->number, .last = inc->manual };
	snprintf(new->name, sizeof(new->name), "%s", inc->name);
	return new;
}

static int take_dump_file(struct run_incident *to, const struct dump_result *res, const char *base)
{
	struct run_file *v = reallocarray(to->files, to->n_files + 1, sizeof(*v)), *f;

	if (!v)
		return -ENOMEM;
	to->files = v;
	f = &v[to->n_files++];
	*f = (struct run_file){ .session = strdup(res->session->name),
				.start = res->start,
				.end = res->end };
	if (res->error)
		f->error = strdup(res->error_text);
	else if (asprintf(&f->path, "%s/session-%s/%s", base, res->session->name, res->file) < 0)
		f->path = NULL;
	return f->session && (f->path || f->error) ? 0 : -ENOMEM;
}

static void take_trigger(struct run_incident *to, const struct incident *inc,
			 const struct incident_trigger *it, bool merged)
{
	const struct frbpf_trigger *t = &it->t;
	struct run_trigger *r;

	if (!it->rule) /* requested by hand */
		return;
	r = &to->triggers[to->n_triggers++];
	*r = (struct run_trigger){
		.rule = it->rule - inc->active->rules->rules,
		.time = t->time,
		.value = t->value,
		.threshold = t->threshold,
		.pid = t->subject.pid,
		.tid = t->subject.tid,
		.merged = merged,
		.contradicted = it->contradicted != 0,
	};
	memcpy(r->comm, t->subject.comm, FRBPF_COMM_LEN);
	memcpy(r->process, t->subject.process, FRBPF_COMM_LEN);
}

int incident_note__take_rest(struct outcome *o, const struct incident *inc, const char *base)
{
	int err = 0;

	o->rest.last = true;
	for (size_t i = 0; !err && i < INCIDENT_SESSIONS_MAX; i++) {
		if (inc->results[i].session)
			err = take_dump_file(&o->rest, &inc->results[i], base);
	}
	return err;
}

int incident_note__take(struct outcome *o, const struct incident *inc, const char *base)
{
	size_t n_merged = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);
	struct run_incident *to = find_incident(o, inc->number);
	bool first = !to;
	int err = 0;

	to = to ?: note_incident(o, inc);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; first && !err && i < INCIDENT_SESSIONS_MAX; i++) {
		if (inc->results[i].session)
			err = take_dump_file(to, &inc->results[i], base);
	}
	free(to->triggers);
	to->n_triggers = 0;
	to->triggers = calloc(inc->n_triggers + n_merged + 1, sizeof(*to->triggers));
	if (!to->triggers)
		return -ENOMEM;
	for (size_t i = 0; i < inc->n_triggers; i++)
		take_trigger(to, inc, &inc->triggers[i], false);
	for (size_t i = 0; i < n_merged; i++)
		take_trigger(to, inc, &inc->merged[i], true);
	to->more_triggers = inc->more_merged;
	return err;
}

void incident_note__log(const struct outcome *o, uint64_t number)
{
	const struct run_incident *inc = find_incident(o, number);
	char value[32], comm[FRBPF_COMM_LEN + 1];

	if (inc->n_triggers) {
		const struct run_trigger *t = &inc->triggers[0];
		const struct run_rule *rule = &o->rules[t->rule];

		snprintf(comm, sizeof(comm), "%s", t->comm);
		units__format_duration(t->value, value, sizeof(value));
		log_info("rule %s fired%s: %s: %s%s%s (pid %u, tid %u), incident %s", rule->name,
			 t->contradicted ? ", but the recording contradicts it" : "", rule->when,
			 rule->is_event ? "" : value, rule->is_event ? "" : " by ",
			 make_printable(comm), t->pid, t->tid, inc->name);
	}
	for (size_t i = 0; i < inc->n_files; i++) {
		if (inc->files[i].error)
			log_error("incident %s: session '%s' has no file: %s", inc->name,
				  inc->files[i].session, inc->files[i].error);
	}
}
