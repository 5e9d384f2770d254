// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/tune_ladder.h"
#include "cmd/tune_source.h"
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
	const struct when *when; /* of that rule */
	bool was_pending;	 /* asked for as pending(SOURCE) */
	/* the first one gets every value; the others are the steps of the ladder */
	struct rule_conf rules[1 + TUNE_STEPS];
	struct frbpf_rule_state states[1 + TUNE_STEPS];
	struct tune_step steps[TUNE_STEPS];
	uint64_t ns; /* duration of the measurement */
};

static int parse_tuned_rule(struct tune *t, const char *threshold, struct diags *d)
{
	return cmd_parse_rule(COMMAND_LINE, t->source, threshold, t->condition, d, &t->rs);
}

/* Parse WHEN alone, into *ret if it is well-formed. 0 or negative errno; messages go to @d. */
static int parse_tuned_when(const struct tune *t, const char *threshold, struct diags *d,
			    struct when *ret)
{
	_cleanup_free_ char *text = NULL;
	struct source_text *src;
	int err;

	if (asprintf(&text, "%s%s", t->source, threshold) < 0)
		return -ENOMEM;
	err = source_text__make(COMMAND_LINE, text, &src);
	if (err)
		return err;
	diags__keep(d, src);
	return when__parse(src, (struct span){ 0, src->len }, d, ret);
}

/*
 * Get the text to append to the source so that it is a valid `when`: nothing, or a threshold.
 * Refuses sources that cannot be measured. 0 or negative errno; messages go to @d.
 */
static int check_when(const struct tune *t, struct diags *d, const char **ret_threshold)
{
	struct diags alone = { 0 };
	struct when when;
	const char *why;
	int err;

	*ret_threshold = "";
	err = parse_tuned_when(t, "", &alone, &when);
	if (err == -EINVAL && !strstr(t->source, " >")) {
		*ret_threshold = " > 1s";
		err = parse_tuned_when(t, *ret_threshold, d, &when);
	} else if (err) {
		err = parse_tuned_when(t, "", d, &when);
	}
	diags__free(&alone);
	if (err)
		return err;
	why = tune_source__refusal(&when, t->condition);
	when__free(&when);
	if (!why)
		return 0;
	return diags__error(d, NULL, (struct span){ 0 }, COMMAND_LINE ": '%.64s' %s", t->source,
			    why);
}

static int parse_source(struct tune *t, struct diags *d)
{
	const char *threshold;
	int err;

	if (strpbrk(t->source, "\r\n\\") || (t->condition && strpbrk(t->condition, "\r\n\\")))
		return diags__error(d, NULL, (struct span){ 0 },
				    COMMAND_LINE ": WHEN and --if take one line each");
	err = check_when(t, d, &threshold);
	err = err ?: parse_tuned_rule(t, threshold, d);
	err = err ?: rule_binding__bind(t->rs, t->tracefs, false, d);
	if (!err) {
		t->when = &t->rs->rules[0].when;
		t->was_pending = t->when->pending;
		tune_source__prepare(&t->rs->rules[0].when);
	}
	return err;
}

/* Make shallow copies of the rule; the ruleset owns what they point to. */
static void make_tuned_rules(struct tune *t)
{
	for (size_t i = 0; i <= TUNE_STEPS; i++) {
		struct rule_conf *rule = &t->rules[i];

		*rule = t->rs->rules[0];
		rule->id += i;
		rule->max_dumps = (struct rate){ 0 };
		rule->when.threshold = i ? tune_source__step(t->when, i - 1) : 0;
		if (!i) {
			rule->quiet = true;
			rule->cooldown = (struct rate){ 0 };
		}
	}
}

