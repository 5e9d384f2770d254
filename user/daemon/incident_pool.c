// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/incident_pool.h"
#include "dump/incident/stack_frames.h"
#include "dump/incident/user_names.h"
#include "dump/window/task_moves.h"
#include "rules/units.h"

/*
 * Triggers may share a freeze if the times at which they want it are at most this far apart. That
 * is enough for the triggers of one event, and too short for their records to leave the rings.
 */
#define JOIN_SLACK_NS (10 * NSEC_PER_MSEC)

int incident_pool__init(struct incident_pool *p)
{
	*p = (struct incident_pool){ 0 };
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		p->v[i] = calloc(1, sizeof(*p->v[i]));
		if (!p->v[i])
			return -ENOMEM;
		pthread_mutex_init(&p->v[i]->name_lock, NULL);
	}
	return 0;
}

static void drop_stacks(struct incident *inc)
{
	for (size_t i = 0; i < inc->n_stacks; i++)
		stack_frames__free(&inc->stacks[i]);
	inc->n_stacks = 0;
	user_names__free(inc->names);
	inc->names = NULL;
}

static void drop_states(struct incident *inc)
{
	for (size_t i = 0; i < INCIDENT_STATES_MAX; i++) {
		json_decref(inc->states[i]);
		json_decref(inc->more_states[i]);
		inc->states[i] = inc->more_states[i] = NULL;
	}
	json_decref(inc->vitals);
	inc->vitals = NULL;
	inc->n_states_asked = 0;
	inc->stated = false;
}

void incident_pool__free(struct incident_pool *p)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		if (!p->v[i])
			continue;
		active_set__unref(p->v[i]->active);
		drop_stacks(p->v[i]);
		drop_states(p->v[i]);
		for (size_t k = 0; k < INCIDENT_SESSIONS_MAX; k++) {
			free(p->v[i]->results[k].cpus);
			task_moves__free(p->v[i]->results[k].moves);
		}
		pthread_mutex_destroy(&p->v[i]->name_lock);
		free(p->v[i]);
		p->v[i] = NULL;
	}
}

static struct incident *begin_incident(struct incident_pool *p, struct active_set *g,
				       uint64_t sessions)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE && !p->closed; i++) {
		struct incident *inc = p->v[i];

		if (inc->state != INCIDENT_FREE)
			continue;
		inc->state = INCIDENT_PENDING;
		inc->number = ++p->begun;
		inc->active = active_set__ref(g);
		inc->sessions = sessions;
		inc->reason[0] = inc->name[0] = '\0';
		inc->manual = inc->manifest_stale = inc->reported = false;
		inc->names_missing = inc->drafted = inc->listed = false;
		inc->manifest_at = inc->manifest_wait = 0;
		inc->n_triggers = inc->n_merged = inc->more_merged = 0;
		drop_stacks(inc);
		drop_states(inc);
		return inc;
	}
	p->busy++;
	return NULL;
}

/*
 * Would the coming freeze of @inc cover the window that @it needs? An overdue freeze, which waits
 * for a session, may come at any moment: then `post` must be next to nothing.
 */
static bool incident_covers(const struct incident *inc, const struct incident_trigger *it)
{
	uint64_t deadline = it->t.time + it->rule->post;

	if (inc->deadline < it->t.time)
		return it->rule->post <= JOIN_SLACK_NS;
	return deadline <= inc->latest_deadline && inc->deadline <= deadline + JOIN_SLACK_NS;
}

static struct incident *find_joinable_incident(struct incident_pool *p, const struct active_set *g,
					       const struct incident_trigger *it)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = p->v[i];

		if (inc->state == INCIDENT_PENDING && !inc->manual && inc->active == g &&
		    incident_covers(inc, it))
			return inc;
	}
	return NULL;
}

/*
 * Find the rule of @it in the active set that was in force when @inc began. So after a reload,
 * triggers of rules that stayed can still be merged into @inc. NULL: that set lacks the rule.
 */
static const struct rule_conf *rule_in(const struct incident *inc, const struct active_set *g,
				       const struct incident_trigger *it)
{
	const struct ruleset *rs = inc->active->rules;

	if (inc->active == g)
		return it->rule;
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (rs->rules[i].id == it->rule->id)
			return &rs->rules[i];
	}
	return NULL;
}

