// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/series.h"
#include "cmd/run_args.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/log.h"
#include "record/words.h"
#include "rules/units.h"
#include "run/outcome.h"

enum { /* options without a short form */
       OPT_RULES = 256,
       OPT_WHEN,
       OPT_IF,
       OPT_SESSION,
       OPT_CGROUP,
       OPT_FOR,
       OPT_DUMPS,
       OPT_EXIT_CODE,
       OPT_OPTIONAL,
       OPT_USER,
       OPT_LAST_WINDOW,
       OPT_MATCHES_ONLY,
       OPT_LOG,
       OPT_THRESHOLD,
       OPT_QUIET,
       OPT_REPEAT,
       OPT_BASELINE,
       OPT_SAVE_BASELINE,
       OPT_AGAINST,
       OPT_FORCE,
       OPT_TOLERANCE,
       OPT_OTHERS_LIMIT,
       OPT_STRICT,
};

static const struct option long_opts[] = {
	{ "rules", required_argument, NULL, OPT_RULES },
	{ "when", required_argument, NULL, OPT_WHEN },
	{ "if", required_argument, NULL, OPT_IF },
	{ "session", required_argument, NULL, OPT_SESSION },
	{ "all", no_argument, NULL, 'a' },
	{ "pid", required_argument, NULL, 'p' },
	{ "cgroup", required_argument, NULL, OPT_CGROUP },
	{ "for", required_argument, NULL, OPT_FOR },
	{ "dumps", required_argument, NULL, OPT_DUMPS },
	{ "output", required_argument, NULL, 'o' },
	{ "exit-code", required_argument, NULL, OPT_EXIT_CODE },
	{ "optional", no_argument, NULL, OPT_OPTIONAL },
	{ "user", optional_argument, NULL, OPT_USER },
	{ "last-window", optional_argument, NULL, OPT_LAST_WINDOW },
	{ "matches-only", no_argument, NULL, OPT_MATCHES_ONLY },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "threshold", required_argument, NULL, OPT_THRESHOLD },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "baseline", required_argument, NULL, OPT_BASELINE },
	{ "save-baseline", required_argument, NULL, OPT_SAVE_BASELINE },
	{ "against", required_argument, NULL, OPT_AGAINST },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "tolerance", required_argument, NULL, OPT_TOLERANCE },
	{ "others-limit", required_argument, NULL, OPT_OTHERS_LIMIT },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char *long_name(int opt)
{
	for (size_t i = 0; i < ARRAY_SIZE(long_opts); i++) {
		if (long_opts[i].val == opt)
			return long_opts[i].name;
	}
	return "";
}

struct parser {
	const struct command *cmd;
	struct run_opts *opts;
	struct bench_opts *bench; /* NULL: for `run` */
};

/* Report any error in the command line: nothing was run or recorded. */
static bool wrong_usage(const struct parser *p, const char *what)
{
	cmd_usage_error(p->cmd, what);
	return false;
}

static bool wrong_option_value(const struct parser *p, const char *name, const char *value,
			       const char *why)
{
	char what[256];

	snprintf(what, sizeof(what), "%s %.100s: %s", name, value, why);
	return wrong_usage(p, what);
}

/* Parse a number from @least to @most. */
static bool set_option_number(const struct parser *p, const char *name, const char *text,
			      uint64_t least, uint64_t most, uint64_t *ret)
{
	const char *why;
	char range[80];
	uint64_t n;

	if (units__number(text, strlen(text), &n, &why))
		return wrong_option_value(p, name, text, why);
	if (n < least || n > most) {
		snprintf(range, sizeof(range), "a number from %llu to %llu is expected",
			 (unsigned long long)least, (unsigned long long)most);
		return wrong_option_value(p, name, text, range);
	}
	*ret = n;
	return true;
}

static bool set_scope(const struct parser *p, enum run_scope scope)
{
	if (p->opts->scope != RUN_TREE)
		return wrong_usage(p,
				   "-a, -p and --cgroup exclude each other, and can be given once");
	p->opts->scope = scope;
	return true;
}

