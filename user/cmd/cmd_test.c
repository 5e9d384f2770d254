// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/operand.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/printable.h"
#include "rules/units.h"
#include "trial/trial.h"

#define FIRES_SHOWN 10 /* per rule, without -v */

struct test_options {
	bool json, verbose;
};

static const char *const cause_names[FRBPF_CAUSE_MAX] = {
	[FRBPF_CAUSE_COOLDOWN] = "cooldown",  [FRBPF_CAUSE_COUNT] = "count",
	[FRBPF_CAUSE_RULE_CAP] = "max-dumps", [FRBPF_CAUSE_CAP] = "max-dumps of all rules",
	[FRBPF_CAUSE_KEYS] = "too many keys",
};

/* ---- text ---- */

static void print_fire(const struct trial_rule *r, const struct trial_fire *f)
{
	const char *key = when__key_name(r->conf->when.source, f->key);
	char value[32];

	printf("    %llu.%09llu  %9s", f->time / NSEC_PER_SEC, f->time % NSEC_PER_SEC,
	       r->conf->when.hit ? "hit" : units__format_duration(f->value, value, sizeof(value)));
	if (key)
		printf("  %s", key);
	if (f->known >> FRBPF_FIELD_COMM & 1 && f->comm[0])
		printf("  %s", make_printable((char *)f->comm));
	if (f->known >> FRBPF_FIELD_PID & 1 && f->pid)
		printf(" (pid %" PRIu32 ", tid %" PRIu32 ")", f->pid, f->tid);
	else if (f->known >> FRBPF_FIELD_TID & 1 && f->tid)
		printf(" (tid %" PRIu32 ")", f->tid);
	if (f->known >> FRBPF_FIELD_CPU & 1)
		printf("  CPU %" PRIu32, f->cpu);
	puts(f->merged ? "  in the incident before" : "");
}

static void print_outcome(const struct trial_rule *r, const struct retrace_result *result)
{
	const struct trial_counts *c = rule_trial__counts(r->engine);
	bool any = false;
	char value[32];

	if (c->fired)
		printf("  fires %" PRIu64 " time%s", c->fired, c->fired == 1 ? "" : "s");
	else
		printf("  never fires");
	if (r->conf->quiet)
		printf(", and only counts");
	printf(": %" PRIu64 " match%s", c->matched, c->matched == 1 ? "" : "es");
	for (int i = 0; i < FRBPF_CAUSE_MAX; i++) {
		if (!c->suppressed[i])
			continue;
		printf("%s%" PRIu64 " by %s", any ? ", " : "; suppressed ", c->suppressed[i],
		       cause_names[i] ?: "?");
		any = true;
	}
	if (!r->conf->when.hit && result->n)
		printf("; of %" PRIu64 " values the largest is %s", result->n,
		       units__format_duration(result->largest, value, sizeof(value)));
	putchar('\n');
}

