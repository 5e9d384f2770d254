// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/printable.h"
#include "common/version.h"
#include "daemon/suppressed_log.h"
#include "rules/units.h"
#include "run/report/report.h"

json_t *report__text(const char *s)
{
	struct buf b = { 0 };
	json_t *j = escape__plain(&b, s) ? NULL : json_string(b.data ? b.data : "");

	buf__free(&b);
	return j;
}

static json_t *json_report_utc(uint64_t ns)
{
	char date[UTC_DATE_SIZE], text[64];

	snprintf(text, sizeof(text), "%s.%03lluZ", utc__date(ns, date),
		 (unsigned long long)(ns % NSEC_PER_SEC / 1000000));
	return json_string(text);
}

json_t *report__histogram(const struct histogram *h)
{
	json_t *buckets = json_array();

	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		if (h->buckets[i])
			json_array_append_new(buckets, json_pack("{s:I, s:I}", "from_ns",
								 (json_int_t)(i ? 1ULL << i : 0),
								 "n", (json_int_t)h->buckets[i]));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "n", (json_int_t)h->n, "sum_ns",
			 (json_int_t)h->sum, "p50_ns", (json_int_t)histogram__percentile(h, 50),
			 "p90_ns", (json_int_t)histogram__percentile(h, 90), "p99_ns",
			 (json_int_t)histogram__percentile(h, 99), "max_ns", (json_int_t)h->max,
			 "buckets", buckets);
}

static json_t *json_report_rules(const struct outcome *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->n_rules; i++) {
		const struct run_rule *r = &o->rules[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:b, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
				  "name", r->name, "when", report__text(r->when), "if",
				  r->condition ? report__text(r->condition) : json_null(),
				  "counts_only", r->quiet, "failed", run_rule__fired(r),
				  "threshold_ns", (json_int_t)r->threshold, "matched",
				  (json_int_t)r->state.matched, "fired", (json_int_t)r->state.fired,
				  "contradicted", (json_int_t)r->contradicted, "suppressed",
				  suppressed__json(&r->state), "matches",
				  report__histogram(&r->matches), "values",
				  r->has_values ? report__histogram(&r->values) : json_null()));
	}
	return list;
}

static json_t *json_report_triggers(const struct outcome *o, const struct run_incident *inc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inc->n_triggers; i++) {
		const struct run_trigger *t = &inc->triggers[i];

		json_array_append_new(
			list, json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:i, s:i, s:b, s:b}",
					"rule", o->rules[t->rule].name, "monotonic_ns",
					(json_int_t)t->time, "value_ns", (json_int_t)t->value,
					"threshold_ns", (json_int_t)t->threshold, "comm",
					report__text(t->comm), "process", report__text(t->process),
					"pid", (int)t->pid, "tid", (int)t->tid, "merged", t->merged,
					"contradicted", t->contradicted));
	}
	return list;
}

static json_t *json_files(const struct run_incident *inc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inc->n_files; i++) {
		const struct run_file *f = &inc->files[i];

		json_array_append_new(
			list, json_pack("{s:s, s:o, s:o}", "session", f->session, "file",
					f->path ? report__text(f->path) : json_null(), "error",
					f->error ? report__text(f->error) : json_null()));
	}
	return list;
}

static json_t *json_frames(const struct run_stack *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_frames; i++) {
		const struct run_frame *f = &s->frames[i];

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:b}", "symbol",
					f->symbol ? report__text(f->symbol) : json_null(), "module",
					report__text(f->module), "kernel", f->kernel));
	}
	return list;
}

static json_t *json_report_stack(const struct run_stack_table *t, const struct run_stack *s)
{
	return json_pack("{s:f, s:o, s:b, s:o, s:o, s:o}", "percent", s->here, "percent_of_rest",
			 t->rest ? json_real(s->rest) : json_null(), "noise", s->noise, "state",
			 s->state[0] ? report__text(s->state) : json_null(), "comm",
			 s->comm[0] ? report__text(s->comm) : json_null(), "frames",
			 json_frames(s));
}

/* Tables per session and event, and for time off CPU. */
static json_t *json_report_stacks(const struct run_incident *inc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inc->n_tables; i++) {
		const struct run_stack_table *t = &inc->tables[i];
		json_t *rows = json_array();

		for (size_t k = 0; k < t->n; k++)
			json_array_append_new(rows, json_report_stack(t, &t->v[k]));
		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:s, s:I, s:I, s:o}", "session", t->session, "event",
				  t->event ? report__text(t->event) : json_null(), "unit",
				  t->event ? "samples" : "off_cpu_ns", "here", (json_int_t)t->here,
				  "rest", (json_int_t)t->rest, "stacks", rows));
	}
	return list;
}

