// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/lint.h"
#include "detect/tracepoint/tracepoint_bind.h"
#include "record/session.h"
#include "rules/units.h"

struct linter {
	const struct ruleset *rs;
	const struct plan *plan;
	struct diags *d;
};

/* Find the value of @key in the section of @rule. False: the rule does not have it. */
static bool find_rule_key(const struct ruleset *rs, const struct rule_conf *rule, const char *key,
			  struct span *ret)
{
	const struct config *c = rs->config;

	for (size_t s = 0; s < c->n_sections; s++) {
		const struct config_section *sec = &c->sections[s];

		/* the section's name ends with the rule's name */
		if (sec->span.off + sec->span.len != rule->name_span.off + rule->name_span.len)
			continue;
		for (size_t e = 0; e < sec->n_entries; e++) {
			if (strcmp(sec->entries[e].key, key) == 0) {
				*ret = sec->entries[e].value;
				return true;
			}
		}
	}
	return false;
}

static void lint_threshold(const struct linter *l, const struct rule_conf *rule)
{
	char threshold[32], pre[32];
	struct span span;

	if (rule->pre >= rule->when.threshold || !find_rule_key(l->rs, rule, "pre", &span))
		return;
	diags__warn(l->d, l->rs->config->src, span,
		    "a match of this rule takes longer than %s: a dump of the last %s never has "
		    "its beginning; set a longer pre",
		    units__format_duration(rule->when.threshold, threshold, sizeof(threshold)),
		    units__format_duration(rule->pre, pre, sizeof(pre)));
}

static void check_cooldown(const struct linter *l, const struct rule_conf *rule)
{
	char cooldown[32], post[32];
	struct span span, post_span;

	if (rule->cooldown.time >= rule->post || !find_rule_key(l->rs, rule, "cooldown", &span))
		return;
	if (!rule->cooldown.time && !find_rule_key(l->rs, rule, "post", &post_span))
		return; /* no cooldown: the rule asks for every match */
	diags__warn(l->d, l->rs->config->src, span,
		    "shorter than this rule's post: triggers within %s become markers of the same "
		    "dump, so a cooldown of %s gives no more dumps",
		    units__format_duration(rule->post, post, sizeof(post)),
		    units__format_duration(rule->cooldown.time, cooldown, sizeof(cooldown)));
}

/*
 * Is @wanted at most the time that the rings can hold at best on a busy CPU? Also true if that time
 * is unknown. False: warned about @key.
 */
static bool check_window(const struct linter *l, const struct rule_conf *rule, const char *key,
			 uint64_t wanted)
{
	const char *name = NULL;
	uint64_t most = UINT64_MAX;
	struct span span;
	char text[32];

	for (size_t i = 0; i < rule->n_sessions; i++) {
		const struct session_plan *s = &l->plan->sessions[rule->sessions[i]];

		if (!s->window_most || s->window_most >= most)
			continue;
		most = s->window_most;
		name = l->rs->sessions[rule->sessions[i]].name;
	}
	if (!name || wanted <= most || !find_rule_key(l->rs, rule, key, &span))
		return true;
	units__format_duration(most, text, sizeof(text));
	if (strcmp(key, "post") == 0)
		diags__warn(l->d, l->rs->config->src, span,
			    "the rings of session '%s' hold at most %s of a busy CPU: when 'post' "
			    "is over, the event that fired the rule is overwritten; use a shorter "
			    "post or a larger -m",
			    name, text);
	else
		diags__warn(l->d, l->rs->config->src, span,
			    "the rings of session '%s' hold %s of a busy CPU at most, pre and post "
			    "together: use a larger -m, or a lower frequency",
			    name, text);
	return false;
}

/* Least duration, ns, of an event that fires the rule; 0: unknown. */
static uint64_t rule_lasts(const struct rule_conf *rule)
{
	const struct when *w = &rule->when;

	return when__lasts(w);
}

/* The session that holds the least time, by its run line or its `ring`. */
static const struct session_conf *shallowest_session(const struct linter *l,
						     const struct rule_conf *rule, bool rates,
						     uint64_t *ret_holds)
{
	const struct session_conf *least = NULL;

	for (size_t i = 0; i < rule->n_sessions; i++) {
		const struct session_conf *s = &l->rs->sessions[rule->sessions[i]];
		uint64_t most = l->plan->sessions[rule->sessions[i]].window_most;
		uint64_t holds = s->ring ?: rates ? most : 0;

		if (!holds || (least && holds >= *ret_holds))
			continue;
		least = s;
		*ret_holds = holds;
	}
	return least;
}

