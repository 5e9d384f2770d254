// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_report.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "common/printable.h"
#include "common/version.h"
#include "rules/units.h"
#include "run/report/report.h"

static int command__format(char *const *command, struct buf *b)
{
	int err = buf__add_str(b, "");

	for (size_t i = 0; command[i] && !err; i++) {
		err = buf__add_str(b, i ? " " : "");
		err = err ?: escape__shell(b, command[i]);
	}
	return err;
}

const char *bench_report__incident_rule(const json_t *incident)
{
	const json_t *first = json_array_get(json_object_get(incident, "triggers"), 0);

	return json_string_value(json_object_get(first, "rule")) ?: "";
}

/* The first file written: sessions are ordered as in the rules file. */
int bench_report__open_command(const json_t *incident, struct buf *b)
{
	const json_t *file, *files = json_object_get(incident, "files");
	size_t i;

	json_array_foreach (files, i, file) {
		const char *path = json_string_value(json_object_get(file, "file"));
		int err;

		if (!path)
			continue;
		err = buf__add_str(b, "perf script -i ");
		return err ?: escape__shell(b, path);
	}
	return buf__printf(b, "# incident %s of run %lld has no file",
			   json_string_value(json_object_get(incident, "name")) ?: "",
			   (long long)json_integer_value(json_object_get(incident, "run")));
}

/* ---- JSON ---- */

static json_t *bench_rule__json(const struct bench_rule *r)
{
	return json_pack("{s:o, s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:o}", "name",
			 report__text(r->name), "when", report__text(r->when), "if",
			 r->condition ? report__text(r->condition) : json_null(), "failed",
			 r->failed, "threshold_ns", (json_int_t)r->threshold, "matched",
			 (json_int_t)r->matched, "fired", (json_int_t)r->fired, "matches",
			 r->has_values ? json_null() : report__histogram(&r->values), "values",
			 r->has_values ? report__histogram(&r->values) : json_null());
}

int bench_report__json(const struct bench_result *r, struct buf *b)
{
	_cleanup_free_ char *text = NULL;
	json_t *rules = json_array(), *argv = json_array(), *j;

	for (size_t i = 0; i < r->n_rules; i++)
		json_array_append_new(rules, bench_rule__json(&r->rules[i]));
	for (size_t i = 0; r->command[i]; i++)
		json_array_append_new(argv, report__text(r->command[i]));
	j = json_pack("{s:i, s:s, s:b, s:o, s:i, s:b, s:{s:o}, s:o, s:O?, s:o, s:o, s:o}", "schema",
		      BENCH_SCHEMA, "frbpf", frbpf_version, "recorded", r->recorded, "reason",
		      r->recorded ? json_null() : report__text(r->reason), "exit_status",
		      r->exit_status, "fired", bench_result__fired(r), "command", "argv", argv,
		      "rules", rules, "incidents", r->incidents, "runs", bench_series__json(r->now),
		      "against_runs", bench_series__json(r->against), "comparison",
		      bench_compare__json(r));
	if (j)
		text = json_dumps(j, JSON_INDENT(2));
	json_decref(j);
	return text ? buf__printf(b, "%s\n", text) : -ENOMEM;
}

/* ---- markdown ---- */

static int bench_report__add_head(const struct bench_result *r, struct buf *b)
{
	const struct comparison *c = r->comparison;
	struct buf command = { 0 };
	size_t fired = 0;
	int err;

	if (!r->recorded) {
		err = buf__add_str(b, "### frbpf: not recorded\n\n");
		err = err ?: escape__markdown(b, r->reason);
		return err ?: buf__add_str(b, "\n");
	}
	for (size_t i = 0; i < r->n_rules; i++)
		fired += r->rules[i].failed;
	err = buf__printf(b, "### frbpf: %s%s%zu of %zu rules fired\n\n",
			  c && c->verdict != VERDICT_PASS ? verdict__name(c->verdict) : "",
			  c && c->verdict != VERDICT_PASS ? ", " : "", fired, r->n_rules);
	err = err ?: command__format(r->command, &command);
	err = err ?: escape__markdown(b, command.data);
	buf__free(&command);
	return err
		       ?: buf__printf(
				  b,
				  ", %zu runs, of which those with an incident have a directory\n",
				  r->n_runs);
}

static int bench_rule__add_row(const struct bench_rule *r, struct buf *b)
{
	const struct histogram *h = &r->values;
	char p50[32], p99[32], max[32];
	int err = buf__printf(b, "| %s %s| ", r->name, r->failed ? "**fired** " : "");

	err = err ?: escape__markdown(b, r->when);
	if (!err && r->condition) {
		err = buf__add_str(b, " if ");
		err = err ?: escape__markdown(b, r->condition);
	}
	err = err
		      ?: buf__printf(b, " | %llu | %llu%s |", (unsigned long long)r->matched,
				     (unsigned long long)h->n, r->has_values ? "" : " matches");
	if (err || !h->n)
		return err ?: buf__add_str(b, " | | |\n");
	return buf__printf(b, " %s | %s | %s |\n",
			   units__format_duration(histogram__percentile(h, 50), p50, sizeof(p50)),
			   units__format_duration(histogram__percentile(h, 99), p99, sizeof(p99)),
			   units__format_duration(h->max, max, sizeof(max)));
}

