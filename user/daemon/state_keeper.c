// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/state_keeper.h"

struct state_keeper {
	const struct base_dir *base;
	struct saved_state past;
	struct past passed;    /* passed to the detectors; shares the lists of `past` */
	uint64_t silent_fired; /* last_silent() at the last save */
	uint64_t learnt;       /* detectors__limits_learnt() at the last save */
	uint64_t saved;	       /* ns: time of that save */
	uint64_t looked;       /* ns: last check of rules that wake nobody */
};

static int restore_state(struct state_keeper *k, struct detectors *d, struct err *err)
{
	const struct saved_state *p = &k->past;

	k->passed.rules = calloc(p->n_rules + 1, sizeof(*k->passed.rules));
	if (!k->passed.rules)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n_rules; i++)
		k->passed.rules[i] = (struct past_rule){ p->rules[i].id, p->rules[i].last_fired,
							 p->rules[i].start_value };
	k->passed.n_rules = p->n_rules;
	k->passed.cooling = p->cooling;
	k->passed.n_cooling = p->n_cooling;
	k->passed.learnt = p->learnt;
	k->passed.n_learnt = p->n_learnt;
	detectors__remember(d, &k->passed);
	return 0;
}

int state_keeper__new(const struct base_dir *base, struct detectors *d, struct err *err,
		      struct state_keeper **ret)
{
	struct state_keeper *k = calloc(1, sizeof(*k));
	struct err why = { 0 };
	int code;

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->base = base;
	if (saved_state__load(base, &k->past, &why))
		log_warn("%s/" STATE_FILE " is not used: cooldowns and max-dumps start afresh: %s",
			 base->path, why.msg);
	code = restore_state(k, d, err);
	if (code) {
		state_keeper__free(k);
		return code;
	}
	*ret = k;
	return 0;
}

const struct saved_state *state_keeper__past(const struct state_keeper *k)
{
	return &k->past;
}

struct cooling_list {
	struct past_cooling *v;
	size_t n;
};

static void add_cooling(const struct past_cooling *c, void *arg)
{
	struct cooling_list *list = arg;

	if (list->v && list->n < FRBPF_MAX_COOLING)
		list->v[list->n++] = *c;
}

struct learnt_list {
	struct saved_state *state;
	int err;
};

static void add_learnt(const struct past_learnt *p, void *arg)
{
	struct learnt_list *list = arg;

	list->err = list->err ?: saved_state__add_learnt(list->state, p);
}

static int collect_learnt(const struct detectors *d, struct saved_state *ret)
{
	struct learnt_list list = { .state = ret };

	return detectors__each_learnt(d, add_learnt, &list) ?: list.err;
}

static int collect_state(struct recorder *r, const struct detectors *d, struct saved_state *ret)
{
	const struct active_set *g = recorder__active_set(r);
	struct cooling_list list = { .v = calloc(FRBPF_MAX_COOLING, sizeof(*list.v)) };
	struct rule_counters counters;

	ret->rules = calloc(g->rules->n_rules + 1, sizeof(*ret->rules));
	ret->cooling = list.v;
	if (!ret->rules || !ret->cooling)
		return -ENOMEM;
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		struct frbpf_rule_state st = { 0 };

		detectors__rule_state(d, g->slots[i], &st);
		recorder__counters(r, i, &counters);
		if (!st.last_fired && !counters.dumps.begun)
			continue;
		ret->rules[ret->n_rules++] =
			(struct saved_rule){ g->rules->rules[i].id, st.last_fired,
					     past__start_value(&st.cooldown_start, st.last_fired),
					     counters.dumps };
	}
	recorder__dumps(r, &ret->dumps);
	detectors__each_cooling(d, add_cooling, &list);
	ret->n_cooling = list.n;
	return collect_learnt(d, ret);
}

/*
 * Get the last time, ns, at which a rule with a cooldown fired without waking the daemon; 0: never.
 * Returns the interval of checks, ns; UINT64_MAX: no rule needs them.
 */
static uint64_t last_silent(struct recorder *r, const struct detectors *d, uint64_t *ret)
{
	const struct active_set *g = recorder__active_set(r);
	uint64_t often = UINT64_MAX;

	*ret = 0;
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		const struct rule_conf *rule = &g->rules->rules[i];
		struct frbpf_rule_state st = { 0 };

		if (rule->when.learn.percentile && often > STATE_KEEPER_LEARNT)
			often = STATE_KEEPER_LEARNT;
		if (rule->n_sessions || !rule->cooldown.time)
			continue;
		often = STATE_KEEPER_LOOK;
		detectors__rule_state(d, g->slots[i], &st);
		if (st.last_fired > *ret)
			*ret = st.last_fired;
	}
	return often;
}

uint64_t state_keeper__step(struct state_keeper *k, struct recorder *r, const struct detectors *d)
{
	uint64_t fired, now = now_ns(), often = last_silent(r, d, &fired);

	if (often == UINT64_MAX)
		return often;
	if (now - k->looked < often)
		return k->looked + often - now;
	k->looked = now;
	if (fired != k->silent_fired ||
	    (detectors__limits_learnt(d) != k->learnt && now - k->saved >= STATE_KEEPER_LEARNT))
		state_keeper__save(k, r, d);
	return often;
}

void state_keeper__save(struct state_keeper *k, struct recorder *r, const struct detectors *d)
{
	struct saved_state now = { 0 };
	struct err err = { 0 };
	int code;

	last_silent(r, d, &k->silent_fired);
	k->learnt = detectors__limits_learnt(d);
	k->saved = now_ns();
	code = collect_state(r, d, &now);

	if (code)
		err_set(&err, code, "out of memory");
	else
		code = saved_state__save(k->base, &now, &err);
	if (code)
		log_error("a restart would reset cooldowns and max-dumps: %s", err.msg);
	saved_state__free(&now);
}

void state_keeper__free(struct state_keeper *k)
{
	if (!k)
		return;
	saved_state__free(&k->past);
	free(k->passed.rules);
	free(k);
}