/* Warn about a session whose `ring` is too short for the rule. */
static void check_reach(const struct linter *l, const struct rule_conf *rule)
{
	bool automatic = rule->pre == RULESET_WINDOW_AUTO;
	uint64_t holds = 0, wanted = automatic ? rule_lasts(rule) : rule->pre;
	const struct session_conf *s = shallowest_session(l, rule, automatic, &holds);
	struct span span = rule->when_span;
	char text[32], need[32];

	if (!s || holds > wanted || (!automatic && holds == wanted))
		return;
	if (!automatic && !find_rule_key(l->rs, rule, "pre", &span))
		return;
	diags__warn(l->d, rule->src ?: l->rs->config->src, span,
		    "the rings of session '%s' should hold %s: its dumps, which should reach back "
		    "%s%s, will be short",
		    s->name, units__format_duration(holds, text, sizeof(text)),
		    automatic ? "more than " : "",
		    units__format_duration(wanted, need, sizeof(need)));
}

static bool is_of_subject(uint8_t field)
{
	return field < FRBPF_FIELD_VALUE && field != FRBPF_FIELD_CPU;
}

static bool asks_for_subject(const struct expr *e)
{
	for (uint32_t i = 0; i < e->n_nodes; i++) {
		if (is_of_subject(e->nodes[i].field) && !(e->nodes[i].flags & FRBPF_NODE_CURRENT))
			return true;
	}
	return false;
}

static bool is_per_subject(const struct rate *r)
{
	return r->per != FRBPF_PER_RULE && (r->per != FRBPF_PER_FIELD || is_of_subject(r->field));
}

/* Find keys that need a subject, for events that have none. */
static void check_subject(const struct linter *l, const struct rule_conf *rule)
{
	const struct {
		const char *key;
		bool asks;
	} keys[] = {
		{ "if", asks_for_subject(&rule->expr) },
		{ "cooldown", is_per_subject(&rule->cooldown) },
		{ "count", is_per_subject(&rule->count) },
	};
	struct span span;

	for (size_t i = 0; !when__has_subject(rule->when.source) && i < ARRAY_SIZE(keys); i++) {
		if (!keys[i].asks || !find_rule_key(l->rs, rule, keys[i].key, &span))
			continue;
		diags__warn(l->d, l->rs->config->src, span,
			    "'%s' has no subject: its comm, pid and so on are empty; %s",
			    when__source_name(rule->when.source),
			    i ? "all matches share this limit"
			      : "current.comm is the task that was interrupted");
	}
}

static void lint_rule(const struct linter *l, const struct rule_conf *rule)
{
	check_subject(l, rule);
	lint_threshold(l, rule);
	check_cooldown(l, rule);
	check_reach(l, rule);
	if (check_window(l, rule, "post", rule->post) && rule->pre != RULESET_WINDOW_AUTO)
		check_window(l, rule, "pre", rule->pre + rule->post);
}

static void check_memory_for_reload(const struct linter *l)
{
	const struct daemon_conf *daemon = &l->rs->daemon;
	char need[16], max[16];

	if (l->plan->memory <= l->plan->max_memory / 2)
		return;
	diags__warn(l->d, daemon->max_memory ? l->rs->config->src : NULL, daemon->max_memory_span,
		    "rings and copies, with those of the side band, need %s, more than half of "
		    "max-memory, which is %s: while a "
		    "reload replaces sessions, the old and the new ones exist together",
		    units__format_size(l->plan->memory, need, sizeof(need)),
		    units__format_size(l->plan->max_memory, max, sizeof(max)));
}

static void lint_session_use(const struct linter *l, size_t session)
{
	const struct ruleset *rs = l->rs;

	for (size_t i = 0; i < rs->n_rules; i++) {
		for (size_t k = 0; k < rs->rules[i].n_sessions; k++) {
			if (rs->rules[i].sessions[k] == session)
				return;
		}
	}
	diags__warn(l->d, rs->default_sessions ? NULL : rs->config->src,
		    rs->sessions[session].name_span,
		    "no rule dumps the session '%s': it records for `frbpf dump` only",
		    rs->sessions[session].name);
}

static bool is_same_event(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->type == b->type && a->config == b->config && a->bp_addr == b->bp_addr;
}