static json_t *json_incidents(const struct outcome *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->n_incidents; i++) {
		const struct run_incident *inc = &o->incidents[i];
		const char *next = json_string_value(json_object_get(inc->verdict, "next"));

		json_array_append_new(
			list, json_pack("{s:s, s:b, s:o, s:I, s:o, s:o, s:o, s:o}", "name",
					inc->name, "last_window", inc->last, "triggers",
					json_report_triggers(o, inc), "more_triggers",
					(json_int_t)inc->more_triggers, "files", json_files(inc),
					"hot_stacks", json_report_stacks(inc), "why",
					inc->why ? report__text(inc->why) : json_null(), "next",
					next ? report__text(next) : json_null()));
	}
	return list;
}

static json_t *json_report_sessions(const struct outcome *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->n_sessions; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:o}", "name", o->sessions[i].name,
						"run", report__text(o->sessions[i].run), "notice",
						report__text(o->sessions[i].notice)));
	return list;
}

static json_t *json_command(const struct outcome *o)
{
	json_t *argv;

	if (!o->opts->command)
		return json_null();
	argv = json_array();
	for (size_t i = 0; o->opts->command[i]; i++)
		json_array_append_new(argv, report__text(o->opts->command[i]));
	return json_pack("{s:o, s:o, s:o}", "argv", argv, "exit_status",
			 o->command_ended && WIFEXITED(o->command_status)
				 ? json_integer(WEXITSTATUS(o->command_status))
				 : json_null(),
			 "signal",
			 o->command_ended && WIFSIGNALED(o->command_status)
				 ? json_integer(WTERMSIG(o->command_status))
				 : json_null());
}

static json_t *json_scope(const struct outcome *o)
{
	switch (o->opts->scope) {
	case RUN_ALL:
		return json_pack("{s:s}", "kind", "all");
	case RUN_PID:
		return json_pack("{s:s, s:i}", "kind", "process", "pid", (int)o->opts->pid);
	case RUN_CGROUP:
		return json_pack("{s:s, s:o}", "kind", "cgroup", "path", report__text(o->cgroup));
	default:
		return json_pack("{s:s}", "kind", "command");
	}
}

/* Cost of the command, and the machine meanwhile. */
static json_t *json_cost(const struct outcome *o)
{
	const struct run_cost *c = &o->cost;
	const struct machine_use *m = &c->machine;

	if (!o->has_cost)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "wall_ns",
			 (json_int_t)c->wall, "cpu_ns", (json_int_t)c->cpu, "switches",
			 (json_int_t)c->switches, "preempted", (json_int_t)c->preempted,
			 "capacity_ns", (json_int_t)m->capacity, "others_ns", (json_int_t)m->others,
			 "steal_ns", (json_int_t)m->steal, "throttled_ns", (json_int_t)m->throttled,
			 "hot", (json_int_t)m->hot, "pressure_cpu_ns", (json_int_t)m->pressure_cpu,
			 "pressure_io_ns", (json_int_t)m->pressure_io, "pressure_memory_ns",
			 (json_int_t)m->pressure_memory);
}

int report_json(const struct outcome *o, struct buf *b)
{
	_cleanup_free_ char *text = NULL;
	json_t *j;

	j = json_pack("{s:i, s:s, s:b, s:o, s:i, s:b, s:o, s:o, s:o, s:I, s:s, s:o, s:o, s:o, s:I, "
		      "s:I, s:I, s:o, s:o}",
		      "schema", REPORT_SCHEMA, "frbpf", frbpf_version, "recorded", o->recorded,
		      "reason", o->recorded ? json_null() : report__text(o->reason), "exit_status",
		      outcome__exit_status(o), "fired", outcome__fired(o), "command",
		      json_command(o), "scope", json_scope(o), "started",
		      o->realtime ? json_report_utc(o->realtime) : json_null(), "recorded_ns",
		      (json_int_t)o->wall_ns, "ended_by", run_end__name(o->end), "rules",
		      json_report_rules(o), "incidents", json_incidents(o), "sessions",
		      json_report_sessions(o), "lost_triggers", (json_int_t)o->lost_triggers,
		      "failed_files", (json_int_t)o->failed_files, "unmeasured_tasks",
		      (json_int_t)o->unseen, "cost", json_cost(o), "unread",
		      o->unread[0] ? report__text(o->unread) : json_null());
	if (j)
		text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	return text ? buf__printf(b, "%s\n", text) : -ENOMEM;
}