static int measure_source(struct tune *t)
{
	bool listens = t->when->source == FRBPF_SOURCE_APP && location__make_run_dir();
	struct err err = { 0 };
	int code;

	make_tuned_rules(t);
	code = live__watch(t->rules, 1 + TUNE_STEPS, t->time, listens ? LOCATION_APP : NULL,
			   t->states, &t->ns, &err);
	if (listens && code == -EADDRINUSE)
		log_error("messages go to the recorder that listens at " LOCATION_APP
			  ": load this rule there with 'dump = none', and `frbpf status -v` shows "
			  "its values");
	else if (code)
		log_error("%s", err.msg);
	if (code)
		return EXIT_FAILED;
	for (size_t i = 0; i < TUNE_STEPS; i++) {
		const struct frbpf_rule_state *st = &t->states[i + 1];

		t->steps[i] =
			(struct tune_step){ tune_source__step(t->when, i), st->matched, st->fired };
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

/*
 * Is the threshold @ns out of reach? The sum of one CPU or thread cannot exceed the window, and no
 * measured value did.
 */
static bool is_out_of_reach(const struct tune *t, uint64_t ns)
{
	uint64_t window = t->when->share.time;

	return window && ns >= window && t->states[0].max_value <= window;
}

static enum tune_how find_threshold(const struct tune *t, uint64_t per_day, uint64_t *ret_ns)
{
	enum tune_how how;

	if (!t->when->share.time)
		return tune_ladder__find(t->steps, t->ns, per_day, ret_ns);
	how = tune_ladder__find_share(t->steps, t->ns, per_day, ret_ns);
	return is_out_of_reach(t, *ret_ns) ? TUNE_UNKNOWN : how;
}

/* Get the lowest step that no value exceeded. 0: there is none. */
static uint64_t unreached_step(const struct tune *t)
{
	for (size_t i = 0; i < TUNE_STEPS; i++) {
		if (!t->steps[i].matched)
			return is_out_of_reach(t, t->steps[i].threshold) ? 0
									 : t->steps[i].threshold;
	}
	return 0;
}

static void print_rule_lines(const struct tune *t, uint64_t ns)
{
	char line[1024];

	printf("when = %s\n", tune_source__line(t->when, t->source, ns, line, sizeof(line)));
	if (t->condition)
		printf("if   = %s\n", t->condition);
}

/* Print all that a short measurement can tell of rare events. */
static void print_unreached(const struct tune *t)
{
	uint64_t ns = unreached_step(t);
	char time[32];

	if (!ns)
		return;
	printf("\n# no value exceeded this in %s; measure longer to learn how rare that is\n",
	       units__format_duration(t->ns, time, sizeof(time)));
	print_rule_lines(t, ns);
}

static enum tune_how print_threshold(const struct tune *t, uint64_t per_day)
{
	static const char *const words[] = { "as measured", "extrapolated", "no value exceeded it",
					     "rarer than the values seen" };
	char enough[32];
	uint64_t ns;
	enum tune_how how = find_threshold(t, per_day, &ns);

	printf("\n# %" PRIu64 " incident%s a day: ", per_day, per_day == 1 ? "" : "s");
	units__format_duration(tune_ladder__enough(per_day), enough, sizeof(enough));
	fputs(words[how], stdout);
	if (how != TUNE_MEASURED)
		printf("; --for %s would measure it", enough);
	putchar('\n');
	if (how != TUNE_UNKNOWN)
		print_rule_lines(t, ns);
	return how;
}

static void print_tune_largest(const struct tune *t)
{
	uint64_t largest = t->states[0].max_value, window = t->when->share.time;
	char text[32], of[32];

	printf(", largest %s", units__format_duration(largest, text, sizeof(text)));
	if (window)
		printf(" of %s", units__format_duration(window, of, sizeof(of)));
	putchar('\n');
}

static void print_tune_text(const struct tune *t)
{
	const struct frbpf_rule_state *all = &t->states[0];
	bool knows_all = true;
	char time[32];

	printf("%.*s%s%s: %" PRIu64 " %s in %s", (int)tune_source__length(t->source), t->source,
	       t->condition ? " if " : "", t->condition ?: "", (uint64_t)all->matched,
	       t->when->share.time ? "sums" : "values",
	       units__format_duration(t->ns, time, sizeof(time)));
	if (!all->matched) {
		puts("; no such event was seen");
		return;
	}
	print_tune_largest(t);
	print_histogram(all);
	if (t->was_pending)
		puts("\n# measured at its end: an event that never ends fires once, at any "
		     "threshold");
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		knows_all &= print_threshold(t, rates[i]) != TUNE_UNKNOWN;
	if (!knows_all)
		print_unreached(t);
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
	static const char *const words[] = { "measured", "extended", "unseen", "unknown" };
	char line[1024];
	json_t *list = json_array();
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		enum tune_how how = find_threshold(t, rates[i], &ns);
		json_t *j =
			json_pack("{s:I, s:s}", "per_day", (json_int_t)rates[i], "how", words[how]);

		if (how != TUNE_UNKNOWN) {
			json_object_set_new(j, "threshold_ns", json_integer((json_int_t)ns));
			json_object_set_new(j, "when",
					    json_string(tune_source__line(t->when, t->source, ns,
									  line, sizeof(line))));
		}
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *json_unreached(const struct tune *t)
{
	uint64_t ns = unreached_step(t);
	char line[1024];

	if (!ns)
		return json_null();
	return json_pack("{s:I, s:s}", "threshold_ns", (json_int_t)ns, "when",
			 tune_source__line(t->when, t->source, ns, line, sizeof(line)));
}

static int print_tune_json(const struct tune *t)
{
	const struct frbpf_rule_state *all = &t->states[0];
	json_t *j = json_pack("{s:s, s:s?, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "when", t->source,
			      "if", t->condition, "ns", (json_int_t)t->ns, "values",
			      (json_int_t)all->matched, "largest_ns", (json_int_t)all->max_value,
			      "histogram", json_histogram(all), "steps", json_steps(t),
			      "thresholds", json_thresholds(t), "unreached", json_unreached(t));
	int err = j ? json_dumpf(j, stdout, JSON_INDENT(2)) : -1;

	json_decref(j);
	if (err) {
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
	.help = "WHEN is written as in a rule, such as 'runqlat' or 'syscall:fsync'; a threshold\n"
		"is ignored. Prints the distribution of the values, and lines of a rule for 20,\n"
		"5 and 1 incidents a day. Nothing is recorded; each value costs up to a\n"
		"microsecond meanwhile.\n\n"
		"      --if E          only values for which the condition holds\n"
		"      --for T         measure for T, such as 10m; default 1m, Ctrl-C ends it\n"
		"                      earlier\n"
		"      --json          everything as JSON\n",
	.no_base = true,
};
