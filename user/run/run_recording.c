// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/printable.h"
#include "daemon/bring_up.h"
#include "examine/examiner.h"
#include "rules/units.h"
#include "run/run_recording.h"

/* The reason of a dump that no rule caused */
#define LAST_WINDOW_REASON "the last window of the run"

struct recording {
	struct recording_opts opts;
	struct bring_up bring_up;
	size_t n_own;
	size_t *values; /* see struct run_rules; owned */
	uint64_t started;
	bool rest_only; /* the dump by hand is only for comparison */
};

/* ---- copies of incidents in the outcome, which outlives them ---- */

static struct run_incident *find_run_incident(const struct outcome *o, uint64_t number)
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
				.end = res->end,
				.since = res->complete > res->start ? res->complete : res->start };
	if (res->error)
		f->error = strdup(res->error_text);
	else if (asprintf(&f->path, "%s/session-%s/%s", base, res->session->name, res->file) < 0)
		f->path = NULL;
	return f->session && (f->path || f->error) ? 0 : -ENOMEM;
}

static void take_run_trigger(struct run_incident *to, const struct incident *inc,
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

/*
 * Note the files of @inc as outcome.rest: they are only for comparison, not an incident of the run.
 * 0 or -ENOMEM.
 */
static int take_rest_files(struct outcome *o, const struct incident *inc, const char *base)
{
	int err = 0;

	o->rest.last = true;
	for (size_t i = 0; !err && i < INCIDENT_SESSIONS_MAX; i++) {
		if (inc->results[i].session)
			err = take_dump_file(&o->rest, &inc->results[i], base);
	}
	return err;
}

/*
 * Note @inc, whose files are complete. Call it again when more triggers were merged into it. @base:
 * the path with its files. 0 or -ENOMEM.
 */
static int take_incident(struct outcome *o, const struct incident *inc, const char *base)
{
	size_t n_merged = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);
	struct run_incident *to = find_run_incident(o, inc->number);
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
		take_run_trigger(to, inc, &inc->triggers[i], false);
	for (size_t i = 0; i < n_merged; i++)
		take_run_trigger(to, inc, &inc->merged[i], true);
	to->more_triggers = inc->more_merged;
	return err;
}