static int bench_report__add_incident(const json_t *incident, struct buf *b)
{
	const char *rule = bench_report__incident_rule(incident);
	struct buf command = { 0 };
	int err;

	if (!*rule || json_is_true(json_object_get(incident, "capture")))
		return 0;
	err = buf__printf(b, "\n#### run %lld, incident %s: rule %s\n\n    ",
			  (long long)json_integer_value(json_object_get(incident, "run")),
			  json_string_value(json_object_get(incident, "name")) ?: "", rule);
	err = err ?: bench_report__open_command(incident, &command);
	err = err ?: escape__plain(b, command.data);
	buf__free(&command);
	return err ?: buf__add_str(b, "\n");
}

int bench_report__markdown(const struct bench_result *r, struct buf *b)
{
	int err = bench_report__add_head(r, b);
	const json_t *incident;
	size_t i;

	err = err ?: bench_compare__markdown(r, b);
	if (!err && r->n_rules)
		err = buf__add_str(b, "\n| rule | when | matched | values | p50 | p99 | max |\n"
				      "|---|---|--:|--:|--:|--:|--:|\n");
	for (i = 0; i < r->n_rules && !err; i++)
		err = bench_rule__add_row(&r->rules[i], b);
	json_array_foreach (r->incidents, i, incident)
		err = err ?: bench_report__add_incident(incident, b);
	return err;
}

/* ---- JUnit ---- */

/* Append the name, `when` and `if` of the rule as XML. */
static int bench_rule__add_xml(const struct bench_rule *r, struct buf *b)
{
	struct buf text = { 0 };
	int err = buf__printf(&text, "%s: %s%s%s", r->name, r->when, r->condition ? " if " : "",
			      r->condition ?: "");

	err = err ?: escape__xml(b, text.data);
	buf__free(&text);
	return err;
}

int bench_report__add_xml_command(const json_t *incident, struct buf *b)
{
	struct buf line = { 0 };
	int err = bench_report__open_command(incident, &line);

	err = err ?: escape__xml(b, line.data);
	err = err ?: buf__add_str(b, "\n");
	buf__free(&line);
	return err;
}

/* Append the commands that open the worst incidents of the rule, one per line. */
static int bench_rule__add_commands(const struct bench_result *r, const char *name, struct buf *b)
{
	const json_t *incident;
	int err = 0;
	size_t i;

	json_array_foreach (r->incidents, i, incident) {
		if (!strcmp(bench_report__incident_rule(incident), name) &&
		    !json_is_true(json_object_get(incident, "capture")))
			err = err ?: bench_report__add_xml_command(incident, b);
	}
	return err;
}

static int bench_rule__add_case(const struct bench_result *r, const struct bench_rule *rule,
				struct buf *b)
{
	char max[32];
	int err = buf__add_str(b, "    <testcase classname=\"frbpf\" name=\"");

	err = err ?: bench_rule__add_xml(rule, b);
	err = err ?: buf__add_str(b, "\" time=\"0.000\">\n");
	units__format_duration(rule->values.max, max, sizeof(max));
	if (!err && rule->failed) {
		err = buf__printf(b,
				  "      <failure type=\"rule\" message=\"fired %llu times; at "
				  "most %s\">",
				  (unsigned long long)rule->fired, max);
		err = err ?: bench_rule__add_commands(r, rule->name, b);
		err = err ?: buf__add_str(b, "</failure>\n");
	}
	return err
		       ?: buf__printf(b,
				      "      <system-out>matched %llu times; %llu values, at most "
				      "%s</system-out>\n    </testcase>\n",
				      (unsigned long long)rule->matched,
				      (unsigned long long)rule->values.n, max);
}

int bench_report__junit(const struct bench_result *r, struct buf *b)
{
	size_t failures = bench_compare__cases(r, VERDICT_REGRESSED);
	size_t skipped = bench_compare__cases(r, VERDICT_DISTURBED);
	size_t cases = r->n_rules + failures + skipped + bench_compare__cases(r, VERDICT_PASS);
	int err;

	for (size_t i = 0; i < r->n_rules; i++)
		failures += r->rules[i].failed;
	skipped += !r->recorded;
	cases += !r->recorded;
	err = buf__printf(b,
			  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			  "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n"
			  "  <testsuite name=\"frbpf bench\" tests=\"%zu\" failures=\"%zu\" "
			  "errors=\"0\" skipped=\"%zu\">\n",
			  cases, failures, cases, failures, skipped);
	for (size_t i = 0; !err && i < r->n_rules; i++)
		err = bench_rule__add_case(r, &r->rules[i], b);
	err = err ?: bench_compare__junit(r, b);
	if (!err && !r->recorded) {
		err = buf__add_str(b, "    <testcase classname=\"frbpf\" name=\"recording\" "
				      "time=\"0.000\">\n      <skipped message=\"");
		err = err ?: escape__xml(b, r->reason);
		err = err ?: buf__add_str(b, "\"/>\n    </testcase>\n");
	}
	return err ?: buf__add_str(b, "  </testsuite>\n</testsuites>\n");
}