static bool add_when(const struct parser *p, const char *when)
{
	struct run_opts *o = p->opts;
	struct run_when *v = reallocarray(o->whens, o->n_whens + 1, sizeof(*v));

	if (!v)
		return wrong_usage(p, "out of memory");
	o->whens = v;
	v[o->n_whens++] = (struct run_when){ .when = when };
	return true;
}

static bool add_if(const struct parser *p, const char *condition)
{
	struct run_opts *o = p->opts;

	if (!o->n_whens)
		return wrong_usage(p, "--if belongs to a --when before it");
	if (o->whens[o->n_whens - 1].condition)
		return wrong_usage(p, "a --when has one --if: join conditions by &&");
	o->whens[o->n_whens - 1].condition = condition;
	return true;
}

static bool add_arg_session(const struct parser *p, const char *line)
{
	struct run_opts *o = p->opts;
	const char **v = reallocarray(o->sessions, o->n_sessions + 1, sizeof(*v));

	if (!v)
		return wrong_usage(p, "out of memory");
	o->sessions = v;
	v[o->n_sessions++] = line;
	return true;
}

static bool set_duration(const struct parser *p, const char *text)
{
	const char *why = "it is 0";

	if (units__duration(text, strlen(text), &p->opts->for_ns, &why) || !p->opts->for_ns)
		return wrong_option_value(p, "--for", text, why);
	return true;
}

static bool set_pid(const struct parser *p, const char *text)
{
	uint64_t pid;

	if (!set_scope(p, RUN_PID) || !set_option_number(p, "-p", text, 1, INT_MAX, &pid))
		return false;
	p->opts->pid = pid;
	return true;
}

static bool set_exit_code(const struct parser *p, const char *text)
{
	uint64_t n;

	if (!set_option_number(p, "--exit-code", text, 0, 255, &n))
		return false;
	p->opts->exit_code = n;
	return true;
}

/* Parse "5%" or "7.5%" into a fraction. */
static bool set_percent(const struct parser *p, const char *name, const char *text, double most,
			double *ret)
{
	char range[80], *end;
	double n;

	snprintf(range, sizeof(range), "a percentage up to %g%%, such as 5%%, is expected", most);
	if (*text < '0' || *text > '9')
		return wrong_option_value(p, name, text, range);
	n = strtod(text, &end);
	if (strspn(text, "0123456789.") != (size_t)(end - text) || strcmp(end, "%") != 0 ||
	    n > most)
		return wrong_option_value(p, name, text, range);
	*ret = n / 100;
	return true;
}

/* Split into words like a shell, without expansion, into a NULL-terminated list. */
static bool set_against(const struct parser *p, const char *text)
{
	struct source_text src = { .name = (char *)"--against",
				   .text = (char *)text,
				   .len = strlen(text) };
	struct words words = { 0 };
	struct diags diags = { 0 };
	char **v = NULL;
	int err;

	if (p->bench->against)
		return wrong_usage(p, "--against can be given once");
	err = words__split(&src, (struct span){ 0, src.len }, &diags, &words);
	if (!err && words.n) {
		v = calloc(words.n + 1, sizeof(*v));
		for (size_t i = 0; v && i < words.n; i++)
			v[i] = TAKE_PTR(words.v[i].text);
	}
	if (!v)
		wrong_option_value(p, "--against", text,
				   err == -EINVAL ? "a quote has no end"
				   : !words.n	  ? "no command"
						  : "out of memory");
	p->bench->against = v;
	words__free(&words);
	diags__free(&diags);
	return v;
}

/* Parse NAME=DURATION. */
static bool add_threshold(const struct parser *p, const char *text)
{
	struct run_opts *o = p->opts;
	struct run_threshold *v = reallocarray(o->thresholds, o->n_thresholds + 1, sizeof(*v));
	const char *duration = strchr(text, '='), *why = "NAME=DURATION is expected";
	uint64_t ns;

	if (!v)
		return wrong_usage(p, "out of memory");
	o->thresholds = v;
	if (!duration || units__duration(duration + 1, strlen(duration + 1), &ns, &why))
		return wrong_option_value(p, "--threshold", text, why);
	v[o->n_thresholds].rule = strndup(text, duration - text);
	v[o->n_thresholds].ns = ns;
	return v[o->n_thresholds++].rule ? true : wrong_usage(p, "out of memory");
}

