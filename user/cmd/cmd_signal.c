// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/log.h"

/* Dump the sessions, all or the one called @only, and say it as `perf daemon signal` does. */
static int signal_sessions(const char *base, const char *only)
{
	json_t *status = cmd_ask(base, json_pack("{s:s}", "cmd", "status")), *reply;
	const json_t *s;
	size_t i;

	if (!status)
		return EXIT_FAILED;
	reply = cmd_ask(base, json_pack("{s:s, s:s, s:s*}", "cmd", "dump", "reason", "signal",
					"session", only));
	json_array_foreach (json_object_get(status, "sessions"), i, s) {
		const char *name = json_string_value(json_object_get(s, "name")) ?: "";

		if (reply && (!only || strcmp(only, name) == 0))
			printf("signal 12 sent to session '%s [%lld]'\n", name,
			       (long long)json_integer_value(json_object_get(s, "tid")));
	}
	json_decref(status);
	if (!reply)
		return EXIT_FAILED;
	json_decref(reply);
	return EXIT_DONE;
}

static int run_signal(int argc, char **argv)
{
	static const struct option long_opts[] = { { "session", required_argument, NULL, 's' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	const char *session = NULL;
	char base[PATH_MAX];
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_signal, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION)
		session = optarg;
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_signal, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	return signal_sessions(base, session);
}

const struct command cmd_signal = {
	.name = "signal",
	.run = run_signal,
	.usage = "[--session S]",
	.summary = "dump, with the output of perf daemon signal",
	.help = "      --session S     only this session\n",
};
