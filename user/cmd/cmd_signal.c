// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/log.h"

static bool status_has_session(const json_t *status, const char *name)
{
	const json_t *s;
	size_t i;

	json_array_foreach (json_object_get(status, "sessions"), i, s) {
		if (strcmp(json_string_value(json_object_get(s, "name")) ?: "", name) == 0)
			return true;
	}
	return false;
}

/* Dump all sessions, or session @only, and report it like `perf daemon signal`. */
static int signal_sessions(const char *base, const char *only, bool as_perf)
{
	json_t *status = cmd_ask(base, json_pack("{s:s}", "cmd", "status")), *reply;
	const json_t *s;
	size_t i;

	if (!status)
		return EXIT_FAILED;
	if (only && !status_has_session(status, only)) {
		json_decref(status);
		if (!as_perf)
			return cmd_no_session(only);
		log_warn("no session '%s' here", only);
		return EXIT_DONE;
	}
	reply = cmd_ask(base, json_pack("{s:s, s:s, s:s*}", "cmd", "dump", "reason", "signal",
					"session", only));
	json_array_foreach (json_object_get(status, "sessions"), i, s) {
		const char *name = json_string_value(json_object_get(s, "name")) ?: "";

		if (reply && (!only || strcmp(only, name) == 0))
			printf("signal 12 sent to session '%s [%lld]'\n", name,
			       (long long)json_integer_value(json_object_get(s, "pid")));
	}
	json_decref(status);
	if (!reply)
		return EXIT_FAILED;
	json_decref(reply);
	return EXIT_DONE;
}

static int signal_command(int argc, char **argv, bool as_perf)
{
	const char *session;
	char base[PATH_MAX];
	int status;

	if (cmd_parse_session(&cmd_signal, argc, argv, base, &session, &status) == CMD_EXIT)
		return status;
	return signal_sessions(base, session, as_perf);
}

static int run_signal(int argc, char **argv)
{
	return signal_command(argc, argv, false);
}

int cmd_signal_as_perf(int argc, char **argv)
{
	return signal_command(argc, argv, true);
}

const struct command cmd_signal = {
	.name = "signal",
	.run = run_signal,
	.usage = "[--session S]",
	.summary = "dump, with the output of perf daemon signal",
	.help = "      --session S     only this session\n",
};
