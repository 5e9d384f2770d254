// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "common/clock.h"
#include "common/printable.h"
#include "rules/units.h"
#include "run/report/report.h"

/* Makes a text that may have characters of XML: the caller escapes it. */
typedef int (*text_fn)(const struct outcome *o, size_t rule, struct buf *b);

static int add_escaped(const struct outcome *o, size_t rule, text_fn fn, struct buf *b)
{
	struct buf text = { 0 };
	int err = fn(o, rule, &text);

	err = err ?: escape__xml(b, text.data ? text.data : "");
	buf__free(&text);
	return err;
}

static int case_name(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_rule *r = &o->rules[rule];

	return buf__printf(b, "%s: %s%s%s", r->name, r->when, r->condition ? " if " : "",
			   r->condition ? r->condition : "");
}

static int rule_fact(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_incident *inc;
	const struct run_trigger *t = outcome__worst(o, rule, &inc);
	char max[32];

	if (t)
		return report__fact(&o->rules[rule], t, b);
	return buf__printf(
		b, "fired; at most %s",
		units__format_duration(o->rules[rule].state.max_value, max, sizeof(max)));
}

/* Append the fact, its cause, and what to look at next. */
static int failure_message(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_incident *inc;
	int err = rule_fact(o, rule, b);
	const char *next;

	if (err || !outcome__worst(o, rule, &inc) || !inc->why)
		return err;
	err = buf__add_str(b, "; why: ") ?: buf__add_str(b, inc->why);
	next = json_string_value(json_object_get(inc->verdict, "next"));
	return err || !next ? err : buf__add_str(b, "; next: ") ?: buf__add_str(b, next);
}

static int incident_name(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_incident *inc;

	return outcome__worst(o, rule, &inc) ? buf__add_str(b, inc->name)
					     : buf__add_str(b, "none: too many were in progress");
}

static int open_command(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_incident *inc;

	return outcome__worst(o, rule, &inc) ? report__open_command(o, inc, b) : 0;
}

static int add_failure(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_rule *r = &o->rules[rule];
	int err = buf__add_str(b, "      <failure type=\"rule\" message=\"");

	err = err ?: add_escaped(o, rule, failure_message, b);
	err = err ?: buf__add_str(b, "\">");
	err = err ?: add_escaped(o, rule, rule_fact, b);
	err = err ? err
		  : buf__printf(b, "\nmatched %llu times, fired %llu times; incident ",
				(unsigned long long)r->state.matched,
				(unsigned long long)r->state.fired);
	err = err ?: add_escaped(o, rule, incident_name, b);
	err = err ?: buf__add_str(b, "\n");
	err = err ?: add_escaped(o, rule, open_command, b);
	return err ?: buf__add_str(b, "\n</failure>\n");
}

static int rule_values(const struct outcome *o, size_t rule, struct buf *b)
{
	const struct run_rule *r = &o->rules[rule];
	const struct histogram *h = r->has_values ? &r->values : &r->matches;
	char p50[32], p99[32], max[32];

	return buf__printf(b, "matched %llu times; %llu values%s: p50 %s, p99 %s, max %s",
			   (unsigned long long)r->state.matched, (unsigned long long)h->n,
			   r->has_values ? "" : " above the threshold",
			   units__format_duration(histogram__percentile(h, 50), p50, sizeof(p50)),
			   units__format_duration(histogram__percentile(h, 99), p99, sizeof(p99)),
			   units__format_duration(h->max, max, sizeof(max)));
}

static int not_recorded_reason(const struct outcome *o, size_t rule, struct buf *b)
{
	return buf__add_str(b, o->reason);
}

static int add_case(const struct outcome *o, size_t i, struct buf *b)
{
	int err = buf__add_str(b, "    <testcase classname=\"frbpf\" name=\"");

	err = err ?: add_escaped(o, i, case_name, b);
	err = err ?: buf__printf(b, "\" time=\"%.3f\">\n", o->wall_ns / 1e9);
	if (!err && run_rule__fired(&o->rules[i]))
		err = add_failure(o, i, b);
	err = err ?: buf__add_str(b, "      <system-out>");
	err = err ?: add_escaped(o, i, rule_values, b);
	return err ?: buf__add_str(b, "</system-out>\n    </testcase>\n");
}

/* Nothing was recorded: the result of the rules is unknown. */
static int add_skipped(const struct outcome *o, struct buf *b)
{
	int err = buf__add_str(b, "    <testcase classname=\"frbpf\" name=\"recording\" "
				  "time=\"0.000\">\n      <skipped message=\"");

	err = err ?: add_escaped(o, 0, not_recorded_reason, b);
	return err ?: buf__add_str(b, "\"/>\n    </testcase>\n");
}

int report_junit(const struct outcome *o, struct buf *b)
{
	size_t failures = 0, cases = o->recorded ? o->n_rules : 1;
	char date[UTC_DATE_SIZE];
	int err;

	for (size_t i = 0; i < o->n_rules; i++)
		failures += run_rule__fired(&o->rules[i]);
	err = buf__printf(
		b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.3f\">\n"
		"  <testsuite name=\"frbpf run\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"%zu\" time=\"%.3f\" timestamp=\"%s\">\n",
		cases, failures, o->wall_ns / 1e9, cases, failures, (size_t)!o->recorded,
		o->wall_ns / 1e9, utc__date(o->realtime, date));
	for (size_t i = 0; o->recorded && !err && i < o->n_rules; i++)
		err = add_case(o, i, b);
	if (!err && !o->recorded)
		err = add_skipped(o, b);
	return err ?: buf__add_str(b, "  </testsuite>\n</testsuites>\n");
}
