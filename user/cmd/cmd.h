/* SPDX-License-Identifier: GPL-2.0-only */
/* Interface of the commands. Each has its own file, and an entry in the table in main.c. */
#ifndef FRBPF_CMD_CMD_H
#define FRBPF_CMD_CMD_H

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

#include "daemon/explainer.h"
#include "daemon/location.h"
#include "rules/diag.h"
#include "rules/rules_files.h"
#include "rules/ruleset.h"

/* Exit status of commands */
#define EXIT_DONE   0
#define EXIT_FAILED 1

struct command {
	const char *name;
	int (*run)(int argc,
		   char **argv); /* argv[0] is the name of the command; returns the exit status */
	const char *usage;	 /* printed after "frbpf NAME " */
	const char *summary;	 /* one line */
	const char *help;	 /* further lines for --help; "" for none */
	bool no_base;		 /* it never talks to a daemon: no --base, no --config */
};

extern const struct command cmd_status, cmd_load, cmd_dump, cmd_ls, cmd_show, cmd_stop, cmd_ping,
	cmd_start, cmd_daemon, cmd_signal, cmd_check, cmd_events, cmd_mute, cmd_arm, cmd_trigger,
	cmd_diff, cmd_merge, cmd_run, cmd_bench, cmd_why, cmd_tune, cmd_test, cmd_doctor;

/*
 * `frbpf daemon stop`, `ping` and `signal`: the same commands, with output and exit status of perf
 * daemon.
 */
int cmd_stop_as_perf(int argc, char **argv);
int cmd_ping_as_perf(int argc, char **argv);
int cmd_signal_as_perf(int argc, char **argv);

/* ---- shared by commands ---- */

/* Options that every command takes. */
#define CMD_COMMON_OPTIONS                                                                         \
	{ "base", required_argument, NULL, 'B' }, { "config", required_argument, NULL, 'C' },      \
	{                                                                                          \
		"help", no_argument, NULL, 'h'                                                     \
	}

/* perf daemon accepts these options with every command, but only status uses them. */
#define CMD_PERF_SHORT "vx::"
#define CMD_PERF_OPTIONS                                                                           \
	{ "verbose", no_argument, NULL, 'v' },                                                     \
	{                                                                                          \
		"field-separator", optional_argument, NULL, 'x'                                    \
	}

enum cmd_parse { CMD_OPTION, CMD_DONE, CMD_EXIT };

/*
 * getopt_long() that handles the common options. CMD_OPTION: *ret_opt is an option of the command.
 * CMD_DONE: end of the options, operands start at optind. CMD_EXIT: the command ends with status
 * *ret_opt, after help or an error was printed.
 */
enum cmd_parse cmd_next_option(const struct command *cmd, int argc, char **argv,
			       const char *short_opts, const struct option *long_opts,
			       struct location_hint *hint, int *ret_opt);

/*
 * Call before a command reads recordings, see reading__begin_command(). 0, or EXIT_FAILED with an
 * error printed.
 */
int cmd_read_only(void);

/*
 * Parse the whole command line of a command whose only option is --session. CMD_DONE: base and
 * session (NULL: all) are set; CMD_EXIT: end with *ret_status.
 */
enum cmd_parse cmd_parse_session(const struct command *cmd, int argc, char **argv,
				 char base[static PATH_MAX], const char **ret_session,
				 int *ret_status);

/*
 * Index of the first word after leading options: perf daemon allows options before the command.
 * @argc: there is none.
 */
int cmd_leading_options(int argc, char **argv);
/* Move the word at @at to argv[1]: "--base B load R" becomes "load --base B R". */
void cmd_move_first(char **argv, int at);

/*
 * Add rules file @arg (a path, or @NAME) to a list of paths, see rules_files.h. 0, or EXIT_FAILED
 * with an error printed.
 */
int cmd_add_rules(const char *arg, char list[static RULES_FILES_LIST_MAX]);

/*
 * The same as cmd_parse_session() for a command whose only option is --json. It takes up to
 * @max_operands, which start at optind. @too_many: the error if there are more.
 */
enum cmd_parse cmd_parse_json(const struct command *cmd, int argc, char **argv, int max_operands,
			      const char *too_many, char base[static PATH_MAX], bool *ret_json,
			      int *ret_status);

/* Print an error and the usage of the command. Returns EXIT_FAILED. */
int cmd_usage_error(const struct command *cmd, const char *what);

/* Print that there is no session @name. Returns EXIT_FAILED. */
int cmd_no_session(const char *name);

/* Find the base of the daemon. 0, or EXIT_FAILED with an error printed. */
int cmd_find_base(const struct location_hint *hint, char base[static PATH_MAX]);

/* Print errors and warnings to standard error. */
void cmd_print_diags(const struct diags *d);

/* Parse the duration of option @name into ns. 0, or EXIT_FAILED with an error printed. */
int cmd_duration(const struct command *cmd, const char *name, const char *text, uint64_t *ret_ns);

/*
 * Send a request to the daemon of @base. An answer with "ok": false is printed as an error. Takes
 * over @request; the caller owns the answer. NULL: failed, and an error was printed.
 */
json_t *cmd_ask(const char *base, json_t *request);
/* Check the result of control__request(): returns @reply, or NULL after an error was printed. */
json_t *cmd_take_reply(const char *base, int code, const struct err *err, json_t *reply);

/* Make every string of @j printable, see make_printable(). */
void cmd_make_printable(json_t *j);

/* Print the `run` line of a session for people. A very long one is cut off after an event. */
void cmd_print_run_line(const json_t *session);

/* Explains an incident: makes the verdict of `frbpf why` and the list of kernel symbols. */
extern const struct explainer_fns cmd_why_explain;

/*
 * Parse a ruleset of one rule: `when` is @when followed by @threshold, `if` is @condition (NULL:
 * none). It comes from @name, which messages show. The caller owns *ret. 0, -EINVAL (see @d) or
 * -ENOMEM.
 */
int cmd_parse_rule(const char *name, const char *when, const char *threshold, const char *condition,
		   struct diags *d, struct ruleset **ret);

#endif