/* Warn if another event samples each hit of @ev: the kernel then throttles the timer of @ev. */
static void check_throttling(const struct linter *l, size_t session, const struct event *ev)
{
	for (size_t s = 0; s < l->plan->n_sessions; s++) {
		const struct event_list *events = l->plan->sessions[s].events;

		for (size_t e = 0; e < events->n; e++) {
			const struct perf_event_attr *other = &events->v[e].attr;

			if (other->freq || other->sample_period != 1 ||
			    !is_same_event(&ev->attr, other))
				continue;
			diags__warn(l->d, l->rs->sessions[session].src,
				    session == s ? ev->span : l->rs->sessions[session].run_span,
				    "'%s' at a frequency nearly stops, because '%s' of session "
				    "'%s' samples every hit of it (the kernel throttles it, as "
				    "with perf): give it a period, or remove one",
				    ev->name, events->v[e].name, l->rs->sessions[s].name);
			return;
		}
	}
}

static bool is_tracepoint(const struct event *ev, const char *system, const char *name)
{
	return ev->tp && !strcmp(ev->tp->system, system) && !strcmp(ev->tp->name, name);
}

/* Does the event have stacks? In place of stacks of switches, those of offcpu-time will do. */
static bool event_has_stacks(const struct event_list *l, const struct event *ev)
{
	return ev->attr.sample_type & PERF_SAMPLE_CALLCHAIN ||
	       ((l->off_cpu.wanted || l->off_cpu.sampled) &&
		is_tracepoint(ev, "sched", "sched_switch"));
}

/*
 * Does a session of @rule record the event, with stacks if @stacks? Also true if tracepoints were
 * left out.
 */
static bool rule_records(const struct linter *l, const struct rule_conf *rule, const char *name,
			 bool stacks)
{
	for (size_t i = 0; i < rule->n_sessions; i++) {
		const struct event_list *events = l->plan->sessions[rule->sessions[i]].events;

		if (events->left_out)
			return true;
		for (size_t e = 0; e < events->n; e++) {
			if (is_tracepoint(&events->v[e], "sched", name) &&
			    (!stacks || event_has_stacks(events, &events->v[e])))
				return true;
		}
	}
	return false;
}

/* Does the rule record what `frbpf why` needs? A wait for a CPU needs only the switches. */
static bool can_explain(const struct linter *l, const struct rule_conf *rule)
{
	if (rule->when.source == FRBPF_SOURCE_RUNQLAT)
		return rule_records(l, rule, "sched_switch", false);
	return rule_records(l, rule, "sched_switch", true) &&
	       rule_records(l, rule, "sched_waking", true);
}

/* Warns once, since usually all rules lack the same. */
static void check_why(const struct linter *l)
{
	for (size_t i = 0; i < l->rs->n_rules; i++) {
		const struct rule_conf *rule = &l->rs->rules[i];

		if (rule->quiet || !rule_lasts(rule) || !when__has_subject(rule->when.source) ||
		    can_explain(l, rule))
			continue;
		diags__warn(l->d, rule->src ?: l->rs->config->src, rule->when_span,
			    "`frbpf why` cannot tell who made the subject wait: give this rule a "
			    "session with run = evidence, or -e sched:sched_switch -e "
			    "sched:sched_waking -g");
		return;
	}
}

static void check_frequencies(const struct linter *l)
{
	for (size_t s = 0; s < l->plan->n_sessions; s++) {
		const struct event_list *events = l->plan->sessions[s].events;

		for (size_t e = 0; e < events->n; e++) {
			if (events->v[e].attr.freq && events->v[e].attr.sample_freq)
				check_throttling(l, s, &events->v[e]);
		}
	}
}

/* What to record in place of software events that recordings cannot share well. NULL: nothing. */
static const struct {
	uint64_t config;
	const char *instead;
} shared_badly[] = {
#if defined(__x86_64__)
	{ PERF_COUNT_SW_PAGE_FAULTS, "exceptions:page_fault_user" },
	{ PERF_COUNT_SW_PAGE_FAULTS_MIN, "exceptions:page_fault_user" },
#else
	{ PERF_COUNT_SW_PAGE_FAULTS, "kmem:mm_page_alloc" },
	{ PERF_COUNT_SW_PAGE_FAULTS_MIN, "kmem:mm_page_alloc" },
#endif
	{ PERF_COUNT_SW_PAGE_FAULTS_MAJ, "filemap:mm_filemap_add_to_page_cache" },
	{ PERF_COUNT_SW_CONTEXT_SWITCHES, "sched:sched_switch" },
	{ PERF_COUNT_SW_CGROUP_SWITCHES, "sched:sched_switch" },
	{ PERF_COUNT_SW_CPU_MIGRATIONS, "sched:sched_migrate_task" },
	{ PERF_COUNT_SW_ALIGNMENT_FAULTS, NULL },
	{ PERF_COUNT_SW_EMULATION_FAULTS, NULL },
};

