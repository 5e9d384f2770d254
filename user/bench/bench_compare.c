// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench_report.h"
#include "common/printable.h"
#include "rules/units.h"
#include "run/report/report.h"

static const char *format_value(const struct compared *m, double v, char buf[static 32])
{
	if (m->is_time)
		return units__format_duration(v, buf, 32);
	snprintf(buf, 32, "%.0f", v);
	return buf;
}

/* ---- markdown ---- */

static int compare_row__add_spread(const struct compared *m, const struct spread *s, struct buf *b)
{
	char low[32], median[32], high[32];

	if (!s->n)
		return buf__add_str(b, " none |");
	return buf__printf(b, " %s (%s to %s) |", format_value(m, s->median, median),
			   format_value(m, s->low, low), format_value(m, s->high, high));
}

static int compare_row__add(const struct compared *m, struct buf *b)
{
	int err = buf__add_str(b, "| ");

	err = err ?: escape__markdown(b, m->name);
	err = err ?: buf__add_str(b, " |");
	err = err ?: compare_row__add_spread(m, &m->before, b);
	err = err ?: compare_row__add_spread(m, &m->now, b);
	if (!err && m->change == CHANGE_UNKNOWN)
		err = buf__add_str(b, " | |");
	else if (!err)
		err = buf__printf(b, " %.3f | %.3f to %.3f |", m->ratio.estimate, m->ratio.low,
				  m->ratio.high);
	if (!err && m->decides)
		err = buf__printf(b, m->verdict == VERDICT_REGRESSED ? " **%s** |\n" : " %s |\n",
				  verdict__name(m->verdict));
	else if (!err)
		err = buf__printf(b, " %s |\n",
				  m->change == CHANGE_GREW || m->change == CHANGE_SHRANK
					  ? change__name(m->change)
					  : "");
	return err;
}

static int compare_use__add(const struct comparison *c, struct buf *b)
{
	const struct use_shares *was = &c->use_before, *is = &c->use_now;

	return buf__printf(
		b,
		"\n| machine | %s | %s | limit of a run |\n|---|--:|--:|--:|\n"
		"| %s left alone | %zu of %zu | %zu of %zu | |\n"
		"| used by others | %.1f %% | %.1f %% | %.0f %% |\n"
		"| steal | %.1f %% | %.1f %% | %.0f %% |\n"
		"| throttled by a limit | %.1f %% | %.1f %% | %.0f %% |\n"
		"| too hot, times | %llu | %llu | 0 |\n"
		"| pressure: cpu, io, memory | %.0f %%, %.0f %%, %.0f %% | %.0f %%, %.0f %%, "
		"%.0f %% | |\n"
		"| slower, faster for certain | | %.2f, %.2f times | %.2f |\n",
		c->paired ? "the other" : "baseline", c->paired ? "this" : "now",
		c->paired ? "pairs" : "runs", c->quiet_before, c->n_before, c->quiet_now, c->n_now,
		was->others * 100, is->others * 100, c->others_limit * 100, was->steal * 100,
		is->steal * 100, SERIES_STEAL_PART * c->others_limit * 100, was->throttled * 100,
		is->throttled * 100, SERIES_THROTTLED_LIMIT * 100, (unsigned long long)was->hot,
		(unsigned long long)is->hot, was->pressure_cpu * 100, was->pressure_io * 100,
		was->pressure_memory * 100, is->pressure_cpu * 100, is->pressure_io * 100,
		is->pressure_memory * 100, c->slower, c->faster, 1 + c->tolerance);
}

/* An indented block is code, whatever it contains. */
static int capture__add_line(const json_t *incident, struct buf *b)
{
	const char *rule = bench_report__incident_rule(incident);
	struct buf text = { 0 };
	int err = bench_report__open_command(incident, &text);

	err = err ?: buf__add_str(b, "    ");
	err = err ?: escape__plain(b, text.data);
	buf__free(&text);
	return err ?: buf__printf(b, "  # %s\n", *rule ? rule : "its last window");
}

