// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

/* Like `perf daemon ping`: print a line per session, or for session @only. */
static int ping_sessions(const char *base, const char *only, bool as_perf)
{
	json_t *status = cmd_ask(base, json_pack("{s:s}", "cmd", "status"));
	bool found = false;
	const json_t *s;
	size_t i;

	if (!status)
		return EXIT_FAILED;
	json_array_foreach (json_object_get(status, "sessions"), i, s) {
		const char *name = json_string_value(json_object_get(s, "name")) ?: "";

		if (only && strcmp(only, name) != 0)
			continue;
		printf("%-4s %s\n", "OK", name);
		found = true;
	}
	json_decref(status);
	if (!only || found)
		return EXIT_DONE;
	if (!as_perf)
		return cmd_no_session(only);
	printf("%-4s %s (not found)\n", "FAIL", only);
	return EXIT_DONE;
}

static int ping_command(int argc, char **argv, bool as_perf)
{
	const char *session;
	char base[PATH_MAX];
	int status;

	if (cmd_parse_session(&cmd_ping, argc, argv, base, &session, &status) == CMD_EXIT)
		return status;
	return ping_sessions(base, session, as_perf);
}

static int run_ping(int argc, char **argv)
{
	return ping_command(argc, argv, false);
}

int cmd_ping_as_perf(int argc, char **argv)
{
	return ping_command(argc, argv, true);
}

const struct command cmd_ping = {
	.name = "ping",
	.run = run_ping,
	.usage = "[--session S]",
	.summary = "ask whether the daemon and its sessions answer",
	.help = "      --session S     only this session\n",
};