/* Log what fired incident @number, and which files were not written. */
static void log_incident_note(const struct outcome *o, uint64_t number)
{
	const struct run_incident *inc = find_run_incident(o, number);
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

/* ---- life ---- */

static int put_in_force(struct recording *r, struct run_rules *rules, struct err *err)
{
	struct active_set_env env = { .dump = &r->bring_up.dump_env,
				      .target = &r->opts.target->record };
	struct active_set *g;
	int code;

	recorder__dumper_callback(r->bring_up.recorder, &env.done, &env.done_arg);
	code = active_set__make(rules->rs, rules->plan, NULL, &env, err, &g);
	if (code)
		return code;
	rules->rs = NULL; /* now owned by the active set */
	return recorder__put_in_force(r->bring_up.recorder, g, err);
}

static int describe_sessions(struct recording *r, struct err *err)
{
	const struct active_set *g = recorder__active_set(r->bring_up.recorder);
	struct outcome *o = r->opts.outcome;

	o->sessions = calloc(g->n_dumpers ?: 1, sizeof(*o->sessions));
	for (size_t i = 0; o->sessions && i < g->n_dumpers; i++) {
		const struct session *s = g->dumpers[i]->session;
		struct run_session *to = &o->sessions[o->n_sessions++];

		to->name = strdup(s->name);
		to->run = strdup(s->run);
		if (!to->name || !to->run)
			return err_set(err, -ENOMEM, "out of memory");
		memcpy(to->notice, s->notice, sizeof(to->notice));
	}
	return o->sessions ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int describe_outcome_rules(struct recording *r, struct err *err)
{
	const struct ruleset *rs = recorder__active_set(r->bring_up.recorder)->rules;
	struct outcome *o = r->opts.outcome;

	o->rules = calloc(r->n_own ?: 1, sizeof(*o->rules));
	for (size_t i = 0; o->rules && i < r->n_own; i++) {
		const struct rule_conf *rule = &rs->rules[i];
		struct run_rule *to = &o->rules[o->n_rules++];

		to->name = strdup(rule->name);
		to->when = strdup(rule->when_text);
		to->condition = rule->if_text ? strdup(rule->if_text) : NULL;
		to->quiet = rule->quiet;
		to->is_event = rule->when.fails || rule->when.hit;
		to->threshold = when__limit(&rule->when);
		if (!to->name || !to->when || (rule->if_text && !to->condition))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return o->rules ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int run_recording__open(const struct recording_opts *opts, struct run_rules *rules, struct err *err,
			struct recording **ret)
{
	struct bring_up_opts up = {
		.base = opts->base,
		.tracefs = opts->tracefs,
		.examiner = opts->examiner,
		.program = "frbpf run",
		.app_path = opts->app->path,
		.app_dir_fd = opts->app->dir_fd,
	};
	struct recording *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->opts = *opts;
	r->n_own = rules->n_own;
	r->values = TAKE_PTR(rules->values);
	if (opts->examiner)
		examiner__resume(opts->examiner);
	heap__begin_load();
	code = bring_up__open(&up, &rules->rs->daemon, err, &r->bring_up);
	code = code ?: run_target__confine(opts->target, r->bring_up.detectors, err);
	code = code ?: put_in_force(r, rules, err);
	code = code ?: describe_sessions(r, err);
	code = code ?: describe_outcome_rules(r, err);
	if (code) {
		run_recording__free(r);
		return code;
	}
	r->started = now_ns();
	opts->outcome->realtime = clock_ns(CLOCK_REALTIME);
	opts->outcome->recorded = true;
	*ret = r;
	return 0;
}

static bool on_run_incident(struct incident *inc, bool first, void *arg)
{
	struct recording *r = arg;
	int code;

	bring_up__name_incident(&r->bring_up, inc);
	if (inc->manual && r->rest_only) {
		base_dir__drop_draft(r->opts.base, inc->name);
		if (first && take_rest_files(r->opts.outcome, inc, r->opts.base->path))
			log_warn("incidents are not compared with the rest of the run: out of "
				 "memory");
		return true;
	}
	code = bring_up__save_incident(&r->bring_up, inc);
	if (take_incident(r->opts.outcome, inc, r->opts.base->path))
		log_error("incident %s is not in the summary: out of memory", inc->name);
	else if (first)
		log_incident_note(r->opts.outcome, inc->number);
	return code == 0;
}

int run_recording__fd(const struct recording *r)
{
	return recorder__fd(r->bring_up.recorder);
}

int run_recording__keys_fd(const struct recording *r)
{
	return detectors__keys_fd(r->bring_up.detectors);
}

int run_recording__cpus_fd(const struct recording *r)
{
	return bring_up__cpus_fd(&r->bring_up);
}

uint64_t run_recording__step(struct recording *r)
{
	uint64_t wait, keys;

	bring_up__follow_cpus(&r->bring_up);
	wait = recorder__collect(r->bring_up.recorder, on_run_incident, r);
	followed_log__step(r->bring_up.followed);
	keys = detectors__step_keys(r->bring_up.detectors);
	return keys < wait ? keys : wait;
}

/* Read the counters of the rules. They still exist, although the programs are detached. */
static void read_rule_states(struct recording *r)
{
	const struct active_set *g = recorder__active_set(r->bring_up.recorder);
	struct outcome *o = r->opts.outcome;
	struct frbpf_rule_state st;

	for (size_t i = 0; i < o->n_rules; i++) {
		struct run_rule *rule = &o->rules[i];

		if (detectors__rule_state(r->bring_up.detectors, g->slots[i], &rule->state))
			log_error("the counters of rule '%s' cannot be read", rule->name);
		rule->matches = histogram__of(&rule->state);
		if (r->values[i] == SIZE_MAX ||
		    detectors__rule_state(r->bring_up.detectors, g->slots[r->values[i]], &st))
			continue;
		rule->has_values = true;
		rule->values = histogram__of(&st);
	}
}

/* Save the last window, as a dump of its own or to compare incidents with. */
static void dump_last(struct recording *r, bool last)
{
	uint64_t all = active_set__all_sessions(recorder__active_set(r->bring_up.recorder));

	r->rest_only = !last;
	if (recorder__dump(r->bring_up.recorder, all, LAST_WINDOW_REASON) < 0 && last)
		log_warn("too many dumps are in progress: that of the last window is skipped");
}

/* Number of files missing only for the comparison, which do not count as failures. */
static uint64_t failed_rest(const struct outcome *o)
{
	uint64_t n = 0;

	for (size_t i = 0; i < o->rest.n_files; i++)
		n += o->rest.files[i].error != NULL;
	return n;
}

static void log_contradicted(const struct outcome *o)
{
	for (size_t i = 0; i < o->n_rules; i++) {
		const struct run_rule *rule = &o->rules[i];

		if (rule->contradicted)
			log_warn("rule %s: %llu of the %llu times it fired are contradicted by the "
				 "recording and do not count",
				 rule->name, (unsigned long long)rule->contradicted,
				 (unsigned long long)rule->state.fired);
	}
}

void run_recording__finish(struct recording *r, bool last)
{
	struct outcome *o = r->opts.outcome;
	struct detectors_stats detectors;
	struct recorder_stats recorder;
	struct err err = { 0 };

	o->wall_ns = now_ns() - r->started;
	detectors__stats(r->bring_up.detectors, &detectors);
	if (detectors__update(r->bring_up.detectors, NULL, 0, NULL, &err))
		log_error("rules cannot be detached: %s", err.msg);
	recorder__sync(r->bring_up.recorder);
	recorder__stats(r->bring_up.recorder, &recorder);
	if (last || recorder.incidents)
		dump_last(r, last);
	recorder__drain(r->bring_up.recorder, on_run_incident, r);
	followed_log__step(r->bring_up.followed);
	suppressed_log__finish(r->bring_up.suppressed);
	read_rule_states(r);
	outcome__count_contradicted(o);
	log_contradicted(o);
	recorder__stats(r->bring_up.recorder, &recorder);
	o->lost_triggers = recorder.busy;
	o->failed_files = recorder.failed - failed_rest(o);
	o->unseen = detectors.unmeasured;
}

void run_recording__free(struct recording *r)
{
	if (!r)
		return;
	bring_up__free(&r->bring_up);
	free(r->values);
	free(r);
}
