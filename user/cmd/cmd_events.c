// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/event_catalog.h"
#include "cmd/json_fields.h"
#include "common/log.h"

static void print_event(const json_t *e)
{
	const json_t *f;
	size_t i;

	printf("%-36s %-4s  %s", str(e, "name"), str(e, "in"), str(e, "kind"));
	if (json_is_false(json_object_get(e, "available")))
		printf(", not on this machine");
	printf("%s%s\n", str(e, "meaning")[0] ? ": " : "", str(e, "meaning"));
	json_array_foreach (json_object_get(e, "fields"), i, f)
		printf("    %-28s %s%s%s\n", str(f, "name"), str(f, "type"),
		       str(f, "meaning")[0] ? ": " : "", str(f, "meaning"));
}

static int print_text(const json_t *catalog, const char *glob)
{
	const json_t *events = json_object_get(catalog, "events"), *v;
	const json_t *left_out = json_object_get(catalog, "left_out");
	size_t i;

	json_array_foreach (events, i, v)
		print_event(v);
	json_array_foreach (left_out, i, v)
		log_info("not listed: %s", json_string_value(v) ?: "");
	if (json_array_size(events) || !glob)
		return EXIT_DONE;
	log_error("no event or source matches '%s'%s", glob,
		  strpbrk(glob, "*?[") ? "" : ": in a glob, * stands for anything");
	return EXIT_FAILED;
}

static int run_events(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "verbose", no_argument, NULL, 'v' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	bool json = false, verbose = false;
	const char *glob = NULL;
	int opt, status = EXIT_DONE;
	json_t *catalog;
	enum cmd_parse p;

	while ((p = cmd_next_option(&cmd_events, argc, argv, ":vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'j')
			json = true;
		else
			verbose = true;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_events, "too many arguments: quote the glob");
	if (optind < argc)
		glob = argv[optind];
	catalog = event_catalog__make(glob, verbose);
	if (!json)
		status = print_text(catalog, glob);
	else if (json_dumpf(catalog, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	json_decref(catalog);
	return status;
}

const struct command cmd_events = {
	.name = "events",
	.run = run_events,
	.usage = "[-v] [--json] [GLOB]",
	.summary = "what may stand in `when` and in -e here",
	.help = "The second column says where it may stand: in `when` of a rule, in -e of a "
		"session, "
		"or both.\n"
		"GLOB is matched against the whole name: 'sched:*', '*cache*'. Without root the "
		"tracepoints may be\n"
		"missing, which is said. 'uprobe:PATH:GLOB' lists functions of a program, "
		"'usdt:PATH:GLOB' its static probes.\n\n"
		"  -v, --verbose       with the fields of each and their types; for a source those "
		"of "
		"`if`, each\n"
		"                      also as current.FIELD\n"
		"      --json          all of it, for programs\n",
};