/* ---- CI services ---- */

int bench_report__github(const struct bench_result *r, struct buf *b)
{
	int err = 0;

	for (size_t i = 0; i < r->n_rules && !err; i++) {
		const struct bench_rule *rule = &r->rules[i];

		if (!rule->failed)
			continue;
		err = buf__add_str(b, "::error title=");
		err = err ?: escape__github_property(b, "frbpf: rule ");
		err = err ?: escape__github_property(b, rule->name);
		err = err ?: buf__add_str(b, "::");
		err = err ?: escape__github(b, rule->when);
		err = err
			      ?: buf__printf(b, " fired %llu times in %zu runs\n",
					     (unsigned long long)rule->fired, r->n_runs);
	}
	return err ?: bench_compare__github(r, b);
}

int bench_report__write(const struct bench_result *r, int fd, struct err *err)
{
	static const struct outcome links_only;
	struct report_texts t = { 0 };
	const char *url, *within;
	int code = bench_report__json(r, &t.json);

	code = code ?: bench_report__junit(r, &t.junit);
	code = code ?: bench_report__markdown(r, &t.markdown);
	code = code ?: bench_report__github(r, &t.github);
	if (!code && report__gitlab_place(r->directory, &url, &within))
		code = report_gitlab(&links_only, url, within, &t.gitlab);
	if (code)
		err_set(err, code, "the reports cannot be written: out of memory");
	else
		code = report_texts__write(&t, fd, true, err);
	report_texts__free(&t);
	return code;
}

static const char *json_text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static int bench_rule__init(struct bench_rule *rule, const json_t *j)
{
	const char *condition = json_text_of(j, "if");

	rule->name = strdup(json_text_of(j, "name") ?: "");
	rule->when = strdup(json_text_of(j, "when") ?: "");
	rule->condition = condition ? strdup(condition) : NULL;
	rule->threshold = json_integer_value(json_object_get(j, "threshold_ns"));
	return rule->name && rule->when && (!condition || rule->condition) ? 0 : -ENOMEM;
}

static int bench_result__init_rules(struct bench_result *r, const struct run_summary *s)
{
	const json_t *j;
	size_t i;

	r->rules = calloc(json_array_size(s->rules) ?: 1, sizeof(*r->rules));
	if (!r->rules)
		return -ENOMEM;
	json_array_foreach (s->rules, i, j) {
		if (bench_rule__init(&r->rules[r->n_rules++], j))
			return -ENOMEM;
	}
	return 0;
}

static void bench_rule__add(struct bench_rule *rule, const json_t *j)
{
	struct histogram h, *to = &rule->values;

	rule->has_values = run_summary__histogram(j, &h);
	rule->matched += json_integer_value(json_object_get(j, "matched"));
	rule->fired += json_integer_value(json_object_get(j, "fired"));
	rule->failed |= json_is_true(json_object_get(j, "failed"));
	for (int i = 0; i < FRBPF_MAX_VALUES; i++)
		to->buckets[i] += h.buckets[i];
	to->n += h.n;
	to->sum += h.sum;
	to->max = h.max > to->max ? h.max : to->max;
}

static int bench_result__add_incident(struct bench_result *r, const json_t *incident, size_t run,
				      bool capture)
{
	json_t *copy = json_deep_copy(incident);

	if (json_object_set_new(copy, "run", json_integer((json_int_t)run)) ||
	    json_object_set_new(copy, "capture", json_boolean(capture))) {
		json_decref(copy);
		return -ENOMEM;
	}
	return json_array_append_new(r->incidents, copy) ? -ENOMEM : 0;
}

int bench_result__add(struct bench_result *r, const struct run_summary *s, size_t run, bool capture)
{
	const json_t *j;
	int err = 0;
	size_t i;

	if (!r->incidents)
		r->incidents = json_array();
	if (!r->incidents || (!r->rules && bench_result__init_rules(r, s)))
		return -ENOMEM;
	json_array_foreach (s->incidents, i, j)
		err = err ?: bench_result__add_incident(r, j, run, capture);
	if (err || capture)
		return err;
	r->n_runs++;
	json_array_foreach (s->rules, i, j) {
		if (i < r->n_rules)
			bench_rule__add(&r->rules[i], j);
	}
	return 0;
}

bool bench_result__fired(const struct bench_result *r)
{
	for (size_t i = 0; i < r->n_rules; i++) {
		if (r->rules[i].failed)
			return true;
	}
	return false;
}

void bench_result__free(struct bench_result *r)
{
	for (size_t i = 0; i < r->n_rules; i++) {
		free(r->rules[i].name);
		free(r->rules[i].when);
		free(r->rules[i].condition);
	}
	free(r->rules);
	json_decref(r->incidents);
	*r = (struct bench_result){ 0 };
}