/* Print the limits of the numbers above. */
static void print_limits(const struct trial_rule *r, const struct retrace_result *result)
{
	uint64_t maybe = rule_trial__counts(r->engine)->maybe;
	const char *line = r->notes;
	char text[256];

	if (maybe)
		printf("  unknown:  %" PRIu64 " more may match: recordings do not have %s\n", maybe,
		       trial_rule__fields(r, r->doubtful, text, sizeof(text))[0]
			       ? text
			       : "what these calls waited for");
	if (result->open && !r->conf->when.pending)
		printf("  unknown:  %" PRIu64 " events of its source had lasted longer and had not "
		       "ended when the recordings ended: up to %s\n",
		       result->open,
		       units__format_duration(result->open_largest, text, sizeof(text)));
	if (result->given_up)
		printf("  unknown:  %" PRIu64 " events without a recorded end\n", result->given_up);
	if (result->stand_in)
		puts("  sched_wakeup was not recorded: waits begin at sched_waking");
	while (*line) {
		size_t len = strcspn(line, "\n");

		printf("  %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void print_trial_rule(const struct trial_rule *r, const struct test_options *o)
{
	struct retrace_result result;
	char time[32];
	size_t n = r->n_fires;

	printf("\nrule %s: %s%s%s\n", r->conf->name, r->conf->when_text,
	       r->conf->if_text ? " if " : "", r->conf->if_text ?: "");
	if (!r->is_measured) {
		printf("  cannot tell: %s\n", make_printable((char *)r->cannot));
		return;
	}
	result = trial_rule__result(r);
	print_outcome(r, &result);
	if (!o->verbose && n > FIRES_SHOWN)
		n = FIRES_SHOWN;
	for (size_t i = 0; i < n; i++)
		print_fire(r, &r->fires[i]);
	if (n < r->n_fires)
		printf("    and %zu more: -v lists them\n", r->n_fires - n);
	print_limits(r, &result);
	if (result.ns < r->trial->sum.last - r->trial->sum.first)
		printf("  its events were recorded for %s of that time\n",
		       units__format_duration(result.ns, time, sizeof(time)));
}

static void print_trial_text(const struct trial *t, const struct test_options *o)
{
	const struct retrace_sum *s = &t->sum;
	uint64_t ns = s->last - s->first;
	char time[32];

	printf("%zu recording%s, %s: %" PRIu64 " incident%s", s->n_files,
	       s->n_files == 1 ? "" : "s", units__format_duration(ns, time, sizeof(time)),
	       t->dumps.begun, t->dumps.begun == 1 ? "" : "s");
	if (ns >= 60 * NSEC_PER_SEC && t->dumps.begun)
		printf(", %.3g a day at this rate", (double)t->dumps.begun * 86400e9 / (double)ns);
	putchar('\n');
	if (s->losses)
		printf("records were lost %" PRIu64 " times\n", s->losses);
	if (s->foreign_machine)
		puts("recorded on another kind of machine: system calls have other numbers there");
	for (size_t i = 0; i < t->rs->n_rules; i++)
		print_trial_rule(&t->rules[i], o);
}

/* ---- JSON ---- */

static json_t *json_fires(const struct trial_rule *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_fires; i++) {
		const struct trial_fire *f = &r->fires[i];
		const char *key = when__key_name(r->conf->when.source, f->key);
		json_t *j = json_pack("{s:I, s:I, s:b, s:s*}", "time_ns", (json_int_t)f->time,
				      "value_ns", (json_int_t)f->value, "merged", f->merged, "key",
				      key);

		if (f->known >> FRBPF_FIELD_COMM & 1)
			json_object_set_new(j, "comm",
					    json_string(make_printable((char *)f->comm)));
		if (f->known >> FRBPF_FIELD_PID & 1)
			json_object_set_new(j, "pid", json_integer(f->pid));
		if (f->known >> FRBPF_FIELD_TID & 1)
			json_object_set_new(j, "tid", json_integer(f->tid));
		if (f->known >> FRBPF_FIELD_CPU & 1)
			json_object_set_new(j, "cpu", json_integer(f->cpu));
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *json_trial_rule(const struct trial_rule *r)
{
	const struct trial_counts *c = rule_trial__counts(r->engine);
	json_t *j = json_pack("{s:s, s:s, s:s?}", "name", r->conf->name, "when", r->conf->when_text,
			      "if", r->conf->if_text);
	struct retrace_result result;
	json_t *suppressed = json_object();
	char fields[256];

	if (!r->is_measured) {
		json_decref(suppressed);
		json_object_set_new(j, "cannot", json_string(make_printable((char *)r->cannot)));
		return j;
	}
	result = trial_rule__result(r);
	for (int i = 0; i < FRBPF_CAUSE_MAX; i++) {
		if (cause_names[i])
			json_object_set_new(suppressed, cause_names[i],
					    json_integer((json_int_t)c->suppressed[i]));
	}
	json_object_update_new(
		j, json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:o}",
			     "matched", (json_int_t)c->matched, "fired", (json_int_t)c->fired,
			     "maybe", (json_int_t)c->maybe, "suppressed", suppressed, "values",
			     (json_int_t)result.n, "largest_ns", (json_int_t)result.largest,
			     "recorded_ns", (json_int_t)result.ns, "open", (json_int_t)result.open,
			     "open_largest_ns", (json_int_t)result.open_largest, "given_up",
			     (json_int_t)result.given_up, "doubtful_fields",
			     trial_rule__fields(r, r->doubtful, fields, sizeof(fields)), "notes",
			     r->notes, "fires", json_fires(r)));
	return j;
}

static int print_trial_json(const struct trial *t)
{
	json_t *rules = json_array(), *j;
	int err;

	for (size_t i = 0; i < t->rs->n_rules; i++)
		json_array_append_new(rules, json_trial_rule(&t->rules[i]));
	j = json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:o}", "schema", 1, "recordings",
		      (json_int_t)t->sum.n_files, "first_ns", (json_int_t)t->sum.first, "last_ns",
		      (json_int_t)t->sum.last, "losses", (json_int_t)t->sum.losses, "incidents",
		      (json_int_t)t->dumps.begun, "rules", rules);
	err = j ? json_dumpf(j, stdout, JSON_INDENT(2)) : -1;
	json_decref(j);
	if (err) {
		log_error("out of memory, or the output cannot be written");
		return EXIT_FAILED;
	}
	putchar('\n');
	return EXIT_DONE;
}

