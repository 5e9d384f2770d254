// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "cmd/live.h"
#include "cmd/measured.h"
#include "cmd/plan_report.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "common/log.h"
#include "daemon/location.h"
#include "detect/tracepoint/tracepoint_bind.h"
#include "examine/probe/probe_reader.h"
#include "rules/ruleset.h"
#include "rules/units.h"

struct check_opts {
	struct location_hint hint;
	const char *rules; /* list of paths */
	uint64_t live;	   /* ns; 0: no trial */
	bool json;
};

/* State of a check */
struct check {
	const struct check_opts *opts;
	struct tracefs *tracefs;   /* NULL: tracepoints are not checked */
	struct examiner *examiner; /* NULL: files are read in this process, which may block */
	struct diags diags;
	struct ruleset *rs; /* NULL: there are errors */
	struct plan *plan;
	json_t *out; /* for --json; the text is printed from it, too */
};

static bool leaves_out_tracepoints(const struct check *c)
{
	for (size_t i = 0; c->plan && i < c->plan->n_sessions; i++) {
		if (c->plan->sessions[i].events->left_out)
			return true;
	}
	return false;
}

static bool wants_messages(const struct ruleset *rs)
{
	for (size_t i = 0; i < rs->n_rules; i++) {
		if (rs->rules[i].when.source == FRBPF_SOURCE_APP)
			return true;
	}
	return false;
}

/* List what this check could not look at, and why. */
static json_t *json_left_out(const struct check *c, const struct err *no_tracefs)
{
	json_t *list = json_array();

	if (leaves_out_tracepoints(c))
		json_array_append_new(
			list, json_sprintf("the tracepoints of sessions: %s", no_tracefs->msg));
	for (size_t i = 0; c->rs && i < c->rs->n_rules; i++) {
		if (tracepoint_bind__left_out(&c->rs->rules[i]))
			json_array_append_new(list,
					      json_sprintf("the fields that rule %s names: %s",
							   c->rs->rules[i].name, no_tracefs->msg));
	}
	if (c->rs && c->rs->n_rules && !c->opts->live)
		json_array_append_new(list, json_string("whether this kernel accepts the programs "
							"of the sources: --live tests it"));
	if (c->rs)
		json_array_append_new(
			list,
			json_string("whether the events of sessions can be opened: load tests it"));
	return list;
}

/* Print how close a rule without matches came to one. */
static void print_closest(const json_t *rule)
{
	const json_t *seen = json_object_get(rule, "seen");
	char a[32], b[32];

	if (!seen)
		return;
	if (!json_integer_value(seen)) {
		printf("; no such event was seen");
		return;
	}
	if (!json_object_get(rule, "max_seen_ns")) {
		printf("; the event that it waits for came %" PRIu64 " times",
		       (uint64_t)json_integer_value(seen));
		return;
	}
	printf("; largest seen %s of %" PRIu64 ", threshold %s",
	       units__format_duration(json_integer_value(json_object_get(rule, "max_seen_ns")), a,
				      sizeof(a)),
	       (uint64_t)json_integer_value(seen),
	       units__format_duration(json_integer_value(json_object_get(rule, "threshold_ns")), b,
				      sizeof(b)));
}

static void print_live(const json_t *live)
{
	const json_t *r;
	char a[32], b[32];
	size_t i;

	printf("attached for %s\n",
	       units__format_duration(json_integer_value(json_object_get(live, "ns")), a,
				      sizeof(a)));
	json_array_foreach (json_object_get(live, "rules"), i, r) {
		uint64_t matched = json_integer_value(json_object_get(r, "matched"));
		uint64_t max = json_integer_value(json_object_get(r, "max_value_ns"));

		printf("rule %s: matched %" PRIu64 ", would have fired %" PRIu64,
		       json_string_value(json_object_get(r, "name")), matched,
		       (uint64_t)json_integer_value(json_object_get(r, "fired")));
		if (matched)
			printf("; largest %s", units__format_duration(max, b, sizeof(b)));
		else
			print_closest(r);
		putchar('\n');
	}
}

static json_t *json_live_rule(const struct rule_conf *rule, const struct live_rule *l,
			      enum measured_rate rate)
{
	json_t *j = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "name", rule->name, "matched",
			      (json_int_t)l->counted.matched, "fired", (json_int_t)l->counted.fired,
			      "last_value_ns", (json_int_t)l->counted.last_value, "max_value_ns",
			      (json_int_t)l->counted.max_value, "threshold_ns",
			      (json_int_t)when__limit(&rule->when));

	if (j && rate != MEASURED_SOMETIMES)
		json_object_set_new(j, "fires",
				    json_string(rate == MEASURED_ALWAYS ? "always" : "never"));
	if (j && l->has_seen) {
		json_object_set_new(j, "seen", json_integer((json_int_t)l->seen.matched));
		if (!rule->when.silence)
			json_object_set_new(j, "max_seen_ns",
					    json_integer((json_int_t)l->seen.max_value));
	}
	return j;
}

/*
 * Measure the rules. Messages of applications are heard, too, unless a recorder listens for them:
 * each reaches one process only.
 */
