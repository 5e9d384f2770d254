// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "rules/rule_units.h"
#include "trial/trial.h"
#include "trial/trial_want.h"

const char *trial_rule__fields(const struct trial_rule *r, uint32_t bits, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < FRBPF_FIELD_MAX && len < size; i++) {
		const struct expr_field_desc *f = expr_field__of(r->conf->when.source, i);
		int arg = i < FRBPF_FIELD_ARG
				  ? -1
				  : rule_args__by_slot(&r->conf->args, i - FRBPF_FIELD_ARG);

		if (!(bits >> i & 1) || i == FRBPF_FIELD_CGROUP_PATH)
			continue;
		len += snprintf(buf + len, size - len, "%s%s", len ? ", " : "",
				arg >= 0 ? r->conf->args.v[arg].name
				: f	 ? f->name
					 : "?");
	}
	return buf;
}

/* ---- passing events to the rule ---- */

static int fire_add(struct trial_rule *r, const struct trial_event *e, uint32_t unknown)
{
	struct trial *t = r->trial;
	const __u64(*val)[2] = e->subject.val[0];
	struct trial_fire *f;

	if (!ARRAY_HAS_ROOM(r->fires, r->n_fires, r->fires_cap, 16))
		return -ENOMEM;
	f = &r->fires[r->n_fires++];
	*f = (struct trial_fire){ .time = e->time,
				  .value = rule_trial__value(r->engine),
				  .key = e->key,
				  .pid = val[FRBPF_FIELD_PID][0],
				  .tid = val[FRBPF_FIELD_TID][0],
				  .cpu = val[FRBPF_FIELD_CPU][0],
				  .known = ~unknown };
	memcpy(f->comm, val[FRBPF_FIELD_COMM], FRBPF_COMM_LEN);
	if (r->conf->quiet)
		return 0;
	f->merged = t->last_freeze && e->time <= t->last_freeze + t->rs->daemon.merge;
	r->merged += f->merged;
	if (f->merged)
		return 0;
	t->last_freeze = e->time + r->conf->post;
	dump_limiter__note(&r->dumps, e->time);
	dump_limiter__note(&t->dumps, e->time);
	rule_trial__suppress(r->engine, FRBPF_CAUSE_RULE_CAP,
			     dump_limiter__free_at(&r->dumps, &r->conf->max_dumps));
	for (size_t i = 0; i < t->rs->n_rules; i++)
		rule_trial__suppress(t->rules[i].engine, FRBPF_CAUSE_CAP,
				     dump_limiter__free_at(&t->dumps, &t->rs->daemon.max_dumps));
	return 0;
}

/* Fields that the condition uses and that are unknown. */
static uint32_t fields_in_doubt(const struct trial_rule *r, const struct expr_subject *s)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < r->conf->expr.n_nodes; i++) {
		const struct frbpf_node *n = &r->conf->expr.nodes[i];
		uint32_t field =
			n->field == FRBPF_FIELD_CGROUP_PATH ? FRBPF_FIELD_CGROUP : n->field;

		if (s->unknown[!!(n->flags & FRBPF_NODE_CURRENT)] >> n->field & 1)
			bits |= 1U << field;
	}
	return bits;
}

static enum expr_holds call_waits(const struct trial_rule *r, uint32_t nr)
{
	const char *name = r->conf->when.all_calls ? syscall__name(nr) : NULL;

	return name && syscall__kind(name) == SYSCALL_READS ? EXPR_MAY_HOLD : EXPR_HOLDS_NOT;
}

static void event_make(const struct trial_rule *r, const struct retraced *m,
		       struct trial_event *ret)
{
	*ret = (struct trial_event){
		.time = m->time, .value = m->time - m->begin, .key = m->key, .error = m->error
	};
	memcpy(ret->subject.val, m->val, sizeof(ret->subject.val));
	ret->subject.unknown[0] = m->unknown[0] | r->never_known;
	ret->subject.unknown[1] = m->unknown[1];
	ret->process[0] = m->val[0][FRBPF_FIELD_PID][0];
	ret->thread[0] = m->val[0][FRBPF_FIELD_TID][0];
	if (r->conf->when.source == FRBPF_SOURCE_SYSCALL)
		ret->waits = call_waits(r, m->key);
}

