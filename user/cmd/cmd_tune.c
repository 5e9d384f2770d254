// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/one_rule.h"
#include "cmd/tune_ladder.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "daemon/rule_binding.h"
#include "examine/probe/probe_reader.h"
#include "rules/units.h"

#define COMMAND_LINE "command line"
#define BAR_WIDTH    40
#define DEFAULT_TIME (60 * NSEC_PER_SEC)

static const uint64_t rates[] = { 20, 5, 1 }; /* incidents per day */

struct tune {
	const char *source, *condition; /* from the command line */
	uint64_t time;
	bool json;
	struct ruleset *rs; /* one rule, with that source and condition */
	struct tracefs *tracefs;
	/* the first one gets every value; the others are the steps of the ladder */
	struct rule_conf rules[1 + TUNE_STEPS];
	struct frbpf_rule_state states[1 + TUNE_STEPS];
	struct tune_step steps[TUNE_STEPS];
	uint64_t ns; /* duration of the measurement */
};

/* Length of the source, without a threshold. One may be given, but is ignored. */
static int source_length(const struct tune *t)
{
	const char *above = strstr(t->source, " >");

	/* not the ">>" between two events of a span */
	while (above && above[2] == '>')
		above = strstr(above + 3, " >");
	return above ? (int)(above - t->source) : (int)strlen(t->source);
}

static int parse_rule(struct tune *t, const char *threshold, struct diags *d)
{
	return one_rule__parse(COMMAND_LINE, t->source, threshold, t->condition, d, &t->rs);
}

/* Parse the source as given, or with a threshold appended. */
static int parse_source(struct tune *t, struct diags *d)
{
	struct diags ignored = { 0 };
	const struct when *when;
	int code;

	if (strpbrk(t->source, "\r\n\\") || (t->condition && strpbrk(t->condition, "\r\n\\")))
		return diags__error(d, NULL, (struct span){ 0 },
				    COMMAND_LINE ": WHEN and --if take one line each");
	code = parse_rule(t, "", &ignored);
	diags__free(&ignored);
	if (code == -EINVAL)
		code = parse_rule(t, strstr(t->source, " >") ? "" : " > 1s", d);
	if (code)
		return code;
	when = &t->rs->rules[0].when;
	if (!when->hit && !when->fails && !when__source(when->source)->no_begin)
		return rule_binding__bind(t->rs, t->tracefs, false, d);
	return diags__error(d, NULL, (struct span){ 0 },
			    COMMAND_LINE ": '%.64s' is not a duration of single events; `frbpf "
					 "check --live` tells how often a rule on it would fire",
			    t->source);
}

/* Shallow copies; the ruleset owns what they point to. */
static void make_rules(struct tune *t)
{
	for (size_t i = 0; i <= TUNE_STEPS; i++) {
		struct rule_conf *rule = &t->rules[i];

		*rule = t->rs->rules[0];
		rule->id += i;
		rule->max_dumps = (struct rate){ 0 };
		rule->when.threshold = i ? tune_ladder__threshold(i - 1) : 0;
		if (!i) {
			rule->quiet = true;
			rule->cooldown = (struct rate){ 0 };
		}
	}
}

static int measure_source(struct tune *t)
{
	struct err err = { 0 };

	make_rules(t);
	if (live__watch(t->rules, 1 + TUNE_STEPS, t->time, t->states, &t->ns, &err)) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < TUNE_STEPS; i++) {
		const struct frbpf_rule_state *st = &t->states[i + 1];

		t->steps[i] =
			(struct tune_step){ tune_ladder__threshold(i), st->matched, st->fired };
	}
	return EXIT_DONE;
}

static void print_histogram(const struct frbpf_rule_state *st)
{
	static const char bar[BAR_WIDTH + 1] = "########################################";
	int first = FRBPF_MAX_VALUES, last = -1;
	uint64_t most = 1;
	char from[32];

	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		if (!st->values[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = st->values[i] > most ? st->values[i] : most;
	}
	if (last >= 0)
		printf("%12s %12s\n", "from", "values");
	for (int i = first; i <= last; i++) {
		int width = (int)((double)st->values[i] * BAR_WIDTH / (double)most + 0.5);

		printf("%12s %12" PRIu64 "  %.*s\n",
		       units__format_duration(1ULL << i, from, sizeof(from)),
		       (uint64_t)st->values[i], st->values[i] && !width ? 1 : width, bar);
	}
}

static void print_threshold(const struct tune *t, uint64_t per_day)
{
	char threshold[32], enough[32];
	uint64_t ns;
	enum tune_how how = tune_ladder__find(t->steps, t->ns, per_day, &ns);

	printf("\n# %" PRIu64 " incident%s a day: ", per_day, per_day == 1 ? "" : "s");
	units__format_duration(tune_ladder__enough(per_day), enough, sizeof(enough));
	if (how == TUNE_UNKNOWN) {
		printf("rarer than what was seen; measure with --for %s\n", enough);
		return;
	}
	printf(how == TUNE_MEASURED ? "as measured\n"
				    : "the tail drawn on; --for %s would measure it\n",
	       enough);
	printf("when = %.*s > %s\n", source_length(t), t->source,
	       units__format_duration(ns, threshold, sizeof(threshold)));
	if (t->condition)
		printf("if   = %s\n", t->condition);
}

static void print_tune_text(const struct tune *t)
{
	const struct frbpf_rule_state *all = &t->states[0];
	char time[32], largest[32];

	printf("%.*s%s%s: %" PRIu64 " values in %s", source_length(t), t->source,
	       t->condition ? " if " : "", t->condition ?: "", (uint64_t)all->matched,
	       units__format_duration(t->ns, time, sizeof(time)));
	if (!all->matched) {
		puts("; nothing of its kind was seen");
		return;
	}
	printf(", largest %s\n", units__format_duration(all->max_value, largest, sizeof(largest)));
	print_histogram(all);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		print_threshold(t, rates[i]);
}

static json_t *json_histogram(const struct frbpf_rule_state *st)
{
	json_t *list = json_array();

	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		if (st->values[i])
			json_array_append_new(list, json_pack("{s:I, s:I}", "from_ns",
							      (json_int_t)(1ULL << i), "values",
							      (json_int_t)st->values[i]));
	}
	return list;
}