/* ---- the command ---- */

static int test_rules(struct ruleset *rs, const struct recordings *dumps,
		      const struct test_options *o)
{
	struct err err = { 0 };
	struct trial t;
	int code = trial__open(&t, rs, dumps, &err);

	code = code ?: trial__run(&t, &err);
	if (code)
		log_error("%s", make_printable(err.msg));
	else if (o->json)
		code = print_trial_json(&t);
	else
		print_trial_text(&t, o);
	trial__free(&t);
	return code ? EXIT_FAILED : EXIT_DONE;
}

/* Add the recordings of an operand to @dumps. 0 or EXIT_FAILED. */
static int add_trial_operand(const struct location_hint *hint, const char *what,
			     struct recordings *dumps)
{
	struct recordings found = { 0 };
	int status = cmd_find_recordings(hint, what, &found);

	for (size_t i = 0; !status && i < found.n; i++) {
		for (size_t k = 0; !status && k < found.v[i].n_files; k++) {
			if (recordings__add(dumps, found.v[i].name, found.v[i].files[k]))
				status = EXIT_FAILED;
		}
	}
	recordings__free(&found);
	return status;
}

static int run_test_on(const char *rules, const struct location_hint *hint, char *const *operands,
		       const struct test_options *o)
{
	char list[RULES_FILES_LIST_MAX] = "";
	struct recordings dumps = { 0 };
	struct ruleset *rs = NULL;
	struct diags d = { 0 };
	int status = cmd_add_rules(rules, list);

	if (status)
		return status;
	status = ruleset__load(list, &d, &rs) ? EXIT_FAILED : EXIT_DONE;
	cmd_print_diags(&d);
	for (; !status && *operands; operands++)
		status = add_trial_operand(hint, *operands, &dumps);
	if (!status && !rs->n_rules) {
		log_error("%s has no rule to try", rules);
		status = EXIT_FAILED;
	}
	if (!status)
		status = cmd_read_only() ?: test_rules(rs, &dumps, o);
	recordings__free(&dumps);
	ruleset__free(rs);
	diags__free(&d);
	return status;
}

static int run_test(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "verbose", no_argument, NULL, 'v' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	struct test_options o = { 0 };
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_test, argc, argv, ":vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		o.json |= opt == 'j';
		o.verbose |= opt == 'v';
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind < 2)
		return cmd_usage_error(&cmd_test, "takes rules, and the recordings to try them on");
	return run_test_on(argv[optind], &hint, argv + optind + 1, &o);
}

const struct command cmd_test = {
	.name = "test",
	.run = run_test,
	.usage = "[-v] [--json] RULES DUMP...",
	.summary = "try rules on recordings: what would have fired",
	.help = "RULES is a rules file, or @NAME. DUMP is a perf.data file, such as a dump; a\n"
		"directory of them; or an incident as for `frbpf show`. Needs neither root nor a\n"
		"daemon. For each rule it prints how often and when it would have fired, and\n"
		"what the recordings cannot tell. They need every hit of the source's\n"
		"tracepoints, on all CPUs: for runqlat these are sched:sched_switch and\n"
		"sched:sched_wakeup.\n\n"
		"      --json          everything as JSON\n"
		"  -v, --verbose       every time at which a rule would have fired\n",
};