/* Apply the rule of a unit to an event. 0 or negative errno. */
static int unit_take(const struct retraced *m, void *arg)
{
	const struct trial_unit *u = arg;
	struct trial_rule *r = u->rule;
	enum frbpf_cause cause;
	struct trial_event e;
	int outcome;

	event_make(r, m, &e);
	if (u->parts.last)
		outcome = rule_trial__try_after(r->engine, &u->parts, &e, &cause);
	else
		outcome = rule_trial__try(r->engine, &e, &cause);
	if (outcome == TRIAL_MAYBE)
		r->doubtful |= fields_in_doubt(r, &e.subject);
	if (outcome == TRIAL_FIRED)
		return fire_add(r, &e, m->unknown[0]);
	return outcome < 0 ? outcome : 0;
}

static int unit_pass(uint64_t time, void *arg)
{
	struct trial_rule *r = ((struct trial_unit *)arg)->rule;
	enum frbpf_cause cause;
	struct trial_event e;
	int outcome = rule_trial__pass(r->engine, time, &e, &cause);

	return outcome == TRIAL_FIRED ? fire_add(r, &e, ~0U) : outcome < 0 ? outcome : 0;
}

static void unit_cut(void *arg)
{
	rule_trial__break(((struct trial_unit *)arg)->rule->engine);
}

/* ---- units: see rules/rule_units.h ---- */

static struct trial_rule *rule_of_part(const struct trial *t, const struct when_part *part)
{
	for (size_t i = 0; i < t->rs->n_rules; i++) {
		if (t->rs->rules[i].id == part->id)
			return &t->rules[i];
	}
	return NULL;
}

/* Find the parts of a unit of a rule about others. Returns the last part; NULL: not measured. */
static const struct trial_rule *unit_bind_parts(const struct trial *t, const struct rule_conf *conf,
						struct trial_unit *u)
{
	const struct when_parts *parts = &conf->when.parts;
	const struct trial_rule *last = NULL;

	for (uint32_t i = 0; i < parts->n; i++) {
		const struct trial_rule *r = rule_of_part(t, &parts->v[i]);
		bool is_other = false;

		for (uint32_t k = 0; k < conf->n_others && r; k++)
			is_other |= conf->others[k] == (uint32_t)(r - t->rules);
		if (!r || !r->is_measured)
			return NULL;
		if (is_other)
			u->parts.others[u->parts.n_others++] = r->engine;
		else
			last = r;
	}
	u->parts.last = last ? last->engine : NULL;
	return last;
}

static int unit_want(struct trial *t, const struct rule_conf *conf, struct trial_unit *u)
{
	const struct trial_rule *of = u->rule;
	struct retrace_want w;

	if (conf->when.parts.n)
		of = unit_bind_parts(t, conf, u);
	if (!of || !of->is_measured)
		return 0;
	w = of->want;
	w.take = unit_take;
	w.cut = u->parts.last ? NULL : unit_cut;
	w.pass = conf->when.silence ? unit_pass : NULL;
	w.arg = u;
	return retrace__want(t->retrace, &w, &u->want);
}

/* Request the events of all units. Units on the same events are in the order of the kernel. */
static int trial_want(struct trial *t, const struct rule_units *all, const size_t *order)
{
	int err = 0;

	for (size_t i = 0; i < all->n && !err; i++) {
		const size_t at = order[i];
		struct trial_unit *u = &t->units[at];

		u->rule = &t->rules[all->slots[at]];
		err = unit_want(t, &all->v[at], u);
		if (!u->parts.last)
			u->rule->unit = u;
	}
	return err;
}

