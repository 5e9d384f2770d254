// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "common/log.h"
#include "rules/units.h"

static int run_mute(int argc, char **argv)
{
	static const struct option long_opts[] = { { "for", required_argument, NULL, 'f' },
						   { "off", no_argument, NULL, 'o' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	char base[PATH_MAX], text[32];
	bool off = false;
	uint64_t ns = 0;
	enum cmd_parse p;
	json_t *reply;
	int opt;

	while ((p = cmd_next_option(&cmd_mute, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'o')
			off = true;
		else if (cmd_duration(&cmd_mute, "--for", optarg, &ns))
			return EXIT_FAILED;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind != 1 || (off && ns))
		return cmd_usage_error(&cmd_mute, off && ns ? "--off and --for exclude each other"
							    : "one rule is expected");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	reply = cmd_ask(base, json_pack("{s:s, s:s, s:b, s:I}", "cmd", "mute", "rule", argv[optind],
					"off", off, "for_ns", (json_int_t)ns));
	if (!reply)
		return EXIT_FAILED;
	json_decref(reply);
	if (off)
		log_info("rule '%s' is no longer muted", argv[optind]);
	else
		log_info("rule '%s' is muted %s%s: it counts, but makes no dumps", argv[optind],
			 ns ? "for " : "until `frbpf mute --off`",
			 ns ? units__format_duration(ns, text, sizeof(text)) : "");
	return EXIT_DONE;
}

const struct command cmd_mute = {
	.name = "mute",
	.run = run_mute,
	.usage = "RULE [--for T] | --off RULE",
	.summary = "silence a rule: its matches are counted, it dumps nothing",
	.help = "It survives reloads, until T (such as 30m) has passed or --off. `frbpf status`\n"
		"shows it.\n\n"
		"      --for T         for this long; default: until --off\n"
		"      --off           end it now\n",
};