static int capture__add(const struct bench_result *r, struct buf *b)
{
	const json_t *incident;
	bool first = true;
	int err = 0;
	size_t i;

	json_array_foreach (r->incidents, i, incident) {
		if (!json_is_true(json_object_get(incident, "capture")))
			continue;
		if (first)
			err = buf__printf(b,
					  "\nOne more run was made, with thresholds of %s, and "
					  "recorded:\n\n",
					  r->against ? "the other" : "the baseline");
		err = err ?: capture__add_line(incident, b);
		first = false;
	}
	return err;
}

static int compare_title__add(const struct bench_result *r, struct buf *b)
{
	int err = buf__add_str(b, "\n#### against ");

	if (!err && r->against)
		err = escape__markdown(b, r->against->command);
	else if (!err)
		err = buf__add_str(b, "the baseline");
	return err ?: buf__printf(b, ": %s\n\n", verdict__name(r->comparison->verdict));
}

int bench_compare__markdown(const struct bench_result *r, struct buf *b)
{
	const struct comparison *c = r->comparison;
	int err;

	if (!c)
		return 0;
	err = compare_title__add(r, b);
	if (!err && c->why[0]) {
		err = escape__markdown(b, c->why);
		err = err ?: buf__add_str(b, "\n\n");
	}
	err = err
		      ?: buf__add_str(
				 b,
				 c->paired
					 ? "| metric | the other | this | ratio | 99 % interval | "
					   "verdict |\n"
					 : "| metric | baseline | now | ratio | 99 % interval | "
					   "verdict |\n");
	err = err ?: buf__add_str(b, "|---|--:|--:|--:|--:|---|\n");
	for (size_t i = 0; i < c->n_metrics && !err; i++)
		err = compare_row__add(&c->metrics[i], b);
	err = err
		      ?: buf__printf(
				 b,
				 "\nMedians and quartiles of runs; ratio of Hodges and Lehmann, "
				 "interval of %s. Regressed: the whole interval is above %g.\n",
				 c->paired ? "Wilcoxon, of pairs of runs" : "Mann and Whitney",
				 1 + c->tolerance);
	err = err ?: compare_use__add(c, b);
	return err ?: capture__add(r, b);
}

/* ---- JSON ---- */

static json_t *json_spread(const struct spread *s)
{
	return json_pack("{s:I, s:f, s:f, s:f}", "runs", (json_int_t)s->n, "p25", s->low, "median",
			 s->median, "p75", s->high);
}

static json_t *json_metrics(const struct comparison *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_metrics; i++) {
		const struct compared *m = &c->metrics[i];
		bool known = m->change != CHANGE_UNKNOWN;

		json_array_append_new(
			list,
			json_pack("{s:o, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "name",
				  report__text(m->name), "unit", m->is_time ? "ns" : "count",
				  "decides", m->decides, "baseline", json_spread(&m->before), "now",
				  json_spread(&m->now), "ratio",
				  known ? json_real(m->ratio.estimate) : json_null(), "low",
				  known ? json_real(m->ratio.low) : json_null(), "high",
				  known ? json_real(m->ratio.high) : json_null(), "change",
				  change__name(m->change), "verdict",
				  m->decides ? json_string(verdict__name(m->verdict))
					     : json_null()));
	}
	return list;
}

static json_t *json_use(const struct use_shares *u, size_t runs, size_t quiet)
{
	return json_pack("{s:I, s:I, s:f, s:f, s:f, s:I, s:f, s:f, s:f}", "runs", (json_int_t)runs,
			 "left_alone", (json_int_t)quiet, "others", u->others, "steal", u->steal,
			 "throttled", u->throttled, "hot", (json_int_t)u->hot, "pressure_cpu",
			 u->pressure_cpu, "pressure_io", u->pressure_io, "pressure_memory",
			 u->pressure_memory);
}

json_t *bench_compare__json(const struct bench_result *r)
{
	const struct comparison *c = r->comparison;

	if (!c)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:f, s:f, s:o, s:f, s:f, s:o, s:o, s:o}", "verdict",
			 verdict__name(c->verdict), "against",
			 r->against ? report__text(r->against->command) : json_null(), "why",
			 c->why[0] ? report__text(c->why) : json_null(), "tolerance", c->tolerance,
			 "others_limit", c->others_limit, "metrics", json_metrics(c),
			 "machine_slower", c->slower, "machine_faster", c->faster, "machine",
			 c->machine[0] ? report__text(c->machine) : json_null(), "baseline",
			 json_use(&c->use_before, c->n_before, c->quiet_before), "now",
			 json_use(&c->use_now, c->n_now, c->quiet_now));
}

