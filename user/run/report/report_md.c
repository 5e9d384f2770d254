// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "common/printable.h"
#include "rules/units.h"
#include "run/report/report.h"

static const char *format_ns(uint64_t v, char buf[static 32])
{
	return units__format_duration(v, buf, 32);
}

/* Append the command as Markdown text. */
static int add_command(const struct outcome *o, struct buf *b)
{
	struct buf text = { 0 };
	int err = report__command(o, &text);

	err = err ?: escape__markdown(b, text.data ? text.data : "");
	buf__free(&text);
	return err;
}

static int add_fact(const struct run_rule *rule, const struct run_trigger *t, struct buf *b)
{
	struct buf text = { 0 };
	int err = report__fact(rule, t, &text);

	err = err ?: escape__markdown(b, text.data);
	buf__free(&text);
	return err;
}

/* An indented block is code, whatever it contains; a command has no line breaks. */
static int add_code(const struct outcome *o, const struct run_incident *inc, struct buf *b)
{
	struct buf text = { 0 };
	int err = report__open_command(o, inc, &text);

	err = err ?: buf__add_str(b, "\n    ");
	err = err ?: escape__plain(b, text.data);
	buf__free(&text);
	return err ?: buf__add_str(b, "\n");
}

static int add_head(const struct outcome *o, struct buf *b)
{
	size_t fired = 0;
	char wall[32];
	int err;

	for (size_t i = 0; i < o->n_rules; i++)
		fired += run_rule__fired(&o->rules[i]);
	if (!o->recorded) {
		err = buf__add_str(b, "### frbpf: not recorded\n\n");
		err = err ?: escape__markdown(b, o->reason);
		return err ?: buf__add_str(b, "\n");
	}
	if (fired)
		err = buf__printf(b, "### frbpf: %zu of %zu rules fired\n\n", fired, o->n_rules);
	else
		err = buf__printf(b, "### frbpf: no rule fired\n\n");
	if (!err && o->opts->command) {
		err = add_command(o, b);
		err = err ?: buf__add_str(b, ", ");
	}
	return err ?: buf__printf(b, "%s recorded\n", format_ns(o->wall_ns, wall));
}

static int add_rule_row(const struct run_rule *r, struct buf *b)
{
	const struct histogram *h = r->has_values ? &r->values : &r->matches;
	char p50[32], p90[32], p99[32], max[32];
	int err = buf__printf(b, "| %s %s | ", r->name,
			      run_rule__fired(r) ? "**fired**"
			      : r->contradicted	 ? "(contradicted)"
			      : r->quiet	 ? "(counts)"
						 : "");

	err = err ?: escape__markdown(b, r->when);
	if (!err && r->condition) {
		err = buf__add_str(b, " if ");
		err = err ?: escape__markdown(b, r->condition);
	}
	err = err ? err
		  : buf__printf(b, " | %llu | %llu%s |", (unsigned long long)r->state.matched,
				(unsigned long long)h->n, r->has_values ? "" : " matches");
	if (err || !h->n)
		return err ?: buf__add_str(b, " | | | |\n");
	return buf__printf(b, " %s | %s | %s | %s |\n",
			   format_ns(histogram__percentile(h, 50), p50),
			   format_ns(histogram__percentile(h, 90), p90),
			   format_ns(histogram__percentile(h, 99), p99), format_ns(h->max, max));
}

static int add_rule_table(const struct outcome *o, struct buf *b)
{
	int err = 0;

	if (!o->n_rules)
		return 0;
	err = buf__add_str(b, "\n| rule | when | matched | values | p50 | p90 | p99 | max |\n"
			      "|---|---|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < o->n_rules && !err; i++)
		err = add_rule_row(&o->rules[i], b);
	return err ? err
		   : buf__add_str(b,
				  "\nPercentiles are interpolated in a histogram of powers of two; "
				  "the maximum is exact.\n");
}

static int add_md_why(const struct run_incident *inc, struct buf *b)
{
	const char *next = json_string_value(json_object_get(inc->verdict, "next"));
	int err;

	if (!inc->why)
		return 0;
	err = buf__add_str(b, "\nWhy: ") ?: escape__markdown(b, inc->why);
	if (!err && next)
		err = buf__add_str(b, "  \nNext: ") ?: escape__markdown(b, next);
	return err ?: buf__add_str(b, "\n");
}

static int add_md_incident(const struct outcome *o, const struct run_incident *inc, struct buf *b)
{
	const struct run_trigger *t = &inc->triggers[0];
	const struct run_rule *rule = &o->rules[t->rule];
	size_t others = inc->n_triggers - 1 + inc->more_triggers;
	int err = buf__printf(b, "\n#### incident %s: rule %s\n\n", inc->name, rule->name);

	err = err ?: add_fact(rule, t, b);
	if (!err && t->contradicted)
		err = buf__add_str(b, ", which the recording contradicts: it does not count");
	if (!err && others)
		err = buf__printf(b, "; %zu more triggers at that time", others);
	err = err ?: buf__add_str(b, "\n");
	err = err ?: add_md_why(inc, b);
	err = err ?: report_stacks(o, inc, b);
	err = err ?: add_code(o, inc, b);
	for (size_t i = 0; i < inc->n_files && !err; i++) {
		if (!inc->files[i].error)
			continue;
		err = buf__printf(b, "\nsession %s has no file: ", inc->files[i].session);
		err = err ?: escape__markdown(b, inc->files[i].error);
		err = err ?: buf__add_str(b, "\n");
	}
	return err;
}

static int add_notices(const struct outcome *o, struct buf *b)
{
	int err = 0;

	for (size_t i = 0; i < o->n_sessions && !err; i++) {
		if (!o->sessions[i].notice[0])
			continue;
		err = buf__printf(b, "\nsession %s: ", o->sessions[i].name);
		err = err ?: escape__markdown(b, o->sessions[i].notice);
		err = err ?: buf__add_str(b, "\n");
	}
	if (!err && o->unread[0]) {
		err = buf__add_str(b, "\nFindings of the dumps are missing here: ");
		err = err ?: escape__markdown(b, o->unread);
		err = err ?: buf__add_str(b, "\n");
	}
	if (!err && o->lost_triggers)
		err = buf__printf(b,
				  "\n%llu triggers came while too many dumps were in progress.\n",
				  (unsigned long long)o->lost_triggers);
	if (!err && o->unseen)
		err = buf__printf(b, "\n%llu waits, calls or tasks could not be measured.\n",
				  (unsigned long long)o->unseen);
	return err;
}

int report_markdown(const struct outcome *o, struct buf *b)
{
	int err = add_head(o, b);

	err = err ?: add_rule_table(o, b);
	for (size_t i = 0; i < o->n_incidents && !err; i++) {
		if (o->incidents[i].n_triggers)
			err = add_md_incident(o, &o->incidents[i], b);
	}
	return err ?: add_notices(o, b);
}
