// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "cmd/cmd.h"
#include "common/log.h"

/* Print only paths to standard output. */
static int print_files(const json_t *reply)
{
	const json_t *errors = json_object_get(reply, "errors"), *v;
	size_t i;

	json_array_foreach (json_object_get(reply, "files"), i, v)
		puts(json_string_value(v) ?: "");
	json_array_foreach (errors, i, v)
		log_error("%s", json_string_value(v) ?: "");
	return json_array_size(errors) ? EXIT_FAILED : EXIT_DONE;
}

static int run_dump(int argc, char **argv)
{
	static const struct option long_opts[] = { { "session", required_argument, NULL, 's' },
						   { "reason", required_argument, NULL, 'r' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	const char *session = NULL, *reason = NULL;
	struct location_hint hint = { 0 };
	char base[PATH_MAX];
	enum cmd_parse p;
	json_t *reply;
	int opt;

	while ((p = cmd_next_option(&cmd_dump, argc, argv, ":s:r:h", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 's')
			session = optarg;
		else
			reason = optarg;
	}
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_dump, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	reply = cmd_ask(base, json_pack("{s:s, s:s*, s:s*}", "cmd", "dump", "session", session,
					"reason", reason));
	if (!reply)
		return EXIT_FAILED;
	opt = print_files(reply);
	json_decref(reply);
	return opt;
}

const struct command cmd_dump = {
	.name = "dump",
	.run = run_dump,
	.usage = "[--session S] [--reason TEXT]",
	.summary = "save the last window now; prints the paths of the files",
	.help = "  -s, --session S     only this session\n"
		"  -r, --reason TEXT   goes into the marker and the manifest\n",
};
