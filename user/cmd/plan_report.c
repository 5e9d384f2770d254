// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "cmd/plan_report.h"
#include "cmd/probe_report.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "detect/detectors.h"
#include "detect/tracepoint/tracepoint_bind.h"
#include "record/session.h"
#include "rules/units.h"

#define EVENTS_SHOWN 6 /* names; the rest are only counted */

/* ---- making ---- */

static void add_program(const char *kind, const char *target, void *arg)
{
	json_array_append_new(arg, json_sprintf("%s/%s", kind, target));
}

/* Add a program unless it is listed: rules on one tracepoint share it. */
static void add_new_program(const char *kind, const char *target, void *arg)
{
	json_t *text = json_sprintf("%s/%s", kind, target), *v;
	size_t i;

	json_array_foreach ((json_t *)arg, i, v) {
		if (json_equal(v, text)) {
			json_decref(text);
			return;
		}
	}
	json_array_append_new(arg, text);
}

static json_t *make_source(const struct ruleset *rs, const struct when_source_desc *source)
{
	json_t *rules = json_array(), *programs, *places;
	int err;

	programs = json_array();
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (rs->rules[i].when.source != source->source)
			continue;
		json_array_append_new(rules, json_string(rs->rules[i].name));
		tracepoint_bind__programs(&rs->rules[i], add_new_program, programs);
	}
	if (!json_array_size(rules)) {
		json_decref(rules);
		json_decref(programs);
		return NULL;
	}
	err = detectors__programs(source->source, add_program, programs);
	if (err && err != -ENOENT) /* libbpf has its own error numbers */
		json_alloc__note_failure();
	places = probe_report__make(rs, source->source);
	return json_pack("{s:s, s:s, s:o, s:o, s:o*}", "name", source->name, "meaning",
			 source->meaning, "programs", programs, "rules", rules, "places", places);
}

static json_t *make_duration(uint64_t ns)
{
	return ns == RULESET_WINDOW_AUTO ? json_null() : json_integer(ns);
}

/*
 * Rules on messages do not see FRBPF_TRIGGER(): suggest a `when` that does. NULL: the name is not
 * valid in C.
 */
static json_t *make_trigger_hint(const struct when *when)
{
	const char *name = when->target;

	if (when->source != FRBPF_SOURCE_APP || strspn(name, "0123456789") || strpbrk(name, "-."))
		return NULL;
	if (when->hit)
		return json_sprintf("when = usdt:PATH:frbpf:%s", name);
	return json_sprintf("when = usdt:PATH:frbpf:%s with if = arg0 > %" PRIu64, name,
			    when->threshold);
}

/* "3 in 10s per process"; @args NULL: without "per". */
static json_t *make_rate(const struct rate *r, enum frbpf_source source,
			 const struct rule_args *args)
{
	json_t *j =
		json_pack("{s:I, s:I}", "n", (json_int_t)r->n, "window_ns", (json_int_t)r->time);

	if (j && args)
		json_object_set_new(j, "per", json_string(rate__per_name(r, source, args)));
	return j;
}

static json_t *make_learn(const struct when_learn *l)
{
	return json_pack("{s:f, s:f, s:I, s:I}", "percentile", l->percentile / 100.0, "factor",
			 l->factor / 100.0, "window_ns", (json_int_t)l->time, "values_needed",
			 (json_int_t)when_learn__least(l));
}

static json_t *make_share(const struct rule_conf *rule)
{
	const struct when_share *s = &rule->when.share;
	const struct rate per = { .per = s->per, .field = s->field };

	return json_pack("{s:I, s:I, s:s}", "sum_ns", (json_int_t)rule->when.threshold, "window_ns",
			 (json_int_t)s->time, "per",
			 rate__per_name(&per, rule->when.source, &rule->args));
}

/* Add what the rule sums up or learns, and how often it may dump. */
static void add_rates(json_t *j, const struct rule_conf *rule)
{
	const enum frbpf_source source = rule->when.source;

	json_object_set_new(j, "cooldown_per",
			    json_string(rate__per_name(&rule->cooldown, source, &rule->args)));
	if (when__compares(&rule->when) && rule->cooldown.time && rule->escalate)
		json_object_set_new(j, "escalate", json_real(rule->escalate / 100.0));
	json_object_set_new(j, "max_dumps", make_rate(&rule->max_dumps, source, NULL));
	if (rule->when.share.time)
		json_object_set_new(j, "share", make_share(rule));
	if (rule->when.learn.percentile)
		json_object_set_new(j, "learn", make_learn(&rule->when.learn));
	if (rule->count.n)
		json_object_set_new(j, "count", make_rate(&rule->count, source, &rule->args));
}

