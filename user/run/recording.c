// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "daemon/held_log.h"
#include "daemon/location.h"
#include "daemon/recorder.h"
#include "dump/rings/horizon.h"
#include "dump/base/manifest.h"
#include "dump/tracing_parts.h"
#include "examine/examiner.h"
#include "run/incident_note.h"
#include "run/recording.h"

/* As the daemon's. */
#define RT_PRIORITY_TRIGGER  50
#define RT_PRIORITY_SIDEBAND (RT_PRIORITY_TRIGGER - 1)

struct recording {
	struct recording_opts opts;
	struct examiner *examiner;
	struct host_info *host;
	struct perfdata_tracing tracing;
	struct sideband *sideband;
	struct detectors *detectors;
	struct recorder *recorder;
	struct held_log *held;
	struct horizon *horizon;
	struct dump_env dump_env;
	size_t n_own;
	size_t *values; /* see struct run_rules; owned */
	uint64_t started;
	bool rest_only; /* a dump by hand is there to be compared with alone */
};

/* Sessions open an fd per event, CPU and thread. The command was forked before. */
static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

static void own_helpers(const pid_t *pids, size_t n, void *arg)
{
	detectors__own_helpers(arg, pids, n);
}

static int open_parts(struct recording *r, const struct ruleset *rs, struct err *err)
{
	struct sideband_opts sideband = {
		.memory = rs->daemon.sideband_memory,
		.all = rs->daemon.sideband_all,
		.rt_priority = RT_PRIORITY_SIDEBAND,
		.examiner = r->examiner,
	};
	struct recorder_opts recorder = { .rt_priority = RT_PRIORITY_TRIGGER,
					  .examiner = r->examiner };
	int code = host_info__collect(err, &r->host);

	if (!code && r->opts.tracefs)
		code = tracing_parts__read(r->opts.tracefs, &r->tracing, err);
	code = code ?: sideband__open(&sideband, err, &r->sideband);
	code = code ?: sideband__scan(r->sideband, err);
	code = code ?: sideband__start(r->sideband, err);
	code = code ?: detectors__open(err, &r->detectors);
	if (code)
		return code;
	detectors__set_app_path(r->detectors, r->opts.app->path, r->opts.app->dir_fd);
	code = run_target__confine(r->opts.target, r->detectors, err);
	recorder.detectors = r->detectors;
	if (r->examiner)
		examiner__follow(r->examiner, own_helpers, r->detectors);
	code = code ?: recorder__new(&recorder, err, &r->recorder);
	if (code)
		return code;
	r->held = held_log__new(r->opts.base, r->recorder, r->detectors);
	return r->held ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int put_in_force(struct recording *r, struct run_rules *rules, struct err *err)
{
	struct generation_env env = { .dump = &r->dump_env, .target = &r->opts.target->record };
	struct generation *g;
	int code;

	recorder__dumper_callback(r->recorder, &env.done, &env.done_arg);
	code = generation__make(rules->rs, rules->plan, NULL, &env, err, &g);
	if (code)
		return code;
	rules->rs = NULL; /* the generation's */
	return recorder__put_in_force(r->recorder, g, err);
}

static int describe_sessions(struct recording *r, struct err *err)
{
	const struct generation *g = recorder__generation(r->recorder);
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

static int describe_rules(struct recording *r, struct err *err)
{
	const struct ruleset *rs = recorder__generation(r->recorder)->rules;
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
		to->threshold = rule->when.threshold;
		if (!to->name || !to->when || (rule->if_text && !to->condition))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return o->rules ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int recording__open(const struct recording_opts *opts, struct run_rules *rules, struct err *err,
		    struct recording **ret)
{
	struct recording *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->opts = *opts;
	r->n_own = rules->n_own;
	r->values = TAKE_PTR(rules->values);
	raise_fd_limit();
	r->examiner = opts->examiner;
	if (r->examiner)
		examiner__resume(r->examiner);
	code = open_parts(r, rules->rs, err);
	if (!code && horizon__new(&r->horizon))
		code = err_set(err, -ENOMEM, "out of memory");
	r->dump_env = (struct dump_env){
		.base = opts->base,
		.sideband = r->sideband,
		.host = r->host,
		.tracing = &r->tracing,
		.program = "frbpf run",
		.horizon = r->horizon,
	};
	code = code ?: put_in_force(r, rules, err);
	code = code ?: describe_sessions(r, err);
	code = code ?: describe_rules(r, err);
	if (code) {
		recording__free(r);
		return code;
	}
	r->started = now_ns();
	opts->outcome->realtime = clock_ns(CLOCK_REALTIME);
	opts->outcome->recorded = true;
	*ret = r;
	return 0;
}

static bool on_incident(struct incident *inc, bool first, void *arg)
{
	struct recording *r = arg;
	struct err err = { 0 };
	int code;

	if (!inc->name[0]) /* every session failed before it had a name */
		base_dir__reserve_name(r->opts.base, inc->freeze.frozen + inc->realtime_offset,
				       inc->name);
	if (r->opts.discard || (inc->manual && r->rest_only)) {
		base_dir__drop_draft(r->opts.base, inc->name);
		if (first && incident_note__take_rest(r->opts.outcome, inc, r->opts.base->path))
			log_warn("incidents are not compared with the rest of the run: out of "
				 "memory");
		return true;
	}
	code = manifest__write(r->opts.base, inc, host_info__hostname(r->host), &err);
	if (code)
		log_error("%s", err.msg);
	held_log__incident(r->held, inc);
	detectors__tidy(r->detectors);
	if (incident_note__take(r->opts.outcome, inc, r->opts.base->path))
		log_error("incident %s is not in the summary: out of memory", inc->name);
	else if (first)
		incident_note__log(r->opts.outcome, inc->number);
	return code == 0;
}

int recording__fd(const struct recording *r)
{
	return recorder__fd(r->recorder);
}

int recording__keys_fd(const struct recording *r)
{
	return detectors__keys_fd(r->detectors);
}

uint64_t recording__step(struct recording *r)
{
	uint64_t wait = recorder__collect(r->recorder, on_incident, r);
	uint64_t keys = detectors__step_keys(r->detectors);

	return keys < wait ? keys : wait;
}

/* The programs are detached, their counters are still there. */
static void read_states(struct recording *r)
{
	const struct generation *g = recorder__generation(r->recorder);
	struct outcome *o = r->opts.outcome;
	struct frbpf_rule_state st;

	for (size_t i = 0; i < o->n_rules; i++) {
		struct run_rule *rule = &o->rules[i];

		if (detectors__rule_state(r->detectors, g->slots[i], &rule->state))
			log_error("the counters of rule '%s' cannot be read", rule->name);
		rule->matches = histogram__of(&rule->state);
		if (r->values[i] == SIZE_MAX ||
		    detectors__rule_state(r->detectors, g->slots[r->values[i]], &st))
			continue;
		rule->has_values = true;
		rule->values = histogram__of(&st);
	}
}

/* Save the last window, for its own sake or to compare incidents with. */
static void dump_last(struct recording *r, bool last)
{
	uint64_t all = generation__all_sessions(recorder__generation(r->recorder));

	r->rest_only = !last;
	if (recorder__dump(r->recorder, all, INCIDENT_NOTE_LAST) < 0 && last)
		log_warn("too many dumps are under way: that of the last window is not made");
}

/* Files that were missed for the comparison alone are no failure. */
static uint64_t failed_rest(const struct outcome *o)
{
	uint64_t n = 0;

	for (size_t i = 0; i < o->rest.n_files; i++)
		n += o->rest.files[i].error != NULL;
	return n;
}

void recording__finish(struct recording *r, bool last)
{
	struct outcome *o = r->opts.outcome;
	struct detectors_stats detectors;
	struct recorder_stats recorder;
	struct err err = { 0 };

	o->wall_ns = now_ns() - r->started;
	detectors__stats(r->detectors, &detectors);
	if (detectors__update(r->detectors, NULL, 0, NULL, &err))
		log_error("rules cannot be detached: %s", err.msg);
	recorder__sync(r->recorder);
	recorder__stats(r->recorder, &recorder);
	if (last || recorder.incidents)
		dump_last(r, last);
	recorder__drain(r->recorder, on_incident, r);
	held_log__finish(r->held);
	read_states(r);
	recorder__stats(r->recorder, &recorder);
	o->lost_triggers = recorder.busy;
	o->failed_files = recorder.failed - failed_rest(o);
	o->unseen = detectors.missing_storage;
}

void recording__free(struct recording *r)
{
	if (!r)
		return;
	held_log__free(r->held);
	recorder__free(r->recorder);
	if (r->examiner) {
		examiner__follow(r->examiner, NULL, NULL);
		examiner__cancel(r->examiner); /* the side band may ask, and need not wait */
	}
	horizon__free(r->horizon);
	detectors__free(r->detectors);
	sideband__free(r->sideband);
	tracing_parts__free(&r->tracing);
	host_info__free(r->host);
	free(r->values);
	free(r);
}
