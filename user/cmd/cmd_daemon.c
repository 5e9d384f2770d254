// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/cleanup.h"

/* "daemon [OPTIONS] [start|stop|signal|ping [OPTIONS]]": the same as without "daemon" */
#define PERF_FAILED 255 /* exit status of perf after an error */

static int run_daemon_command(int argc, char **argv)
{
	const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "start", cmd_start.run },
		{ "stop", cmd_stop_as_perf },
		{ "signal", cmd_signal_as_perf },
		{ "ping", cmd_ping_as_perf },
	};
	int at = cmd_leading_options(argc, argv), status;

	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		static const struct option none[] = { CMD_COMMON_OPTIONS, { 0 } };
		struct location_hint hint;

		cmd_next_option(&cmd_daemon, argc, argv, ":h", none, &hint, &status);
		return status;
	}
	if (at == argc || argv[at][0] == '-') {
		argv[0] = (char *)cmd_status.name;
		return cmd_status.run(argc, argv);
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, argv[at]) != 0)
			continue;
		cmd_move_first(argv, at);
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "failed: unknown command '%s'\n", argv[at]);
	return EXIT_FAILED;
}

static int run_daemon(int argc, char **argv)
{
	int status = run_daemon_command(argc, argv);

	return status == EXIT_FAILED ? PERF_FAILED : status;
}

const struct command cmd_daemon = {
	.name = "daemon",
	.run = run_daemon,
	.usage = "[start|stop|signal|ping]",
	.summary = "the commands of perf daemon, for scripts that use it: `alias perf=frbpf`",
	.help = "Without a command it lists the sessions, as `status` does. The commands are\n"
		"those of frbpf, with the same options, and the output of perf's. After an\n"
		"error the exit status is 255, as in perf.\n\n"
		"  -f, --foreground    start: stay in the foreground, log to standard error\n"
		"      --session S     signal, ping: only this session\n"
		"  -v, --verbose       as for status; all commands accept it\n"
		"  -x[SEP]             as for status; all commands accept it\n",
};