static bool set_last_window(const struct parser *p, const char *value)
{
	if (value && strcmp(value, "no") != 0)
		return wrong_option_value(p, "--last-window", value, "nothing or no is expected");
	p->opts->last_window = !value;
	p->opts->no_last_window = value;
	return true;
}

/* Take an option of `bench` only. */
static bool take_bench_option(const struct parser *p, int opt, const char *value)
{
	struct bench_opts *o = p->bench;

	switch (opt) {
	case OPT_REPEAT:
		return set_option_number(p, "--repeat", value, 1, SERIES_RUNS_MAX, &o->repeat);
	case OPT_BASELINE:
		o->baseline = value;
		return true;
	case OPT_SAVE_BASELINE:
		o->save_baseline = value;
		return true;
	case OPT_AGAINST:
		return set_against(p, value);
	case OPT_FORCE:
		o->force = true;
		return true;
	case OPT_TOLERANCE:
		return set_percent(p, "--tolerance", value, 1000, &o->tolerance);
	case OPT_OTHERS_LIMIT:
		return set_percent(p, "--others-limit", value, 100, &o->others_limit);
	default:
		o->strict = true;
		return true;
	}
}

/* Take an option of `run` only. */
static bool take_run_option(const struct parser *p, int opt, const char *value)
{
	struct run_opts *o = p->opts;

	switch (opt) {
	case 'a':
		return set_scope(p, RUN_ALL);
	case 'p':
		return set_pid(p, value);
	case OPT_CGROUP:
		o->cgroup = value;
		return set_scope(p, RUN_CGROUP);
	case OPT_FOR:
		return set_duration(p, value);
	case OPT_DUMPS:
		return set_option_number(p, "--dumps", value, 1, 1000000, &o->max_dumps);
	case OPT_THRESHOLD:
		return add_threshold(p, value);
	default:
		o->quiet = true;
		return true;
	}
}

/* Is it an option of the other command? Then an error was printed. */
static bool is_misplaced(const struct parser *p, int opt)
{
	static const int of_run[] = { 'a',	 'p',		OPT_CGROUP, OPT_FOR,
				      OPT_DUMPS, OPT_THRESHOLD, OPT_QUIET };
	bool runs = false, benches = opt >= OPT_REPEAT;
	char what[128];

	for (size_t i = 0; i < ARRAY_SIZE(of_run); i++)
		runs |= opt == of_run[i];
	if (p->bench ? !runs : !benches)
		return false;
	if (opt < OPT_RULES)
		snprintf(what, sizeof(what), "-%c", opt);
	else
		snprintf(what, sizeof(what), "--%s", long_name(opt));
	if (p->bench)
		snprintf(what + strlen(what), sizeof(what) - strlen(what),
			 " is an option of `frbpf run`: a bench is about whole runs of a command");
	else
		snprintf(what + strlen(what), sizeof(what) - strlen(what),
			 " is an option of `frbpf bench`");
	wrong_usage(p, what);
	return true;
}

/* Take an option of either command. */
static bool take_option(const struct parser *p, int opt, const char *value)
{
	struct run_opts *o = p->opts;

	if (is_misplaced(p, opt))
		return false;
	switch (opt) {
	case OPT_RULES:
		o->rules = value;
		return true;
	case OPT_WHEN:
		return add_when(p, value);
	case OPT_IF:
		return add_if(p, value);
	case OPT_SESSION:
		return add_arg_session(p, value);
	case 'o':
		o->out = value;
		return true;
	case OPT_EXIT_CODE:
		return set_exit_code(p, value);
	case OPT_OPTIONAL:
		o->optional = true;
		return true;
	case OPT_USER:
		o->as_user = true;
		o->user = value;
		return true;
	case OPT_LAST_WINDOW:
		return set_last_window(p, value);
	case OPT_MATCHES_ONLY:
		o->matches_only = true;
		return true;
	case OPT_LOG:
		o->log = value;
		return true;
	default:
		return p->bench ? take_bench_option(p, opt, value) : take_run_option(p, opt, value);
	}
}