static json_t *make_rule(const struct ruleset *rs, const struct rule_conf *rule)
{
	_cleanup_free_ char *way = tracepoint_bind__way(rule);
	json_t *sessions = json_array(), *j;

	for (size_t i = 0; i < rule->n_sessions; i++)
		json_array_append_new(sessions, json_string(rs->sessions[rule->sessions[i]].name));
	j = json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "name", json_text_or_null(rule->name),
		      "when", json_text_or_null(rule->when_text), "if",
		      json_text_or_null(rule->if_text), "sessions", sessions, "pre_ns",
		      make_duration(rule->pre), "post_ns", (json_int_t)rule->post, "cooldown_ns",
		      (json_int_t)rule->cooldown.time);
	if (!way)
		json_alloc__note_failure();
	if (j && way && *way)
		json_object_set_new(j, "way", json_string(way));
	if (j)
		json_object_set_new(j, "trigger_hint", make_trigger_hint(&rule->when));
	if (j)
		add_rates(j, rule);
	return j;
}

static json_t *json_plan_session(const struct session_conf *conf, const struct session_plan *s,
				 size_t n_cpus)
{
	json_t *events = json_array(), *j;

	for (size_t i = 0; i < s->events->n; i++)
		json_array_append_new(events, json_string(s->events->v[i].name));
	j = json_pack("{s:s, s:s, s:o, s:I, s:I, s:I}", "name", conf->name, "run", conf->run,
		      "events", events, "left_out", (json_int_t)s->events->left_out, "ring_bytes",
		      (json_int_t)s->ring_bytes, "memory_bytes",
		      (json_int_t)session__memory(s->ring_bytes, n_cpus, s->plain));
	if (j && conf->ring)
		json_object_set_new(j, "ring_ns", json_integer(conf->ring));
	if (j && conf->lacking)
		json_object_set_new(j, "lacking", json_string(conf->lacking));
	if (j && s->window_most)
		json_object_set_new(j, "window_ns",
				    json_pack("{s:I, s:I}", "least", (json_int_t)s->window_least,
					      "most", (json_int_t)s->window_most));
	return j;
}

json_t *plan_report__make(const struct ruleset *rs, const struct plan *p)
{
	json_t *sources = json_array(), *rules = json_array(), *sessions = json_array(), *j;
	uint64_t rings = 0;

	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		if ((j = make_source(rs, s)))
			json_array_append_new(sources, j);
	}
	for (size_t i = 0; i < rs->n_rules; i++)
		json_array_append_new(rules, make_rule(rs, &rs->rules[i]));
	for (size_t i = 0; i < p->n_sessions; i++) {
		rings += p->sessions[i].ring_bytes;
		json_array_append_new(
			sessions, json_plan_session(&rs->sessions[i], &p->sessions[i], p->n_cpus));
	}
	return json_pack("{s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}}", "sources",
			 sources, "rules", rules, "sessions", sessions, "memory", "cpus",
			 (json_int_t)p->n_cpus, "ring_bytes_per_cpu", (json_int_t)rings,
			 "ring_bytes", (json_int_t)(rings * p->n_cpus), "copy_bytes",
			 (json_int_t)(p->memory - p->sideband_memory - rings * p->n_cpus),
			 "sideband_ring_bytes", (json_int_t)p->sideband_memory, "used_bytes",
			 (json_int_t)p->memory, "max_bytes", (json_int_t)p->max_memory);
}

