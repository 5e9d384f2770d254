// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/json_fields.h"
#include "cmd/measured.h"
#include "daemon/control.h"
#include "rules/units.h"

/* Get the status of the recorder. NULL: it cannot be asked. */
static json_t *ask_status(const struct location_hint *hint)
{
	char base[PATH_MAX], path[PATH_MAX + 16];
	struct err err = { 0 };
	json_t *reply = NULL;

	if (location__find(hint, base, &err))
		return NULL;
	snprintf(path, sizeof(path), "%s/control", base);
	if (control__request(path, json_pack("{s:s, s:b}", "cmd", "status", "held", 1), &err,
			     &reply))
		return NULL;
	return reply;
}

/*
 * The shortest time, ns, that a full ring of the session holds; 0: none is full, or there is no
 * such session.
 */
static uint64_t session_holds(const json_t *status, const struct session_conf *conf)
{
	const json_t *s, *ring;
	uint64_t least = 0;
	size_t i, k;

	json_array_foreach (json_object_get(status, "sessions"), i, s) {
		if (strcmp(str(s, "name"), conf->name) != 0 ||
		    strcmp(str(s, "run"), conf->run) != 0)
			continue;
		json_array_foreach (json_object_get(s, "rings"), k, ring) {
			uint64_t held = num(ring, "held_ns");

			if (num(ring, "bytes") >= num(s, "ring_bytes") && (!least || held < least))
				least = held;
		}
	}
	return least;
}

static uint64_t wanted_window(const struct rule_conf *rule)
{
	const struct when *w = &rule->when;

	if (rule->pre != RULESET_WINDOW_AUTO)
		return rule->pre;
	return when__lasts(w);
}

static void warn_rule(const struct ruleset *rs, const struct rule_conf *rule, const json_t *status,
		      struct diags *d)
{
	uint64_t want = wanted_window(rule);
	char held_text[32], want_text[32];

	for (size_t i = 0; want && i < rule->n_sessions; i++) {
		const struct session_conf *conf = &rs->sessions[rule->sessions[i]];
		uint64_t held = conf->ring ? 0 : session_holds(status, conf);

		if (!held || held > want)
			continue;
		diags__warn(d, rule->src ?: rs->config->src, rule->when_span,
			    "the running recorder holds %s in the rings of session '%s': dumps "
			    "that should reach back %s will be short; use a larger -m, or 'ring'",
			    units__format_duration(held, held_text, sizeof(held_text)), conf->name,
			    units__format_duration(want, want_text, sizeof(want_text)));
	}
}

#define SEEN_ENOUGH  100 /* values needed to estimate the largest to come */
#define OUT_OF_REACH 100 /* a threshold is out of reach if it is so many times the largest value */
#define RATE_ENOUGH  10	 /* values needed to estimate how many will come */

/* Does it fire more often than it may dump, or as soon as it is loaded? */
static bool judge_always(const struct rule_conf *rule, const struct live_rule *live, uint64_t ns,
			 struct diags *d)
{
	const struct rate *max = &rule->max_dumps;
	uint64_t fired = live->counted.fired;
	char a[32], b[32];

	units__format_duration(ns, a, sizeof(a));
	if (!rule->quiet && max->n && fired > 1 &&
	    (double)fired * (double)max->time > (double)max->n * (double)ns) {
		diags__warn(d, rule->src, rule->when_span,
			    "this always fires: %llu times in %s, but its max-dumps allows %u in "
			    "%s; `frbpf tune` finds a threshold",
			    (unsigned long long)fired, a, max->n,
			    units__format_duration(max->time, b, sizeof(b)));
		return true;
	}
	if (!rule->when.silence || !live->has_seen || live->seen.matched || !live->counted.matched)
		return false;
	diags__warn(d, rule->src, rule->when_span,
		    "as measured, this always fires: in %s, no event that it waits for came", a);
	return true;
}

/* Will the time of `learn` bring fewer than half of the values that the percentile needs? */
static bool judge_learning(const struct rule_conf *rule, uint64_t seen, uint64_t ns,
			   struct diags *d)
{
	const struct when_learn *learn = &rule->when.learn;
	double to_come = (double)seen * (double)learn->time / (double)(ns ?: 1);
	char a[32];