static json_t *json_steps(const struct tune *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < TUNE_STEPS; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "threshold_ns",
						      (json_int_t)t->steps[i].threshold, "matched",
						      (json_int_t)t->steps[i].matched, "fired",
						      (json_int_t)t->steps[i].fired));
	return list;
}

static json_t *json_thresholds(const struct tune *t)
{
	static const char *const words[] = { "measured", "extended", "unknown" };
	json_t *list = json_array();
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		enum tune_how how = tune_ladder__find(t->steps, t->ns, rates[i], &ns);
		json_t *j =
			json_pack("{s:I, s:s}", "per_day", (json_int_t)rates[i], "how", words[how]);

		if (how != TUNE_UNKNOWN)
			json_object_set_new(j, "threshold_ns", json_integer((json_int_t)ns));
		json_array_append_new(list, j);
	}
	return list;
}

static int print_tune_json(const struct tune *t)
{
	const struct frbpf_rule_state *all = &t->states[0];
	json_t *j = json_pack("{s:s, s:s?, s:I, s:I, s:I, s:o, s:o, s:o}", "when", t->source, "if",
			      t->condition, "ns", (json_int_t)t->ns, "values",
			      (json_int_t)all->matched, "largest_ns", (json_int_t)all->max_value,
			      "histogram", json_histogram(all), "steps", json_steps(t),
			      "thresholds", json_thresholds(t));
	int code = j ? json_dumpf(j, stdout, JSON_INDENT(2)) : -1;

	json_decref(j);
	if (code) {
		log_error("cannot write the answer");
		return EXIT_FAILED;
	}
	putchar('\n');
	return EXIT_DONE;
}

static int tune_source(struct tune *t)
{
	struct examiner *examiner = NULL;
	struct diags d = { 0 };
	struct err err = { 0 };
	int status;

	if (!examiner__new(&examiner))
		probe_reader__use(examiner);
	if (tracefs__open(&err, &t->tracefs))
		t->tracefs = NULL;
	status = parse_source(t, &d) ? EXIT_FAILED : EXIT_DONE;
	cmd_print_diags(&d);
	if (status == EXIT_DONE)
		status = measure_source(t);
	if (status == EXIT_DONE && !t->json)
		print_tune_text(t);
	else if (status == EXIT_DONE)
		status = print_tune_json(t);
	ruleset__free(t->rs);
	tracefs__free(t->tracefs);
	diags__free(&d);
	probe_reader__use(NULL);
	examiner__free(examiner);
	return status;
}

static int run_tune(int argc, char **argv)
{
	static const struct option long_opts[] = { { "if", required_argument, NULL, 'i' },
						   { "for", required_argument, NULL, 'f' },
						   { "json", no_argument, NULL, 'j' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	_cleanup_free_ struct tune *t = calloc(1, sizeof(*t));
	struct location_hint hint = { 0 };
	enum cmd_parse p;
	int opt;

	if (!t) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	t->time = DEFAULT_TIME;
	while ((p = cmd_next_option(&cmd_tune, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'i')
			t->condition = optarg;
		else if (opt == 'j')
			t->json = true;
		else if (cmd_duration(&cmd_tune, "--for", optarg, &t->time))
			return EXIT_FAILED;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind != 1)
		return cmd_usage_error(&cmd_tune, "give one source, such as 'syscall:fsync'");
	t->source = argv[optind];
	return tune_source(t);
}

const struct command cmd_tune = {
	.name = "tune",
	.run = run_tune,
	.usage = "[--if E] [--for T] [--json] WHEN",
	.summary = "measure a source, and find the threshold of a rule on it",
	.help = "WHEN is that of a rule, such as 'runqlat' or 'syscall:fsync'; a threshold behind "
		"it counts for "
		"nothing.\nPrints how many values there were of which size, and for 20, 5 and 1 "
		"incidents a day "
		"the lines of a rule.\nNothing is recorded; each value costs up to a microsecond "
		"while it runs.\n\n"
		"      --if E          only of what the condition holds for, as `if` of a rule\n"
		"      --for T         measure for T, such as 10m; default 1m, Ctrl-C ends it "
		"earlier\n"
		"      --json          all of it, for programs\n",
	.no_base = true,
};