json_t *plan_report__messages(const struct diags *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->n; i++) {
		const struct diag *m = &d->v[i];
		json_t *j =
			json_pack("{s:s, s:s}", "level",
				  m->level == DIAG_ERROR ? "error" : "warning", "message", m->msg);

		if (j && m->src) {
			size_t line, column;

			diag__place(m, &line, &column);
			json_object_set_new(j, "file",
					    json_string(source_text__name_at(m->src, m->span.off)));
			json_object_set_new(j, "line", json_integer(line));
			json_object_set_new(j, "column", json_integer(column));
			json_object_set_new(j, "text",
					    json_stringn(m->src->text + m->span.off, m->span.len));
		}
		json_array_append_new(list, j);
	}
	return list;
}

/* ---- printing ---- */

static void print_names(const json_t *names, size_t max)
{
	size_t n = json_array_size(names);

	for (size_t i = 0; i < n && i < max; i++)
		printf("%s%s", i ? ", " : "", json_string_value(json_array_get(names, i)) ?: "");
	if (n > max)
		printf(", and %zu more", n - max);
}

static size_t count_equal(const json_t *list, const json_t *of, size_t from)
{
	size_t n = 0;

	for (size_t i = from; i < json_array_size(list); i++)
		n += json_equal(json_array_get(list, i), of);
	return n;
}

/* Print several programs on one event once: "tp_btf/x (2)". */
static void print_events_of(const json_t *programs)
{
	const char *lead = "";
	const json_t *v;
	size_t i;

	json_array_foreach (programs, i, v) {
		size_t all = count_equal(programs, v, 0);

		if (count_equal(programs, v, i) < all)
			continue;
		printf("%s%s", lead, json_string_value(v) ?: "");
		if (all > 1)
			printf(" (%zu)", all);
		lead = ", ";
	}
}

static void print_programs(const json_t *programs, bool rules_only)
{
	printf("  programs:   ");
	if (rules_only)
		printf("none: it uses those of the rules that it names");
	else if (json_array_size(programs))
		printf("%zu: ", json_array_size(programs));
	else
		printf("none: the recorder waits for these events itself");
	print_events_of(programs);
	putchar('\n');
}

static void print_source(const json_t *s)
{
	const json_t *rules = json_object_get(s, "rules");
	const json_t *programs = json_object_get(s, "programs");
	const json_t *places = json_object_get(s, "places");
	size_t n = json_array_size(rules);

	printf("source %s: %s\n", str(s, "name"), str(s, "meaning"));
	if (places)
		probe_report__print(places);
	else
		print_programs(programs,
			       !strcmp(str(s, "name"), when__source_name(FRBPF_SOURCE_RULES)));
	printf("  rules:      %zu%s: ", n, n > 1 && !places ? " share them" : "");
	print_names(rules, SIZE_MAX);
	putchar('\n');
}

/* Print " per process"; nothing if all are counted together. */
static void print_per(const char *per)
{
	if (per[0] && strcmp(per, "rule") != 0)
		printf(" per %s", per);
}

static void print_rate(const json_t *rate)
{
	char a[32];

	printf("%" PRIu64 " in %s", num(rate, "n"),
	       units__format_duration(num(rate, "window_ns"), a, sizeof(a)));
	print_per(str(rate, "per"));
}

static void print_dumps(const json_t *r)
{
	const json_t *pre = json_object_get(r, "pre_ns");
	char a[32];

	if (!json_array_size(json_object_get(r, "sessions"))) {
		printf("none: it only counts");
		return;
	}
	print_names(json_object_get(r, "sessions"), SIZE_MAX);
	printf("; pre %s", json_is_integer(pre)
				   ? units__format_duration(json_integer_value(pre), a, sizeof(a))
				   : "as far as the rings reach");
	printf(", post %s", units__format_duration(num(r, "post_ns"), a, sizeof(a)));
	printf(", cooldown %s", units__format_duration(num(r, "cooldown_ns"), a, sizeof(a)));
	print_per(str(r, "cooldown_per"));
	if (json_object_get(r, "escalate"))
		printf(", escalate %gx", json_real_value(json_object_get(r, "escalate")));
	printf(", max-dumps ");
	print_rate(json_object_get(r, "max_dumps"));
}

static void print_share(const json_t *share)
{
	char sum[32], window[32];

	printf("\n  adds up:    fires above %s of %s",
	       units__format_duration(num(share, "sum_ns"), sum, sizeof(sum)),
	       units__format_duration(num(share, "window_ns"), window, sizeof(window)));
	print_per(str(share, "per"));
}

