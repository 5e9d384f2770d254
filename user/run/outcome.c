// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "run/baseline/compare.h"
#include "run/outcome.h"

bool run_rule__fired(const struct run_rule *rule)
{
	return !rule->quiet && rule->state.fired;
}

bool outcome__fired(const struct outcome *o)
{
	for (size_t i = 0; i < o->n_rules; i++) {
		if (run_rule__fired(&o->rules[i]))
			return true;
	}
	return false;
}

static int command_status(const struct outcome *o)
{
	if (o->exec_error)
		return o->exec_error == ENOENT ? RUN_EXIT_NOT_FOUND : RUN_EXIT_NOT_EXECUTED;
	if (!o->command_ended)
		return 0;
	if (WIFSIGNALED(o->command_status))
		return 128 + WTERMSIG(o->command_status);
	return WEXITSTATUS(o->command_status);
}

static bool is_bad(const struct outcome *o)
{
	const struct comparison *c = o->comparison;

	return c && (c->verdict == VERDICT_REGRESSED ||
		     (c->verdict == VERDICT_DISTURBED && o->opts->strict));
}

int outcome__exit_status(const struct outcome *o)
{
	int status = command_status(o);

	if (status)
		return status;
	return outcome__fired(o) || is_bad(o) ? o->opts->exit_code : 0;
}

const struct run_trigger *outcome__worst(const struct outcome *o, size_t rule,
					 const struct run_incident **ret_incident)
{
	const struct run_trigger *worst = NULL;

	for (size_t i = 0; i < o->n_incidents; i++) {
		const struct run_incident *inc = &o->incidents[i];

		for (size_t k = 0; k < inc->n_triggers; k++) {
			const struct run_trigger *t = &inc->triggers[k];

			if (inc->capture || t->rule != rule || (worst && t->value <= worst->value))
				continue;
			worst = t;
			*ret_incident = inc;
		}
	}
	return worst;
}

static void add_histogram(struct histogram *to, const struct histogram *h)
{
	for (int i = 0; i < FRBPF_MAX_VALUES; i++)
		to->buckets[i] += h->buckets[i];
	to->n += h->n;
	to->sum += h->sum;
	to->max = h->max > to->max ? h->max : to->max;
}

static void add_rule(struct run_rule *to, const struct run_rule *rule)
{
	struct frbpf_rule_state *st = &to->state;

	st->matched += rule->state.matched;
	st->fired += rule->state.fired;
	for (int i = 0; i < FRBPF_CAUSE_MAX; i++)
		st->suppressed[i] += rule->state.suppressed[i];
	if (rule->state.max_value > st->max_value)
		st->max_value = rule->state.max_value;
	add_histogram(&to->matches, &rule->matches);
	add_histogram(&to->values, &rule->values);
}

static int add_incidents(struct outcome *o, struct outcome *run, bool capture)
{
	struct run_incident *v =
		reallocarray(o->incidents, o->n_incidents + run->n_incidents + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	o->incidents = v;
	for (size_t i = 0; i < run->n_incidents; i++) {
		v[o->n_incidents] = run->incidents[i];
		v[o->n_incidents++].capture = capture;
	}
	run->n_incidents = 0;
	return 0;
}

int outcome__add(struct outcome *o, struct outcome *run)
{
	int err = add_incidents(o, run, false);

	for (size_t i = 0; i < o->n_rules && i < run->n_rules; i++)
		add_rule(&o->rules[i], &run->rules[i]);
	o->n_runs = (o->n_runs ?: 1) + 1;
	o->wall_ns += run->wall_ns;
	o->end = run->end;
	o->command_ended = run->command_ended;
	o->command_status = run->command_status;
	o->exec_error = run->exec_error;
	o->lost_triggers += run->lost_triggers;
	o->unseen += run->unseen;
	o->failed_files += run->failed_files;
	outcome__free(run);
	return err;
}

int outcome__add_capture(struct outcome *o, struct outcome *run)
{
	int err = add_incidents(o, run, true);

	o->failed_files += run->failed_files;
	outcome__free(run);
	return err;
}

/* The first that is there: sessions stand in the order of the rules file. */
const struct run_file *run_incident__dump(const struct run_incident *inc)
{
	const struct run_file *first = NULL;

	for (size_t i = 0; i < inc->n_files; i++) {
		if (!inc->files[i].path)
			continue;
		first = first ?: &inc->files[i];
	}
	return first;
}

const char *run_end__name(enum run_end end)
{
	static const char *const names[] = {
		[RUN_END_COMMAND] = "command", [RUN_END_TIME] = "time",
		[RUN_END_DUMPS] = "dumps",     [RUN_END_SIGNAL] = "signal",
		[RUN_END_TARGET] = "target",
	};

	return names[end];
}

static void free_table(struct run_stack_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->v[i].n_frames; k++) {
			free(t->v[i].frames[k].symbol);
			free(t->v[i].frames[k].module);
		}
		free(t->v[i].frames);
	}
	free(t->v);
	free(t->session);
	free(t->event);
}

void run_incident__free(struct run_incident *inc)
{
	for (size_t i = 0; i < inc->n_tables; i++)
		free_table(&inc->tables[i]);
	free(inc->tables);
	for (size_t i = 0; i < inc->n_files; i++) {
		free(inc->files[i].session);
		free(inc->files[i].path);
		free(inc->files[i].error);
	}
	free(inc->files);
	free(inc->triggers);
	*inc = (struct run_incident){ 0 };
}

void outcome__free(struct outcome *o)
{
	for (size_t i = 0; i < o->n_rules; i++) {
		free(o->rules[i].name);
		free(o->rules[i].when);
		free(o->rules[i].condition);
	}
	for (size_t i = 0; i < o->n_sessions; i++) {
		free(o->sessions[i].name);
		free(o->sessions[i].run);
	}
	for (size_t i = 0; i < o->n_incidents; i++)
		run_incident__free(&o->incidents[i]);
	run_incident__free(&o->rest);
	free(o->rules);
	free(o->sessions);
	free(o->incidents);
	*o = (struct outcome){ 0 };
}