json_t *bench_series__json(const struct series *s)
{
	json_t *list = json_array();

	for (size_t i = 0; s && i < s->n_runs; i++) {
		const struct run_sample *run = &s->runs[i];

		json_array_append_new(
			list, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "wall_ns",
					(json_int_t)run->wall, "cpu_ns", (json_int_t)run->cpu,
					"switches", (json_int_t)run->switches, "preempted",
					(json_int_t)run->preempted, "capacity_ns",
					(json_int_t)run->machine.capacity, "others_ns",
					(json_int_t)run->machine.others, "steal_ns",
					(json_int_t)run->machine.steal, "throttled_ns",
					(json_int_t)run->machine.throttled, "hot",
					(json_int_t)run->machine.hot));
	}
	return list;
}

/* ---- JUnit ---- */

size_t bench_compare__cases(const struct bench_result *r, enum verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; r->comparison && i < r->comparison->n_metrics; i++) {
		const struct compared *m = &r->comparison->metrics[i];

		n += m->decides && m->verdict == verdict;
	}
	return n;
}

static int compare_case__add_words(const struct compared *m, bool paired, struct buf *b)
{
	char before[32], now[32];

	return buf__printf(b, "median %s, of the %s %s; %.3f times, 99 %% interval %.3f to %.3f",
			   format_value(m, m->now.median, now), paired ? "other" : "baseline",
			   format_value(m, m->before.median, before), m->ratio.estimate,
			   m->ratio.low, m->ratio.high);
}

/* Append the commands that open the captured incidents, one per line. */
static int capture__add_xml(const struct bench_result *r, struct buf *b)
{
	const json_t *incident;
	int err = 0;
	size_t i;

	json_array_foreach (r->incidents, i, incident) {
		if (json_is_true(json_object_get(incident, "capture")))
			err = err ?: bench_report__add_xml_command(incident, b);
	}
	return err;
}

static int compare_case__add(const struct bench_result *r, const struct compared *m, struct buf *b)
{
	struct buf words = { 0 };
	int err = buf__printf(b,
			      "    <testcase classname=\"frbpf\" name=\"%s: %s\" "
			      "time=\"0.000\">\n",
			      r->comparison->paired ? "against" : "baseline", m->name);

	err = err ?: compare_case__add_words(m, r->comparison->paired, &words);
	if (!err && m->verdict == VERDICT_REGRESSED) {
		err = buf__printf(b, "      <failure type=\"regression\" message=\"%s\">%s\n",
				  words.data, words.data);
		err = err ?: capture__add_xml(r, b);
		err = err ?: buf__add_str(b, "</failure>\n");
	} else if (!err && m->verdict == VERDICT_DISTURBED) {
		err = buf__add_str(b, "      <skipped message=\"disturbed: ");
		err = err ?: escape__xml(b, r->comparison->why);
		err = err ?: buf__add_str(b, "\"/>\n");
	} else if (!err) {
		err = buf__printf(b, "      <system-out>%s</system-out>\n", words.data);
	}
	buf__free(&words);
	return err ?: buf__add_str(b, "    </testcase>\n");
}

int bench_compare__junit(const struct bench_result *r, struct buf *b)
{
	int err = 0;

	for (size_t i = 0; r->comparison && i < r->comparison->n_metrics && !err; i++) {
		if (r->comparison->metrics[i].decides)
			err = compare_case__add(r, &r->comparison->metrics[i], b);
	}
	return err;
}

/* ---- GitHub ---- */

int bench_compare__github(const struct bench_result *r, struct buf *b)
{
	const struct comparison *c = r->comparison;
	int err;

	if (!c || c->verdict == VERDICT_PASS)
		return 0;
	err = buf__printf(
		b, "::%s title=frbpf::%s: ", c->verdict == VERDICT_REGRESSED ? "error" : "warning",
		verdict__name(c->verdict));
	err = err ?: escape__github(b, c->why);
	return err ?: buf__add_str(b, "\n");
}