static int measure_live(struct check *c, struct live_rule *ret, uint64_t *ret_ns, struct err *err)
{
	bool listens = wants_messages(c->rs) && location__make_run_dir();
	uint64_t ns = c->opts->live;
	int code = live__run(c->rs, listens ? LOCATION_APP : NULL, ns, ret, ret_ns, err);

	if (!listens || code != -EADDRINUSE)
		return code;
	json_array_append_new(json_object_get(c->out, "left_out"),
			      json_string("messages of applications: they go to the recorder that "
					  "listens at " LOCATION_APP));
	return live__run(c->rs, NULL, ns, ret, ret_ns, err);
}

static int try_rules_live(struct check *c)
{
	_cleanup_free_ struct live_rule *st = calloc(c->rs->n_rules + 1, sizeof(*st));
	_cleanup_free_ enum measured_rate *rates = calloc(c->rs->n_rules + 1, sizeof(*rates));
	json_t *rules = json_array();
	struct diags d = { 0 };
	struct err err = { 0 };
	uint64_t ns;

	if (!st || !rates || measure_live(c, st, &ns, &err)) {
		log_error("%s", st && rates ? err.msg : "out of memory");
		json_decref(rules);
		return EXIT_FAILED;
	}
	measured__judge(c->rs, st, ns, rates, &d);
	for (size_t i = 0; i < c->rs->n_rules; i++)
		json_array_append_new(rules, json_live_rule(&c->rs->rules[i], &st[i], rates[i]));
	if (!c->opts->json)
		cmd_print_diags(&d);
	diags__free(&d);
	json_object_set_new(c->out, "live",
			    json_pack("{s:I, s:o}", "ns", (json_int_t)ns, "rules", rules));
	return EXIT_DONE;
}

static void print_check_text(const struct check *c)
{
	const json_t *live = json_object_get(c->out, "live"), *v;
	size_t i;

	if (!c->rs)
		return;
	plan_report__print(json_object_get(c->out, "plan"));
	json_array_foreach (json_object_get(c->out, "left_out"), i, v)
		printf("not checked: %s\n", json_string_value(v));
	if (live)
		print_live(live);
}

static int check_rules_files(const struct check_opts *opts)
{
	struct check c = { .opts = opts };
	char files[RULES_FILES_LIST_MAX];
	struct err no_tracefs = { 0 };
	int code, status;

	json_alloc__watch();
	if (!examiner__new(&c.examiner))
		probe_reader__use(c.examiner);
	if (tracefs__open(&no_tracefs, &c.tracefs))
		c.tracefs = NULL;
	code = c.tracefs ? plan__check(opts->rules, c.tracefs, &c.diags, &c.rs, &c.plan)
			 : plan__check_partly(opts->rules, &c.diags, &c.rs, &c.plan);
	status = code ? EXIT_FAILED : EXIT_DONE;
	if (code == -ENOMEM && !c.diags.n)
		log_error("out of memory");
	if (!code)
		measured__warn(c.rs, &opts->hint, &c.diags);
	rules_files__describe(opts->rules, files, sizeof(files));
	c.out = json_pack("{s:b, s:s, s:o, s:o}", "ok", !code, "file", files, "messages",
			  plan_report__messages(&c.diags), "left_out",
			  json_left_out(&c, &no_tracefs));
	if (!opts->json)
		cmd_print_diags(&c.diags);
	if (!code)
		json_object_set_new(c.out, "plan", plan_report__make(c.rs, c.plan));
	if (!code && opts->live)
		status = try_rules_live(&c);
	if (!opts->json)
		print_check_text(&c);
	else if (json_dumpf(c.out, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	if (status == EXIT_DONE && json_alloc__failed()) {
		log_error("out of memory: the plan above is incomplete");
		status = EXIT_FAILED;
	}
	json_decref(c.out);
	plan__free(c.plan);
	ruleset__free(c.rs);
	tracefs__free(c.tracefs);
	diags__free(&c.diags);
	probe_reader__use(NULL);
	examiner__free(c.examiner);
	return status;
}

static int run_check(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "live", required_argument, NULL, 'l' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct check_opts opts = { .rules = LOCATION_RULES };
	char list[RULES_FILES_LIST_MAX] = "";
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_check, argc, argv, ":h", long_opts, &opts.hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'j')
			opts.json = true;
		else if (cmd_duration(&cmd_check, "--live", optarg, &opts.live))
			return EXIT_FAILED;
	}
	if (p == CMD_EXIT)
		return opt;
	if (opts.hint.config)
		opts.rules = opts.hint.config;
	if (optind == argc && cmd_add_rules(opts.rules, list))
		return EXIT_FAILED;
	for (; optind < argc; optind++) {
		if (cmd_add_rules(argv[optind], list))
			return EXIT_FAILED;
	}
	opts.rules = list;
	return check_rules_files(&opts);
}

const struct command cmd_check = {
	.name = "check",
	.run = run_check,
	.usage = "[--json] [--live T] [RULES|@NAME]...",
	.summary = "what is wrong with RULES, and what loading them would do",
	.help = "RULES defaults to " LOCATION_RULES ". Errors and warnings go to standard error.\n"
		"The plan goes to standard output: sources and what they attach to, rules,\n"
		"sessions, memory. Root is not needed; what could not be checked without it is\n"
		"listed. Exit status 1: there are errors.\n\n"
		"      --live T        attach the rules for T (such as 10s) and count the\n"
		"                      matches of each; nothing is recorded or dumped\n"
		"      --json          everything as JSON\n",
};
