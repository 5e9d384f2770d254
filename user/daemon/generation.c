// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "common/fd_room.h"
#include "daemon/generation.h"
#include "daemon/ring_fit.h"
#include "rules/units.h"

/* Descriptors to keep free: for commands, names of programs, files that are written; for each session
 * that writes; for the maps and programs of a rule. */
#define FDS_DAEMON  64
#define FDS_SESSION 4
#define FDS_RULE    16

static struct dumper *find_unchanged(const struct generation *old, const struct session_conf *conf)
{
	for (size_t i = 0; old && i < old->n_dumpers; i++) {
		const struct session *s = old->dumpers[i]->session;

		if (strcmp(s->name, conf->name) == 0 && strcmp(s->run, conf->run) == 0)
			return old->dumpers[i];
	}
	return NULL;
}

int generation__start_session(const struct session_conf *conf, struct session_plan *plan,
			      const struct generation_env *env, struct err *err,
			      struct dumper **ret)
{
	struct event_list *events = plan->events;
	struct session *s;
	int code;

	plan->events = NULL;
	code = session__open(conf->name, conf->run, events, plan->ring_bytes, env->target, err, &s);
	if (code)
		return code;
	code = session__start(s, err);
	if (code) {
		session__unref(s);
		return code;
	}
	return dumper__start(s, env->dump, env->done, env->done_arg, err, ret);
}

static bool has_dumper(const struct generation *g, const struct dumper *d)
{
	for (size_t i = 0; i < g->n_dumpers; i++) {
		if (g->dumpers[i] == d)
			return true;
	}
	return false;
}

/* What ends as soon as @g is in force: nothing that an incident under way holds. Both exist for that
 * moment, and are not counted together. */
static uint64_t replaced_memory(const struct generation *g, struct generation *old)
{
	uint64_t sum = 0;

	if (!old || atomic_load(&old->refs) > 1)
		return 0;
	for (size_t i = 0; i < old->n_dumpers; i++) {
		if (!has_dumper(g, old->dumpers[i]))
			sum += dumper__memory(old->dumpers[i]);
	}
	return sum;
}

/* What the sessions really have, as rings may have been resized since they were planned, and what
 * lives on beside them. */
static int sum_memory(struct generation *g, struct generation *old,
		      const struct generation_env *env, struct err *err)
{
	char need[16], held[16], max[16];
	uint64_t others;

	g->memory = 0;
	for (size_t i = 0; i < g->n_dumpers; i++)
		g->memory += dumper__memory(g->dumpers[i]);
	others = dumper__memory_of_all() - g->memory - replaced_memory(g, old);
	if (g->memory + others > g->max_memory && env->reap) {
		env->reap(env->reap_arg);
		others = dumper__memory_of_all() - g->memory - replaced_memory(g, old);
	}
	units__format_size(g->memory, need, sizeof(need));
	units__format_size(others, held, sizeof(held));
	units__format_size(g->max_memory, max, sizeof(max));
	if (g->memory > g->max_memory)
		return err_set(
			err, -EINVAL,
			"the sessions need %s with the rings as they were sized by 'ring', more "
			"than max-memory, which is %s",
			need, max);
	if (g->memory + others > g->max_memory)
		return err_set(err, -EBUSY,
			       "the sessions need %s, and those before them hold %s until the "
			       "incidents under way are written and rings are resized, together "
			       "more than max-memory, which is %s: try again then",
			       need, held, max);
	return 0;
}

/* The sessions are open. What is to come needs some, too: the programs of the rules, and then every
 * dump; a recorder that cannot write one is worth nothing. */
static int check_descriptors(const struct generation *g, struct err *err)
{
	size_t reserve = FDS_DAEMON + FDS_SESSION * g->n_dumpers + FDS_RULE * g->rules->n_rules;
	size_t open, limit;
	int code = fd_room__count(&open, &limit);

	if (code == -EMFILE || code == -ENFILE)
		return err_set(err, code, "no file descriptor is left: %s", strerror(-code));
	if (code || open + reserve <= limit)
		return 0;
	return err_set(
		err, -EMFILE,
		"%zu file descriptors are open with the sessions (one per event and CPU), and "
		"rules and dumps need %zu more; the limit is %zu: raise it with ulimit -n, or "
		"LimitNOFILE= of the systemd unit, or record fewer events",
		open, reserve, limit);
}