static bool check_bench(const struct parser *p)
{
	const struct bench_opts *o = p->bench;
	bool compared = o->baseline || o->save_baseline || o->against;

	if (!o->run.command)
		return wrong_usage(p, "no command: give one after --");
	if (o->force && !o->save_baseline)
		return wrong_usage(p, "--force needs --save-baseline");
	if (o->strict && !o->baseline && !o->against)
		return wrong_usage(p, "--strict needs --baseline or --against");
	if (!o->repeat && !compared)
		return wrong_usage(p,
				   "--repeat, --baseline, --save-baseline or --against is needed; "
				   "`frbpf run` records once");
	if (o->against && (o->baseline || o->save_baseline))
		return wrong_usage(p, "--against excludes --baseline and --save-baseline: it "
				      "compares two commands that are run in turns");
	if (o->against && o->repeat && o->repeat < SERIES_PAIRS_LEAST)
		return wrong_usage(p, "--repeat: a comparison needs 8 pairs of runs or more");
	if (compared && o->repeat && o->repeat < SERIES_LEAST)
		return wrong_usage(p, "--repeat: a comparison needs 5 runs or more");
	return true;
}

static bool check_run(const struct parser *p)
{
	const struct run_opts *o = p->opts;

	if (!o->command && o->scope == RUN_TREE)
		return wrong_usage(p, "no command: give one after --, or -a, -p or --cgroup");
	if (!o->command && o->as_user)
		return wrong_usage(p, "--user needs a command to run");
	if (!o->command && o->optional)
		return wrong_usage(p, "--optional needs a command to run");
	return true;
}

static bool parse_args(const struct parser *p, int argc, char **argv, int *ret_status)
{
	struct location_hint unused = { 0 };
	enum cmd_parse parsed;
	int opt;

	*p->opts = (struct run_opts){ .scope = RUN_TREE, .exit_code = RUN_EXIT_FIRED };
	*ret_status = RUN_EXIT_NOT_RECORDED;
	/* '+': the first operand begins the command */
	while ((parsed = cmd_next_option(p->cmd, argc, argv, "+:ap:o:h", long_opts, &unused,
					 &opt)) == CMD_OPTION) {
		if (!take_option(p, opt, optarg))
			return false;
	}
	if (parsed == CMD_EXIT) {
		if (opt == EXIT_DONE)
			*ret_status = EXIT_DONE;
		return false;
	}
	if (optind < argc)
		p->opts->command = argv + optind;
	return p->bench ? check_bench(p) : check_run(p);
}

bool run_args__parse(const struct command *cmd, int argc, char **argv, struct run_opts *ret,
		     int *ret_status)
{
	return parse_args(&(struct parser){ cmd, ret, NULL }, argc, argv, ret_status);
}

void run_args__free(struct run_opts *opts)
{
	for (size_t i = 0; i < opts->n_thresholds; i++)
		free((char *)opts->thresholds[i].rule);
	free(opts->thresholds);
	free(opts->whens);
	free(opts->sessions);
}

bool bench_args__parse(const struct command *cmd, int argc, char **argv, struct bench_opts *ret,
		       int *ret_status)
{
	*ret = (struct bench_opts){ .tolerance = 0.05, .others_limit = SERIES_OTHERS_LIMIT };
	return parse_args(&(struct parser){ cmd, &ret->run, ret }, argc, argv, ret_status);
}

void bench_args__free(struct bench_opts *opts)
{
	for (size_t i = 0; opts->against && opts->against[i]; i++)
		free(opts->against[i]);
	free(opts->against);
	run_args__free(&opts->run);
}

bool run_args__log_to(const char *path, FILE **ret)
{
	int fd = path ? foreign__append(path) : -1;
	FILE *log = fd < 0 ? NULL : fdopen(fd, "a");

	if (path && !log) {
		log_error("--log %s: %s", path,
			  fd == -ELOOP ? "it goes through a link of another user"
				       : strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	log_to(log);
	*ret = log;
	return true;
}