static void print_learn(const json_t *learn)
{
	char window[32];

	printf("\n  learns:     p%g of the last %s; fires from %" PRIu64
	       " values on; the recorder keeps them over reloads and restarts",
	       json_number_value(json_object_get(learn, "percentile")),
	       units__format_duration(num(learn, "window_ns"), window, sizeof(window)),
	       num(learn, "values_needed"));
}

static void print_plan_rule(const json_t *r)
{
	const json_t *count = json_object_get(r, "count");

	printf("rule %s: %s", str(r, "name"), str(r, "when"));
	if (str(r, "if")[0])
		printf(" if %s", str(r, "if"));
	if (str(r, "way")[0])
		printf("\n  looks:      %s", str(r, "way"));
	if (str(r, "trigger_hint")[0])
		printf("\n  messages:   for FRBPF_TRIGGER() in a program write %s",
		       str(r, "trigger_hint"));
	if (json_object_get(r, "share"))
		print_share(json_object_get(r, "share"));
	if (json_object_get(r, "learn"))
		print_learn(json_object_get(r, "learn"));
	if (count) {
		printf("\n  count:      ");
		print_rate(count);
	}
	printf("\n  dumps:      ");
	print_dumps(r);
	putchar('\n');
}

static void print_window(const json_t *s)
{
	const json_t *window = json_object_get(s, "window_ns");
	char least[32], most[32];

	if (num(s, "ring_ns"))
		printf("  rings:      are sized from the measured rate to hold %s; this is their "
		       "initial size\n",
		       units__format_duration(num(s, "ring_ns"), least, sizeof(least)));
	if (!window) {
		printf("  window:     depends on how often the events happen: see `frbpf status "
		       "-v` while it records\n");
		return;
	}
	units__format_duration(num(window, "least"), least, sizeof(least));
	units__format_duration(num(window, "most"), most, sizeof(most));
	if (strcmp(least, most) == 0)
		printf("  window:     %s of a busy CPU\n", least);
	else
		printf("  window:     %s to %s of a busy CPU, depending on the depth of its "
		       "stacks\n",
		       least, most);
}

static void print_plan_session(const json_t *s, uint64_t cpus)
{
	const json_t *events = json_object_get(s, "events");
	char ring[16], memory[16];

	printf("session %s: perf record ", str(s, "name"));
	cmd_print_run_line(s);
	printf("\n  events:     %zu", json_array_size(events));
	if (json_array_size(events)) {
		printf(": ");
		print_names(events, EVENTS_SHOWN);
	}
	if (num(s, "left_out"))
		printf("; %" PRIu64 " tracepoints of the line were not checked",
		       num(s, "left_out"));
	if (str(s, "lacking")[0])
		printf("\n  lacking:    this kernel has no %s", str(s, "lacking"));
	printf("\n  memory:     %s of ring and %s of copy on each of %" PRIu64 " CPUs, %s\n",
	       units__format_size(num(s, "ring_bytes"), ring, sizeof(ring)), ring, cpus,
	       units__format_size(num(s, "memory_bytes"), memory, sizeof(memory)));
	print_window(s);
}

static void print_plan_memory(const json_t *m)
{
	char rings[16], copies[16], sideband[16], used[16], max[16];

	printf("memory: %s of rings + %s of copies + %s of side band = %s of %s (max-memory)\n",
	       units__format_size(num(m, "ring_bytes"), rings, sizeof(rings)),
	       units__format_size(num(m, "copy_bytes"), copies, sizeof(copies)),
	       units__format_size(num(m, "sideband_ring_bytes"), sideband, sizeof(sideband)),
	       units__format_size(num(m, "used_bytes"), used, sizeof(used)),
	       units__format_size(num(m, "max_bytes"), max, sizeof(max)));
}

void plan_report__print(const json_t *plan)
{
	const json_t *memory = json_object_get(plan, "memory"), *v;
	size_t i;

	json_array_foreach (json_object_get(plan, "sources"), i, v)
		print_source(v);
	json_array_foreach (json_object_get(plan, "rules"), i, v)
		print_plan_rule(v);
	json_array_foreach (json_object_get(plan, "sessions"), i, v)
		print_plan_session(v, num(memory, "cpus"));
	print_plan_memory(memory);
}
