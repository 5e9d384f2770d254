// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "common/log.h"
#include "common/nearest_word.h"
#include "common/printable.h"
#include "confine/reading.h"
#include "daemon/control.h"
#include "rules/diag.h"
#include "rules/rules_files.h"
#include "rules/units.h"

#define OPTIONS_MAX 64 /* of a command; further ones are not suggested */

static void print_command_help(const struct command *cmd)
{
	printf("Usage: frbpf %s%s%s\n\n%s.\n", cmd->name, cmd->usage[0] ? " " : "", cmd->usage,
	       cmd->summary);
	if (cmd->help[0])
		printf("\n%s", cmd->help);
	if (!cmd->no_base)
		printf("\n      --base DIR      the daemon's base directory\n"
		       "      --config FILE   find it through this rules file or perf config\n");
	printf("%s  -h, --help          this text\n", cmd->no_base ? "\n" : "");
}

int cmd_usage_error(const struct command *cmd, const char *what)
{
	fprintf(stderr, "frbpf: error: %s: %s\nUsage: frbpf %s%s%s   (frbpf %s --help says more)\n",
		cmd->name, what, cmd->name, cmd->usage[0] ? " " : "", cmd->usage, cmd->name);
	return EXIT_FAILED;
}

/* The most similar long option; NULL: none is similar. */
static const char *nearest_option(const char *word, const struct option *opts)
{
	const char *names[OPTIONS_MAX + 1] = { NULL };

	if (strncmp(word, "--", 2) != 0)
		return NULL;
	for (size_t i = 0; i < OPTIONS_MAX && opts[i].name; i++)
		names[i] = opts[i].name;
	return nearest_word(word + 2, strcspn(word + 2, "="), names);
}

static void describe_unknown(const char *word, const struct option *opts, char what[static 256])
{
	const char *near = nearest_option(word, opts);

	snprintf(what, 256, "unknown option '%.100s'%s%s%s", word, near ? " (did you mean '--" : "",
		 near ?: "", near ? "'?)" : "");
}

enum cmd_parse cmd_next_option(const struct command *cmd, int argc, char **argv,
			       const char *short_opts, const struct option *long_opts,
			       struct location_hint *hint, int *ret_opt)
{
	char what[256];
	int opt;

	opterr = 0;
	for (;;) {
		opt = getopt_long(argc, argv, short_opts, long_opts, NULL);
		switch (opt) {
		case -1:
			return CMD_DONE;
		case 'B':
			hint->base = optarg;
			break;
		case 'C':
			hint->config = optarg;
			break;
		case 'h':
			print_command_help(cmd);
			*ret_opt = EXIT_DONE;
			return CMD_EXIT;
		case ':':
			snprintf(what, sizeof(what), "option '%s' needs an argument",
				 argv[optind - 1]);
			*ret_opt = cmd_usage_error(cmd, what);
			return CMD_EXIT;
		case '?':
			if (optopt && optopt < 128)
				snprintf(what, sizeof(what), "unknown option '-%c'", optopt);
			else
				describe_unknown(argv[optind - 1], long_opts, what);
			*ret_opt = cmd_usage_error(cmd, what);
			return CMD_EXIT;
		default:
			*ret_opt = opt;
			return CMD_OPTION;
		}
	}
}

int cmd_no_session(const char *name)
{
	log_error("no session '%s' here: `frbpf status` lists them", name);
	return EXIT_FAILED;
}

int cmd_find_base(const struct location_hint *hint, char base[static PATH_MAX])
{
	struct err err = { 0 };

	if (location__find(hint, base, &err) == 0)
		return 0;
	log_error("%s", err.msg);
	return EXIT_FAILED;
}

void cmd_print_diags(const struct diags *d)
{
	struct buf text = { 0 };

	if (diags__format(d, &text))
		log_error("out of memory for the messages");
	else if (text.len)
		fputs(text.data, stderr);
	buf__free(&text);
}

int cmd_duration(const struct command *cmd, const char *name, const char *text, uint64_t *ret_ns)
{
	const char *why = "it is 0";
	char what[256];
	uint64_t ns = 0;

	if (units__duration(text, strlen(text), &ns, &why) || !ns) {
		snprintf(what, sizeof(what), "%s %s: %s", name, text, why);
		return cmd_usage_error(cmd, what);
	}
	*ret_ns = ns;
	return 0;
}

static bool is_leading(const char *word)
{
	static const char *const starts[] = { "--base=", "--config=", "--field-separator", "-x" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (!strncmp(word, starts[i], strlen(starts[i])))
			return true;
	}
	return !strcmp(word, "-v") || !strcmp(word, "--verbose");
}

int cmd_leading_options(int argc, char **argv)
{
	int i = 1;

	while (i < argc) {
		if (!strcmp(argv[i], "--base") || !strcmp(argv[i], "--config"))
			i += 2;
		else if (is_leading(argv[i]))
			i++;
		else
			break;
	}
	return i < argc ? i : argc;
}

void cmd_move_first(char **argv, int at)
{
	char *name = argv[at];

	memmove(argv + 2, argv + 1, (at - 1) * sizeof(*argv));
	argv[1] = name;
}

