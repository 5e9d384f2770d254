// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/nearest_word.h"
#include "common/rights.h"
#include "common/version.h"
#include "rules/diag.h"

/* clang-format off */
static const struct command *const commands[] = {
	&cmd_status,
	&cmd_load,
	&cmd_check,
	&cmd_tune,
	&cmd_test,
	&cmd_dump,
	&cmd_ls,
	&cmd_show,
	&cmd_why,
	&cmd_run,
	&cmd_bench,
	&cmd_diff,
	&cmd_merge,
	&cmd_stop,
	&cmd_ping,
	&cmd_start,
	&cmd_signal,
	&cmd_daemon,
	&cmd_doctor,
	&cmd_events,
	&cmd_mute,
	&cmd_arm,
	&cmd_trigger,
};
/* clang-format on */

#define USAGE_WIDTH 28 /* columns; after a longer usage, the summary has a line of its own */

static void print_command_summary(const struct command *c)
{
	if (strlen(c->usage) > USAGE_WIDTH)
		printf("  %-8s %s\n%*s%s\n", c->name, c->usage, USAGE_WIDTH + 12, "", c->summary);
	else
		printf("  %-8s %-*s %s\n", c->name, USAGE_WIDTH, c->usage, c->summary);
}

static void print_main_help(void)
{
	printf("Usage: frbpf [COMMAND] [OPTIONS]\n\n"
	       "A flight recorder: perf events go to memory all the time; when a rule holds, the "
	       "last window\n"
	       "is saved as an ordinary perf.data file.\n\nCommands (frbpf COMMAND --help says "
	       "more):\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		print_command_summary(commands[i]);
	printf("\nWithout a command: status. help COMMAND is COMMAND --help. --version prints the "
	       "version.\n");
}

/* The only command whose name begins with @name, or NULL. */
static const char *command_beginning_with(const char *name)
{
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!name[0] || strncmp(commands[i]->name, name, strlen(name)) != 0)
			continue;
		if (found)
			return NULL;
		found = commands[i]->name;
	}
	return found;
}

static int unknown_command(const char *name)
{
	const char *names[ARRAY_SIZE(commands) + 1] = { 0 };
	const char *near;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i]->name;
	near = command_beginning_with(name) ?: nearest_word(name, strlen(name), names);
	log_error("unknown command '%s'%s%s%s; frbpf --help lists them", name,
		  near ? " (did you mean '" : "", near ?: "", near ? "'?)" : "");
	return EXIT_FAILED;
}

static int run_named_command(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i]->name, argv[0]) == 0)
			return commands[i]->run(argc, argv);
	}
	return unknown_command(argv[0]);
}

/* "help COMMAND" is "COMMAND --help". */
static int run_help(int argc, char **argv)
{
	char *words[] = { argv[1], (char[]){ "--help" }, NULL };

	if (argc > 1 && argv[1][0] != '-' && strcmp(argv[1], "help") != 0)
		return run_named_command(2, words);
	print_main_help();
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	static char *status_argv[] = { "status", NULL };
	int first;

	rights__lower();
	if (argc < 2)
		return cmd_status.run(1, status_argv);
	first = cmd_leading_options(argc, argv);
	if (first < argc && argv[first][0] != '-')
		cmd_move_first(argv, first);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return run_help(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("frbpf %s\n", frbpf_version);
		return EXIT_DONE;
	}
	if (argv[1][0] == '-') /* as perf daemon: options without a command ask for the status */
		return cmd_status.run(argc, argv);
	return run_named_command(argc - 1, argv + 1);
}
