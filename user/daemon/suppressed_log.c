// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "daemon/suppressed_log.h"
#include "dump/base/manifest.h"

json_t *suppressed__json(const struct frbpf_rule_state *st)
{
	static const char *const names[FRBPF_CAUSE_MAX] = {
		[FRBPF_CAUSE_COOLDOWN] = "cooldown",
		[FRBPF_CAUSE_FULL] = "ring_full",
		[FRBPF_CAUSE_SELF] = "self",
		[FRBPF_CAUSE_COUNT] = "count",
		[FRBPF_CAUSE_RULE_CAP] = "rule_max_dumps",
		[FRBPF_CAUSE_CAP] = "max_dumps",
		[FRBPF_CAUSE_KEYS] = "keys_full",
	};
	json_t *j = json_object();

	for (int i = 0; j && i < FRBPF_CAUSE_MAX; i++)
		json_object_set_new(j, names[i], json_integer((json_int_t)st->suppressed[i]));
	return j;
}

/* A rule that fired, with what was suppressed after its last incident. */
struct suppressed_entry {
	uint64_t rule_id;
	char rule[RULESET_NAME_MAX + 1];
	char incident[INCIDENT_NAME_SIZE];
	struct frbpf_suppressed suppressed; /* as of the last trigger that joined that incident */
	uint64_t written;		    /* the count in the manifest */
	uint64_t last;			    /* ns: time of its last trigger */
	uint64_t due; /* ns: end of its cooldown; UINT64_MAX: ended, and the count is written */
};

struct suppressed_log {
	const struct base_dir *base;
	struct recorder *recorder;
	struct detectors *detectors;
	struct suppressed_entry v[FRBPF_MAX_SLOTS];
	size_t n;
};

struct suppressed_log *suppressed_log__new(const struct base_dir *base, struct recorder *r,
					   struct detectors *d)
{
	struct suppressed_log *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base = base;
	h->recorder = r;
	h->detectors = d;
	return h;
}

static void suppressed__add(struct frbpf_suppressed *sum, const struct frbpf_suppressed *more)
{
	uint64_t count = sum->count + more->count;

	if (more->value > sum->value)
		*sum = *more;
	sum->count = count;
}

static void suppressed_entry__write(struct suppressed_log *h, struct suppressed_entry *e,
				    const struct frbpf_suppressed *suppressed)
{
	struct err err = { 0 };
	int code;

	if (suppressed->count == e->written)
		return;
	code = manifest__suppressed(h->base, e->incident, e->rule, suppressed,
				    clock_ns(CLOCK_REALTIME) - now_ns(), &err);
	if (code && code != -ENOENT)
		log_error("%s", err.msg);
	e->written = suppressed->count;
}

static struct suppressed_entry *suppressed_log__find(struct suppressed_log *h, uint64_t rule_id)
{
	for (size_t i = 0; i < h->n; i++) {
		if (h->v[i].rule_id == rule_id)
			return &h->v[i];
	}
	return NULL;
}

/* Get a new entry, or reuse that of a rule whose cooldown is over. NULL: there is none. */
static struct suppressed_entry *suppressed_log__new_entry(struct suppressed_log *h)
{
	if (h->n < FRBPF_MAX_SLOTS)
		return &h->v[h->n++];
	for (size_t i = 0; i < h->n; i++) {
		if (h->v[i].due == UINT64_MAX)
			return &h->v[i];
	}
	return NULL;
}

static void suppressed_log__note(struct suppressed_log *h, const struct incident *inc,
				 const struct incident_trigger *it)
{
	struct suppressed_entry *e = it->rule ? suppressed_log__find(h, it->rule->id) : NULL;

	if (!it->rule || (e && it->t.time <= e->last))
		return;
	if (e) {
		suppressed__add(&e->suppressed, &it->t.since_last);
		if (strcmp(e->incident, inc->name) != 0)
			suppressed_entry__write(h, e, &e->suppressed);
	}
	if (!e || strcmp(e->incident, inc->name) != 0) {
		e = e ?: suppressed_log__new_entry(h);
		if (!e)
			return;
		*e = (struct suppressed_entry){ .rule_id = it->rule->id };
		snprintf(e->rule, sizeof(e->rule), "%s", it->rule->name);
		memcpy(e->incident, inc->name, sizeof(e->incident));
	}
	e->last = it->t.time;
	e->due = it->t.time + it->rule->cooldown.time;
}

void suppressed_log__incident(struct suppressed_log *h, const struct incident *inc)
{
	size_t n_merged = __atomic_load_n(&inc->n_merged, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < inc->n_triggers; i++)
		suppressed_log__note(h, inc, &inc->triggers[i]);
	for (size_t i = 0; i < n_merged; i++)
		suppressed_log__note(h, inc, &inc->merged[i]);
}

/* Get the current count of a rule in force. False: its rule is not in force. */
static bool suppressed_log__now(struct suppressed_log *h, const struct suppressed_entry *e,
				struct frbpf_suppressed *ret)
{
	const struct active_set *g = recorder__active_set(h->recorder);

	for (size_t i = 0; g && i < g->rules->n_rules; i++) {
		struct frbpf_suppressed now;

		if (g->rules->rules[i].id != e->rule_id)
			continue;
		if (detectors__rule_suppressed(h->detectors, g->slots[i], &now))
			return false;
		*ret = e->suppressed;
		suppressed__add(ret, &now);
		return true;
	}
	return false;
}

static void suppressed_log__write(struct suppressed_log *h, struct suppressed_entry *e)
{
	struct frbpf_suppressed suppressed;

	if (suppressed_log__now(h, e, &suppressed))
		suppressed_entry__write(h, e, &suppressed);
	e->due = UINT64_MAX;
}

uint64_t suppressed_log__step(struct suppressed_log *h)
{
	uint64_t now = now_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < h->n; i++) {
		if (h->v[i].due <= now)
			suppressed_log__write(h, &h->v[i]);
		else if (h->v[i].due < next)
			next = h->v[i].due;
	}
	return next == UINT64_MAX ? UINT64_MAX : next - now;
}

void suppressed_log__finish(struct suppressed_log *h)
{
	for (size_t i = 0; i < h->n; i++)
		suppressed_log__write(h, &h->v[i]);
}

void suppressed_log__free(struct suppressed_log *h)
{
	free(h);
}