static int trial_make_units(struct trial *t, struct err *err)
{
	_cleanup_free_ uint32_t *slots = calloc(t->rs->n_rules + 1, sizeof(*slots));
	_cleanup_free_ size_t *order = NULL;
	struct rule_units all = { 0 };
	int code = slots ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < t->rs->n_rules && !code; i++)
		slots[i] = i;
	code = code ?: rule_units__make(t->rs->rules, t->rs->n_rules, slots, &all, err);
	if (code)
		return code == -ENOMEM ? err_set(err, code, "out of memory") : code;
	order = calloc(all.n + 1, sizeof(*order));
	t->units = calloc(all.n + 1, sizeof(*t->units));
	code = order && t->units ? 0 : -ENOMEM;
	if (!code) {
		rule_units__order(&all, order);
		code = trial_want(t, &all, order);
	}
	rule_units__free(&all);
	return code ? err_set(err, code, "out of memory") : 0;
}

static int trial_open_files(struct trial *t, const struct recordings *dumps, struct err *err)
{
	int code = retrace__new(&t->retrace) ? err_set(err, -ENOMEM, "out of memory") : 0;

	for (size_t i = 0; i < dumps->n && !code; i++) {
		for (size_t k = 0; k < dumps->v[i].n_files && !code; k++)
			code = retrace__add_file(t->retrace, dumps->v[i].files[k], err);
	}
	return code;
}

int trial__open(struct trial *t, struct ruleset *rs, const struct recordings *dumps,
		struct err *err)
{
	int code;

	*t = (struct trial){ .rs = rs };
	code = trial_open_files(t, dumps, err);
	if (code)
		return code;
	t->rules = calloc(rs->n_rules ?: 1, sizeof(*t->rules));
	if (!t->rules)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < rs->n_rules; i++) {
		struct trial_rule *r = &t->rules[i];

		r->trial = t;
		r->conf = &rs->rules[i];
		r->is_measured = r->conf->when.parts.n;
		if (rule_trial__new(r->conf, &r->engine) ||
		    (!r->is_measured && trial_rule__want(r)))
			return err_set(err, -ENOMEM, "out of memory");
	}
	return trial_make_units(t, err);
}

/* Set the results that are known only after all recordings are read. */
static void rule_conclude(struct trial_rule *r)
{
	const char *lacks;

	if (!r->is_measured || r->conf->when.parts.n)
		return;
	lacks = retrace__lacks(r->trial->retrace, r->unit->want);
	if (lacks && !lacks[0])
		return;
	r->is_measured = false;
	if (lacks)
		snprintf(r->cannot, sizeof(r->cannot), "no recording has every hit of %.160s",
			 lacks);
	else
		snprintf(r->cannot, sizeof(r->cannot), "no event of a recording shows '%s'",
			 when__source_name(r->conf->when.source));
}

/* A rule about other rules is measured only if all of these are. */
static void rule_conclude_parts(struct trial_rule *r)
{
	const struct when_parts *parts = &r->conf->when.parts;

	for (uint32_t i = 0; i < parts->n && r->is_measured; i++) {
		const struct trial_rule *of = rule_of_part(r->trial, &parts->v[i]);

		if (!of || !of->is_measured) {
			r->is_measured = false;
			snprintf(r->cannot, sizeof(r->cannot), "nor can rule %.64s",
				 parts->v[i].name);
		} else if (rule_trial__counts(of->engine)->maybe) {
			trial_rule__note(r, "rule %.64s may match more often, and so may this one",
					 parts->v[i].name);
		}
	}
}

struct retrace_result trial_rule__result(const struct trial_rule *r)
{
	if (!r->conf->when.parts.n)
		return *retrace__result(r->trial->retrace, r->unit->want);
	return (struct retrace_result){ .ns = r->trial->sum.last - r->trial->sum.first };
}

int trial__run(struct trial *t, struct err *err)
{
	int code = retrace__run(t->retrace, err);

	if (code)
		return code;
	retrace__sum(t->retrace, &t->sum);
	for (size_t i = 0; i < t->rs->n_rules; i++)
		rule_conclude(&t->rules[i]);
	for (size_t i = 0; i < t->rs->n_rules; i++)
		rule_conclude_parts(&t->rules[i]);
	return 0;
}

void trial__free(struct trial *t)
{
	for (size_t i = 0; t->rules && i < t->rs->n_rules; i++) {
		rule_trial__free(t->rules[i].engine);
		free(t->rules[i].fires);
	}
	free(t->rules);
	free(t->units);
	retrace__free(t->retrace);
}