/* Which of @old's rules goes on as each of ours. */
static void find_kept_rules(struct generation *g, const struct generation *old)
{
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		g->kept[i] = SIZE_MAX;
		for (size_t k = 0; old && k < old->rules->n_rules; k++) {
			if (g->rules->rules[i].id == old->rules->rules[k].id)
				g->kept[i] = k;
		}
	}
}

void generation__take_tallies(struct generation *g, const struct generation *old)
{
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		const struct rule_tally *from;
		struct rule_tally *to = &g->tallies[i];

		if (g->kept[i] == SIZE_MAX)
			continue;
		from = &old->tallies[g->kept[i]];
		to->incidents += from->incidents;
		to->joined += from->joined;
		to->merged += from->merged;
		to->muted += from->muted;
		to->busy += from->busy;
		to->capped += from->capped;
		to->dumps = from->dumps;
		to->cap_told = from->cap_told;
		if (from->last > to->last)
			to->last = from->last;
	}
}

int generation__make(struct ruleset *rs, struct plan *plan, struct generation *old,
		     const struct generation_env *env, struct err *err, struct generation **ret)
{
	struct generation *g = calloc(1, sizeof(*g));
	int code = 0;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	atomic_init(&g->refs, 1);
	g->rules = rs;
	g->max_memory = plan->max_memory;
	g->dumpers = calloc(rs->n_sessions ?: 1, sizeof(*g->dumpers));
	g->slots = calloc(rs->n_rules ?: 1, sizeof(*g->slots));
	g->tallies = calloc(rs->n_rules ?: 1, sizeof(*g->tallies));
	g->kept = calloc(rs->n_rules ?: 1, sizeof(*g->kept));
	g->muted_until = calloc(rs->n_rules ?: 1, sizeof(*g->muted_until));
	if (!g->dumpers || !g->slots || !g->tallies || !g->kept || !g->muted_until)
		code = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !code && i < rs->n_sessions; i++) {
		const struct session_conf *conf = &rs->sessions[i];
		struct dumper *same = find_unchanged(old, conf), *next = NULL;

		if (env->fit && conf->ring)
			next = ring_fit__take(env->fit, conf->name, conf->run);
		if (next)
			g->dumpers[i] = next;
		else if (same)
			g->dumpers[i] = dumper__ref(same);
		else
			code = generation__start_session(&rs->sessions[i], &plan->sessions[i], env,
							 err, &g->dumpers[i]);
		if (!code)
			g->n_dumpers++;
	}
	code = code ?: sum_memory(g, old, env, err);
	code = code ?: check_descriptors(g, err);
	if (code) {
		g->rules = NULL;
		generation__unref(g);
		return code;
	}
	find_kept_rules(g, old);
	*ret = g;
	return 0;
}

int generation__find_session(const struct generation *g, const char *name)
{
	for (size_t i = 0; i < g->rules->n_sessions; i++) {
		if (strcmp(g->rules->sessions[i].name, name) == 0)
			return i;
	}
	return -ENOENT;
}

uint64_t generation__all_sessions(const struct generation *g)
{
	return g->n_dumpers >= 64 ? ~0ULL : (1ULL << g->n_dumpers) - 1;
}

uint64_t generation__rule_sessions(const struct rule_conf *rule)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < rule->n_sessions; i++)
		mask |= 1ULL << rule->sessions[i];
	return mask;
}

struct generation *generation__ref(struct generation *g)
{
	atomic_fetch_add(&g->refs, 1);
	return g;
}

bool generation__unref_unless_last(struct generation *g)
{
	int refs = atomic_load(&g->refs);

	while (refs > 1) {
		if (atomic_compare_exchange_weak(&g->refs, &refs, refs - 1))
			return true;
	}
	return false;
}

void generation__unref(struct generation *g)
{
	if (!g || atomic_fetch_sub(&g->refs, 1) > 1)
		return;
	for (size_t i = 0; g->dumpers && i < g->n_dumpers; i++)
		dumper__unref(g->dumpers[i]);
	ruleset__free(g->rules);
	free(g->dumpers);
	free(g->slots);
	free(g->tallies);
	free(g->kept);
	free(g->muted_until);
	free(g);
}
