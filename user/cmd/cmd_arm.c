// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "common/log.h"

struct arm_opts {
	const char *condition; /* after `if`; NULL: none */
	const char *off;       /* name of a rule to remove; NULL: none */
	uint64_t ns;	       /* 0: until --off */
};

static json_t *make_request(const struct arm_opts *o, const char *when)
{
	if (o->off)
		return json_pack("{s:s, s:s}", "cmd", "arm", "off", o->off);
	return json_pack("{s:s, s:s, s:s*, s:I}", "cmd", "arm", "when", when, "if", o->condition,
			 "for_ns", (json_int_t)o->ns);
}

static int run_arm(int argc, char **argv)
{
	static const struct option long_opts[] = { { "if", required_argument, NULL, 'i' },
						   { "for", required_argument, NULL, 'f' },
						   { "off", required_argument, NULL, 'o' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	struct arm_opts opts = { 0 };
	char base[PATH_MAX];
	enum cmd_parse p;
	json_t *reply;
	int opt;

	while ((p = cmd_next_option(&cmd_arm, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'i')
			opts.condition = optarg;
		else if (opt == 'o')
			opts.off = optarg;
		else if (cmd_duration(&cmd_arm, "--for", optarg, &opts.ns))
			return EXIT_FAILED;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind != (opts.off ? 0 : 1))
		return cmd_usage_error(&cmd_arm, opts.off ? "--off takes nothing else"
							  : "one WHEN is expected, in quotes");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	reply = cmd_ask(base, make_request(&opts, argv[optind]));
	if (!reply)
		return EXIT_FAILED;
	if (opts.off)
		log_info("rule '%s' is no longer armed", opts.off);
	else
		puts(json_string_value(json_object_get(reply, "rule")) ?: "");
	json_decref(reply);
	return EXIT_DONE;
}

const struct command cmd_arm = {
	.name = "arm",
	.run = run_arm,
	.usage = "'WHEN' [--if E] [--for T] | --off RULE",
	.summary = "a rule for now, beside those of the file; prints its name",
	.help = "WHEN and E are written as `when` and `if` in a rules file. The rule dumps\n"
		"every session and has the default cooldown. It survives reloads, until T (such\n"
		"as 30m) has passed or --off. `frbpf status` shows it.\n\n"
		"      --if E          only if this condition holds\n"
		"      --for T         for this long; default: until --off\n"
		"      --off RULE      end it now\n",
};