int cmd_add_rules(const char *arg, char list[static RULES_FILES_LIST_MAX])
{
	size_t len = strlen(list);
	struct err err = { 0 };
	char path[PATH_MAX];

	if (shipped_rules__path(arg, path, &err)) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	if (strchr(path, RULES_FILES_SEPARATOR)) {
		log_error("a newline in the name of a rules file");
		return EXIT_FAILED;
	}
	if (len + strlen(path) + 2 > RULES_FILES_LIST_MAX) {
		log_error("too many rules files");
		return EXIT_FAILED;
	}
	if (len)
		list[len++] = RULES_FILES_SEPARATOR;
	strcpy(list + len, path);
	return EXIT_DONE;
}

/* The command line of a command with a single option of its own */
struct single_option {
	const struct option *long_opts;
	int max_operands;
	const char *too_many;	/* the error for too many operands */
	const char *short_opts; /* NULL: none but -h */
	bool given;
	const char *value; /* NULL: not given, or the option has no argument */
};

static enum cmd_parse parse_single(const struct command *cmd, int argc, char **argv,
				   struct single_option *o, char base[static PATH_MAX],
				   int *ret_status)
{
	struct location_hint hint = { 0 };
	enum cmd_parse p;

	while ((p = cmd_next_option(cmd, argc, argv, o->short_opts ?: ":h", o->long_opts, &hint,
				    ret_status)) == CMD_OPTION) {
		if (*ret_status == 'v' || *ret_status == 'x')
			continue;
		o->given = true;
		o->value = optarg;
	}
	if (p == CMD_EXIT)
		return p;
	if (argc - optind > o->max_operands)
		*ret_status = cmd_usage_error(cmd, o->too_many);
	else
		*ret_status = cmd_find_base(&hint, base);
	return *ret_status ? CMD_EXIT : CMD_DONE;
}

enum cmd_parse cmd_parse_session(const struct command *cmd, int argc, char **argv,
				 char base[static PATH_MAX], const char **ret_session,
				 int *ret_status)
{
	static const struct option long_opts[] = { { "session", required_argument, NULL, 's' },
						   CMD_PERF_OPTIONS,
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct single_option o = { long_opts, 0, "takes no operands", ":h" CMD_PERF_SHORT };
	enum cmd_parse p = parse_single(cmd, argc, argv, &o, base, ret_status);

	*ret_session = o.value;
	return p;
}

enum cmd_parse cmd_parse_json(const struct command *cmd, int argc, char **argv, int max_operands,
			      const char *too_many, char base[static PATH_MAX], bool *ret_json,
			      int *ret_status)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct single_option o = { long_opts, max_operands, too_many };
	enum cmd_parse p = parse_single(cmd, argc, argv, &o, base, ret_status);

	*ret_json = o.given;
	return p;
}

json_t *cmd_ask(const char *base, json_t *request)
{
	char path[PATH_MAX + 16];
	struct err err = { 0 };
	json_t *reply = NULL;
	int code;

	snprintf(path, sizeof(path), "%s/control", base);
	code = control__request(path, request, &err, &reply);
	return cmd_take_reply(base, code, &err, reply);
}

json_t *cmd_take_reply(const char *base, int code, const struct err *err, json_t *reply)
{
	const char *said;

	if (code == -ENOENT || code == -ECONNREFUSED || code == -ENOTDIR)
		log_error("no daemon runs at %s: start one with `frbpf load RULES`, or say where "
			  "it is with --base",
			  base);
	else if (code == -EACCES)
		log_error("only root and its own user may use the daemon at %s: try sudo", base);
	else if (code)
		log_error("%s", err->msg);
	if (code)
		return NULL;
	if (json_is_true(json_object_get(reply, "ok")))
		return reply;
	said = json_string_value(json_object_get(reply, "error")) ?: "the daemon refused";
	if (said[0] && said[strlen(said) - 1] == '\n') /* complete messages, with positions */
		fputs(said, stderr);
	else
		log_error("%s", said);
	json_decref(reply);
	return NULL;
}

static void make_string_printable(json_t *j)
{
	char *text = strdup(json_string_value(j));

	if (text)
		json_string_set(j, make_printable(text));
	free(text);
}

void cmd_make_printable(json_t *j)
{
	json_each_string(j, make_string_printable);
}

int cmd_read_only(void)
{
	int err = reading__begin_command();

	if (err)
		log_error("cannot drop privileges before files are read: %s", strerror(-err));
	return err ? EXIT_FAILED : 0;
}

int cmd_parse_rule(const char *name, const char *when, const char *threshold, const char *condition,
		   struct diags *d, struct ruleset **ret)
{
	struct source_text *src;
	struct buf text = { 0 };
	int err;

	err = buf__printf(&text,
			  "[session-none]\nrun = -e cpu-clock --overwrite -a\n"
			  "[rule-one]\nwhen = %s%s\n",
			  when, threshold);
	if (!err && condition)
		err = buf__printf(&text, "if = %s\n", condition);
	err = err ?: source_text__make(name, text.data, &src);
	buf__free(&text);
	return err ?: ruleset__parse(src, d, ret);
}

#define RUN_MOST  240 /* characters of a `run` line shown in full; longer ones were generated */
#define RUN_SHOWN 100 /* characters shown of a longer one */

void cmd_print_run_line(const json_t *session)
{
	const char *run = str(session, "run");
	size_t len = strlen(run);

	if (len <= RUN_MOST) {
		printf("%s", run);
		return;
	}
	for (len = RUN_SHOWN; len && run[len] != ',' && run[len] != ' ';)
		len--;
	printf("%.*s ... (--json has all)", (int)len, run);
}