	if (!learn->percentile || seen < RATE_ENOUGH ||
	    to_come * 2 >= (double)when_learn__least(learn))
		return false;
	diags__warn(d, rule->src, rule->when_span,
		    "as measured, this never fires: about %.0f values come in %s, and it needs "
		    "%llu to learn from; set a longer 'learn', or a lower percentile",
		    to_come, units__format_duration(learn->time, a, sizeof(a)),
		    (unsigned long long)when_learn__least(learn));
	return true;
}

static bool judge_threshold(const struct rule_conf *rule, const struct live_rule *live, uint64_t ns,
			    struct diags *d)
{
	uint64_t largest = live->seen.max_value, limit = rule->when.threshold;
	char a[32], b[32];

	if (live->seen.matched < SEEN_ENOUGH || largest >= limit / OUT_OF_REACH ||
	    rule->when.share.time > ns)
		return false;
	diags__warn(d, rule->src, rule->when_span,
		    "as measured, this never fires: the largest of %llu values in %s is %s, and "
		    "the threshold is %llu times that",
		    (unsigned long long)live->seen.matched,
		    units__format_duration(ns, a, sizeof(a)),
		    units__format_duration(largest, b, sizeof(b)),
		    (unsigned long long)(limit / (largest ?: 1)));
	return true;
}

static enum measured_rate judge_rule(const struct rule_conf *rule, const struct live_rule *live,
				     uint64_t ns, struct diags *d)
{
	bool never;

	if (judge_always(rule, live, ns, d))
		return MEASURED_ALWAYS;
	/* with pending() and absent(), a rule does not compare the values that were seen */
	if (live->counted.matched || !live->has_seen || rule->when.silence || rule->when.pending)
		return MEASURED_SOMETIMES;
	never = judge_learning(rule, live->seen.matched, ns, d) ||
		judge_threshold(rule, live, ns, d);
	return never ? MEASURED_NEVER : MEASURED_SOMETIMES;
}

/* The part of @rule that never fires; NULL: none. */
static const struct when_part *dead_part(const struct ruleset *rs, const struct rule_conf *rule,
					 const enum measured_rate *rates)
{
	for (uint32_t k = 0; k < rule->when.parts.n; k++) {
		for (size_t i = 0; i < rs->n_rules; i++) {
			if (rs->rules[i].id == rule->when.parts.v[k].id &&
			    rates[i] == MEASURED_NEVER)
				return &rule->when.parts.v[k];
		}
	}
	return NULL;
}

void measured__judge(const struct ruleset *rs, const struct live_rule *live, uint64_t ns,
		     enum measured_rate *ret, struct diags *d)
{
	for (size_t i = 0; i < rs->n_rules; i++)
		ret[i] = judge_rule(&rs->rules[i], &live[i], ns, d);
	for (size_t i = 0; i < rs->n_rules; i++) {
		const struct rule_conf *rule = &rs->rules[i];
		const struct when_part *part = dead_part(rs, rule, ret);

		if (!part)
			continue;
		ret[i] = MEASURED_NEVER;
		diags__warn(d, rule->src, part->at,
			    "as measured, this never fires, because rule %s never fires",
			    part->name);
	}
}

/* Warn about matches that the running recorder dropped because the rule had used up its dumps. */
static void warn_capped(const struct rule_conf *rule, const json_t *status, struct diags *d)
{
	const json_t *r;
	uint64_t capped;
	size_t i;

	json_array_foreach (json_object_get(status, "rules"), i, r) {
		if (strcmp(str(r, "name"), rule->name) != 0 ||
		    strcmp(str(r, "when"), rule->when_text) != 0 ||
		    strcmp(str(r, "if"), rule->if_text ?: "") != 0)
			continue;
		capped = num(json_object_get(r, "suppressed"), "rule_max_dumps");
		if (!capped)
			continue;
		diags__warn(d, rule->src, rule->when_span,
			    "this fires too often in the running recorder: %llu matches exceeded "
			    "its max-dumps; `frbpf tune` finds a threshold",
			    (unsigned long long)capped);
	}
}

void measured__warn(const struct ruleset *rs, const struct location_hint *hint, struct diags *d)
{
	json_t *status = ask_status(hint);

	for (size_t i = 0; status && i < rs->n_rules; i++) {
		warn_rule(rs, &rs->rules[i], status, d);
		warn_capped(&rs->rules[i], status, d);
	}
	json_decref(status);
}