uint64_t incident_pool__merge_end(const struct incident *inc)
{
	return inc->freeze.frozen + (inc->manual ? 0 : inc->active->rules->daemon.merge);
}

static struct incident *find_mergeable_incident(struct incident_pool *p, const struct active_set *g,
						const struct incident_trigger *it,
						const struct rule_conf **ret_own)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = p->v[i];
		const struct rule_conf *own;

		if ((inc->state != INCIDENT_FROZEN && inc->state != INCIDENT_WRITTEN) ||
		    inc->manual || it->t.time >= incident_pool__merge_end(inc))
			continue;
		own = rule_in(inc, g, it);
		if (!own || active_set__rule_sessions(own) & ~inc->sessions)
			continue;
		*ret_own = own;
		return inc;
	}
	return NULL;
}

static void incident_merge(struct incident *inc, const struct incident_trigger *it)
{
	size_t n = inc->n_merged;

	if (n == INCIDENT_MERGED_MAX) {
		inc->more_merged++;
	} else {
		inc->merged[n] = *it;
		/* the collector reads entries below n_merged without the lock */
		__atomic_store_n(&inc->n_merged, n + 1, __ATOMIC_RELEASE);
	}
	inc->manifest_stale = true;
}

/* Add a trigger to @inc, which is not frozen yet. */
static void join_incident(struct incident_pool *p, struct incident *inc,
			  const struct incident_trigger *it, uint64_t sessions)
{
	uint64_t deadline = it->t.time + it->rule->post;

	inc->sessions |= sessions;
	p->states_wanted += inc->n_triggers < INCIDENT_STATES_MAX;
	inc->triggers[inc->n_triggers++] = *it;
	if (deadline > inc->deadline)
		inc->deadline = deadline;
}

/* The rule with @slot; NULL: none. */
static const struct rule_conf *rule_of_slot(const struct active_set *g, uint32_t slot)
{
	for (size_t i = 0; i < g->rules->n_rules; i++) {
		if (g->slots[i] == slot)
			return &g->rules->rules[i];
	}
	return NULL;
}

void incident_pool__trigger(struct incident_pool *p, struct active_set *g, size_t rule,
			    const struct frbpf_trigger *t)
{
	struct incident_trigger it = { .t = *t, .rule = &g->rules->rules[rule] };
	uint64_t sessions = active_set__rule_sessions(it.rule);
	struct rule_counters *counters = &g->counters[rule];
	struct incident *inc;

	for (size_t i = 0; i < FRBPF_MAX_OTHERS && t->parts[i].time; i++)
		it.parts[i] = rule_of_slot(g, t->parts[i].slot);
	counters->last = t->time;
	if (t->time < g->muted_until[rule]) {
		counters->muted++;
		return;
	}
	inc = find_joinable_incident(p, g, &it);
	if (inc && inc->n_triggers == INCIDENT_TRIGGERS_MAX && !(sessions & ~inc->sessions)) {
		counters->merged++; /* no room for its marker */
		incident_merge(inc, &it);
	} else if (inc && inc->n_triggers < INCIDENT_TRIGGERS_MAX) {
		counters->joined++;
		join_incident(p, inc, &it, sessions);
	} else if (!(t->flags & FRBPF_TRIGGER_ESCALATED) &&
		   (inc = find_mergeable_incident(p, g, &it, &it.rule))) {
		counters->merged++;
		incident_merge(inc, &it);
	} else if (dump_limiter__free_at(&counters->dumps, &it.rule->max_dumps) > t->time ||
		   dump_limiter__free_at(&p->dumps, &g->rules->daemon.max_dumps) > t->time) {
		counters->capped++;
	} else if ((inc = begin_incident(p, g, sessions))) {
		counters->incidents++;
		dump_limiter__note(&counters->dumps, t->time);
		dump_limiter__note(&p->dumps, t->time);
		inc->deadline = t->time + it.rule->post;
		inc->latest_deadline = inc->deadline + JOIN_SLACK_NS;
		join_incident(p, inc, &it, sessions);
	} else {
		counters->busy++;
	}
}

