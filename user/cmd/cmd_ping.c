// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

/* As `perf daemon ping`: a line per session, or of the one called @only. */
static int ping(const char *base, const char *only)
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
	if (only && !found)
		printf("%-4s %s (not found)\n", "FAIL", only);
	json_decref(status);
	return EXIT_DONE;
}

static int run_ping(int argc, char **argv)
{
	static const struct option long_opts[] = { { "session", required_argument, NULL, 's' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	const char *session = NULL;
	char base[PATH_MAX];
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_ping, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION)
		session = optarg;
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_ping, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	return ping(base, session);
}

const struct command cmd_ping = {
	.name = "ping",
	.run = run_ping,
	.usage = "[--session S]",
	.summary = "ask whether the daemon and its sessions answer",
	.help = "      --session S     only this session\n",
};