/*
 * Warn, once per session, about software events that break if another recording has them, too. The
 * kernel fills in the data of a sample once for all events of a hit, with the time and id of one.
 */
static void check_neighbours(const struct linter *l, size_t session)
{
	const struct event_list *events = l->plan->sessions[session].events;
	const struct session_conf *conf = &l->rs->sessions[session];

	for (size_t e = 0; e < events->n; e++) {
		const struct event *ev = &events->v[e];
		size_t i = 0;

		while (i < ARRAY_SIZE(shared_badly) && shared_badly[i].config != ev->attr.config)
			i++;
		if (ev->attr.type != PERF_TYPE_SOFTWARE || i == ARRAY_SIZE(shared_badly))
			continue;
		diags__warn(
			l->d, conf->src, ev->span.len ? ev->span : conf->run_span,
			"on some kernels, samples of '%s' get mixed up if another `perf record` "
			"records it, too: %s%s",
			ev->name, shared_badly[i].instead ? "record " : "leave it out",
			shared_badly[i].instead ? shared_badly[i].instead : "");
		return;
	}
}

#define RECORD_LARGEST (64U << 10)

/* Warn about rings that a single record may exceed: it would overwrite itself. */
static void check_stacks(const struct linter *l, size_t session)
{
	const struct session_plan *s = &l->plan->sessions[session];

	for (size_t e = 0; e < s->events->n; e++) {
		if (!s->events->v[e].attr.sample_stack_user || s->ring_bytes > RECORD_LARGEST)
			continue;
		diags__warn(l->d, l->rs->sessions[session].src, l->rs->sessions[session].run_span,
			    "a sample with its stack can be larger than this ring, and is lost "
			    "then: use -m 128K at least");
		return;
	}
}

/* Warn about dumps by size: if SIZE exceeds the ring, records are overwritten before the dump. */
static void check_switch_size(const struct linter *l, size_t session)
{
	const struct session_plan *s = &l->plan->sessions[session];
	char rings[16];

	if (s->plain || s->output.every_bytes <= s->ring_bytes)
		return;
	diags__warn(
		l->d, l->rs->config->src, l->rs->sessions[session].run_span,
		"its rings hold %s of each CPU: with --switch-output=SIZE above that, a busy CPU "
		"overwrites records before they are dumped; use a larger -m",
		units__format_size(s->ring_bytes, rings, sizeof(rings)));
}

/* Warn if `ring` has no room to grow: until larger rings take over, both need memory. */
static void check_room_to_grow(const struct linter *l, size_t session)
{
	const struct session_conf *conf = &l->rs->sessions[session];
	const struct session_plan *s = &l->plan->sessions[session];
	uint64_t larger = session__memory(2 * s->ring_bytes, l->plan->n_cpus, false);
	char need[16], max[16];

	if (!conf->ring || s->window_least || l->plan->memory + larger <= l->plan->max_memory)
		return;
	diags__warn(l->d, l->rs->config->src, conf->ring_span,
		    "the rate has to be measured, and max-memory, which is %s, leaves no room for "
		    "larger rings: they take %s at least beside the first ones",
		    units__format_size(l->plan->max_memory, max, sizeof(max)),
		    units__format_size(larger, need, sizeof(need)));
}

void lint__ruleset(const struct ruleset *rs, const struct plan *p, struct diags *d)
{
	const struct linter l = { .rs = rs, .plan = p, .d = d };

	for (size_t i = 0; i < rs->n_rules; i++)
		lint_rule(&l, &rs->rules[i]);
	for (size_t i = 0; i < rs->n_rules; i++)
		tracepoint_bind__warn(&rs->rules[i], d);
	for (size_t i = 0; rs->n_rules && i < rs->n_sessions; i++)
		lint_session_use(&l, i);
	check_why(&l);
	check_memory_for_reload(&l);
	check_frequencies(&l);
	for (size_t i = 0; i < p->n_sessions; i++) {
		check_neighbours(&l, i);
		check_stacks(&l, i);
		check_switch_size(&l, i);
		check_room_to_grow(&l, i);
	}
}