static bool has_trigger(const struct incident *inc, const struct frbpf_stacks *s)
{
	for (size_t i = 0; i < inc->n_triggers; i++) {
		if (inc->triggers[i].t.time == s->time && inc->triggers[i].t.cpu == s->cpu &&
		    inc->triggers[i].t.subject.tid == s->tid)
			return true;
	}
	return false;
}

void incident_pool__stacks(struct incident_pool *p, const struct frbpf_stacks *s)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = p->v[i];

		if (inc->state != INCIDENT_PENDING || inc->n_stacks == INCIDENT_STACKS_MAX ||
		    !has_trigger(inc, s))
			continue;
		inc->stacks[inc->n_stacks++] = (struct incident_stacks){ .raw = *s };
		return;
	}
}

bool incident_pool__next_state(struct incident_pool *p, struct state_ask *ret)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = p->v[i];

		while (inc->state != INCIDENT_FREE && !inc->manual &&
		       inc->n_states_asked < inc->n_triggers &&
		       inc->n_states_asked < INCIDENT_STATES_MAX) {
			const struct frbpf_trigger *t = &inc->triggers[inc->n_states_asked++].t;

			if (!t->subject.tid)
				continue;
			*ret = (struct state_ask){ inc->number, inc->n_states_asked - 1,
						   t->subject.tid, t->time,
						   t->flags & FRBPF_TRIGGER_PENDING };
			return true;
		}
	}
	return false;
}

bool incident_pool__take_state(struct incident_pool *p, const struct state_ask *ask,
			       struct json_t *state, struct json_t *more)
{
	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = p->v[i];

		if (inc->state == INCIDENT_FREE || inc->number != ask->incident)
			continue;
		/* the collector and session threads read these without the lock */
		if (state && !inc->states[ask->trigger]) {
			__atomic_store_n(&inc->states[ask->trigger], state, __ATOMIC_RELEASE);
			state = NULL;
		}
		if (more && !inc->more_states[ask->trigger]) {
			__atomic_store_n(&inc->more_states[ask->trigger], more, __ATOMIC_RELEASE);
			more = NULL;
		}
		json_decref(state);
		json_decref(more);
		inc->stated = true;
		return inc->state == INCIDENT_WRITTEN;
	}
	json_decref(state);
	json_decref(more);
	return false;
}

struct incident *incident_pool__manual(struct incident_pool *p, struct active_set *g, uint64_t mask,
				       const char *reason, const struct frbpf_trigger *t)
{
	struct incident *inc = begin_incident(p, g, mask);

	if (!inc)
		return NULL;
	inc->manual = true;
	snprintf(inc->reason, sizeof(inc->reason), "%s", reason);
	inc->triggers[0] = (struct incident_trigger){ .t = *t };
	inc->n_triggers = 1;
	inc->deadline = inc->latest_deadline = t->time;
	return inc;
}

static bool sessions_free(const struct incident *inc)
{
	for (size_t i = 0; i < inc->active->n_dumpers; i++) {
		const struct dumper *d = inc->active->dumpers[i];

		if ((inc->sessions & (1ULL << i)) && (d->busy || d->wanted))
			return false;
	}
	return true;
}

static void mark_dumpers_wanted(struct incident *inc, bool wanted)
{
	for (size_t i = 0; i < inc->active->n_dumpers; i++) {
		if (inc->sessions & (1ULL << i))
			inc->active->dumpers[i]->wanted = wanted;
	}
}

static void claim_incident(struct incident *inc)
{
	inc->state = INCIDENT_FREEZING;
	inc->due = inc->deadline;
	for (size_t i = 0; i < inc->active->n_dumpers; i++) {
		struct dumper *d = inc->active->dumpers[i];

		if (!(inc->sessions & (1ULL << i)))
			continue;
		d->busy = true;
		if (d->freed > inc->due)
			inc->due = d->freed;
	}
}

