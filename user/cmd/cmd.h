/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands: one file each, found through the table in main.c. */
#ifndef FRBPF_CMD_CMD_H
#define FRBPF_CMD_CMD_H

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

#include "daemon/location.h"
#include "rules/diag.h"
#include "rules/rules_files.h"

/* Exit status of commands, see the design's section 5. */
#define EXIT_DONE   0
#define EXIT_FAILED 1

struct command {
	const char *name;
	int (*run)(int argc,
		   char **argv); /* argv[0] is the command's name; returns the exit status */
	const char *usage;	 /* behind "frbpf NAME " */
	const char *summary;	 /* one line */
	const char *help;	 /* further lines for --help; "" for none */
	bool no_base;		 /* it has nothing to do with a daemon: no --base, no --config */
};

extern const struct command cmd_status, cmd_load, cmd_dump, cmd_ls, cmd_show, cmd_stop, cmd_ping,
	cmd_start, cmd_daemon, cmd_signal, cmd_check, cmd_events, cmd_mute, cmd_arm, cmd_trigger,
	cmd_diff, cmd_merge, cmd_run, cmd_bench, cmd_why, cmd_tune, cmd_test;

/* Those of `daemon`, which say what perf's say and end as they do. */
int cmd_stop_as_perf(int argc, char **argv);
int cmd_ping_as_perf(int argc, char **argv);
int cmd_signal_as_perf(int argc, char **argv);

/* ---- what commands share ---- */

/* Options that every command takes. */
#define CMD_COMMON_OPTIONS                                                                         \
	{ "base", required_argument, NULL, 'B' }, { "config", required_argument, NULL, 'C' },      \
	{                                                                                          \
		"help", no_argument, NULL, 'h'                                                     \
	}

/* Options of perf daemon that it takes under every command; only status has a use for them. */
#define CMD_PERF_SHORT "vx::"
#define CMD_PERF_OPTIONS                                                                           \
	{ "verbose", no_argument, NULL, 'v' },                                                     \
	{                                                                                          \
		"field-separator", optional_argument, NULL, 'x'                                    \
	}

enum cmd_parse { CMD_OPTION, CMD_DONE, CMD_EXIT };

/*
 * getopt_long() with the common options handled: CMD_OPTION hands the caller one of its own in
 * *ret_opt, CMD_DONE ends the options (operands from optind on), CMD_EXIT means that the command is
 * over with status *ret_opt (help was printed, or an error said).
 */
enum cmd_parse cmd_next_option(const struct command *cmd, int argc, char **argv,
			       const char *short_opts, const struct option *long_opts,
			       struct location_hint *hint, int *ret_opt);

/* Before a command reads recordings: see confine__reader(). 0, or EXIT_FAILED and said why. */
int cmd_read_only(void);

/* The whole command line of one whose only option is --session: CMD_DONE with the base and the session (NULL: all), or
 * CMD_EXIT with the status. */
enum cmd_parse cmd_parse_session(const struct command *cmd, int argc, char **argv,
				 char base[static PATH_MAX], const char **ret_session,
				 int *ret_status);

/* The index of the first word behind options that may stand before a command, as perf daemon takes
 * them; @argc: there is none. */
int cmd_leading_options(int argc, char **argv);
/* "--base B load R": as if the word at @at came first, as argv[1]. */
void cmd_move_first(char **argv, int at);

/* Add the path of rules file @arg (a path, or @NAME) to a list of them, see rules_files.h. Prints why not, and returns
 * EXIT_FAILED then. */
int cmd_add_rules(const char *arg, char list[static RULES_FILES_LIST_MAX]);

/* The same of one whose only option is --json, and which takes up to @max_operands: those are at optind. @too_many says
 * that there are more. */
enum cmd_parse cmd_parse_json(const struct command *cmd, int argc, char **argv, int max_operands,
			      const char *too_many, char base[static PATH_MAX], bool *ret_json,
			      int *ret_status);

/* Say that operands are wrong and how the command is used. Returns EXIT_FAILED. */
int cmd_usage_error(const struct command *cmd, const char *what);

/* Say that there is no session @name. Returns EXIT_FAILED. */
int cmd_no_session(const char *name);

/* Find the daemon's base; prints the error. 0 or EXIT_FAILED. */
int cmd_find_base(const struct location_hint *hint, char base[static PATH_MAX]);

/* Write errors and warnings to standard error. */
void cmd_print_diags(const struct diags *d);

/* The duration that option @name was given, in ns. 0, or EXIT_FAILED, and said why. */
int cmd_duration(const struct command *cmd, const char *name, const char *text, uint64_t *ret_ns);

/* Ask the daemon of @base; an answer with "ok": false is printed as the error. NULL: failed, and
 * said so. The request is taken over; the answer is the caller's. */
json_t *cmd_ask(const char *base, json_t *request);
/* What control__request() has brought: @reply, or NULL with words said. */
json_t *cmd_take_reply(const char *base, int code, const struct err *err, json_t *reply);

/* Make every text of @j fit to be printed, see make_printable(). */
void cmd_make_printable(json_t *j);

/* What `why` says of incident @name below @base, as an explainer_fn. */
json_t *cmd_why_explain(const char *base, const char *name);

#endif