/* The pending incident with the lowest number above @after. */
static struct incident *next_pending(struct incident_pool *p, uint64_t after)
{
	struct incident *best = NULL;

	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++) {
		struct incident *inc = p->v[i];

		if (inc->state == INCIDENT_PENDING && inc->number > after &&
		    (!best || inc->number < best->number))
			best = inc;
	}
	return best;
}

struct incident *incident_pool__next_due(struct incident_pool *p, uint64_t now,
					 uint64_t *ret_deadline)
{
	struct incident *inc, *due = NULL;

	*ret_deadline = UINT64_MAX;
	for (inc = next_pending(p, 0); inc; inc = next_pending(p, inc->number))
		mark_dumpers_wanted(inc, false);
	for (inc = next_pending(p, 0); inc; inc = next_pending(p, inc->number)) {
		if (inc->deadline > now && !p->closed) {
			if (inc->deadline < *ret_deadline)
				*ret_deadline = inc->deadline;
			continue;
		}
		if (!due && sessions_free(inc))
			due = inc;
		mark_dumpers_wanted(inc, true);
	}
	if (due)
		claim_incident(due);
	return due;
}

static bool is_news(const struct dump_limiter *log, const struct rate *max, uint64_t now,
		    uint64_t *logged)
{
	uint64_t until = dump_limiter__free_at(log, max);

	if (until <= now || until == *logged)
		return false;
	*logged = until;
	return true;
}

bool incident_pool__next_cap(struct incident_pool *p, struct active_set *g, uint64_t now,
			     struct dump_cap *ret)
{
	const struct rate *all = &g->rules->daemon.max_dumps;

	for (size_t i = 0; i < g->rules->n_rules; i++) {
		const struct rule_conf *rule = &g->rules->rules[i];
		struct rule_counters *counters = &g->counters[i];

		if (!is_news(&counters->dumps, &rule->max_dumps, now, &counters->cap_logged))
			continue;
		*ret = (struct dump_cap){ rule, rule->max_dumps, counters->cap_logged };
		return true;
	}
	if (!is_news(&p->dumps, all, now, &p->cap_logged))
		return false;
	*ret = (struct dump_cap){ NULL, *all, p->cap_logged };
	return true;
}

/* A forbidden transition is a bug: log it, so that the wrong state does not go unnoticed. */
static void incident_set_state(struct incident *inc, enum incident_state from,
			       enum incident_state to)
{
	if (inc->state != from)
		log_error("bug: incident %llu goes from state %d to %d, not from %d",
			  (unsigned long long)inc->number, inc->state, to, from);
	inc->state = to;
}

void incident_pool__frozen(struct incident *inc, size_t parts)
{
	incident_set_state(inc, INCIDENT_FREEZING, INCIDENT_FROZEN);
	memset(inc->results, 0, sizeof(inc->results));
	inc->writing = parts;
	if (parts)
		return;
	incident_set_state(inc, INCIDENT_FROZEN, INCIDENT_WRITTEN);
	inc->manifest_stale = true;
}

bool incident_pool__part_written(struct incident *inc)
{
	if (--inc->writing)
		return false;
	incident_set_state(inc, INCIDENT_FROZEN, INCIDENT_WRITTEN);
	inc->manifest_stale = true;
	return true;
}

struct active_set *incident_pool__release(struct incident *inc,
					  struct dump_remains ret[static INCIDENT_SESSIONS_MAX])
{
	struct active_set *g = inc->active;

	if (inc->manifest_stale || inc->naming || inc->named)
		return NULL;
	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		ret[i] = (struct dump_remains){ inc->results[i].cpus, inc->results[i].moves };
		inc->results[i].cpus = NULL;
		inc->results[i].moves = NULL;
	}
	inc->active = NULL;
	inc->name[0] = '\0';
	incident_set_state(inc, INCIDENT_WRITTEN, INCIDENT_FREE);
	return g;
}

size_t incident_pool__under_way(const struct incident_pool *p)
{
	size_t n = 0;

	for (size_t i = 0; i < INCIDENT_POOL_SIZE; i++)
		n += p->v[i]->state != INCIDENT_FREE && p->v[i]->state != INCIDENT_WRITTEN;
	return n;
}

void incident_pool__close(struct incident_pool *p)
{
	p->closed = true;
}
