// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/event_catalog.h"
#include "cmd/json_fields.h"
#include "common/log.h"
#include "examine/probe/probe_reader.h"
#include "record/perf_options.h"

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

/* Format an option: "-F, --freq N|max". */
static void option_text(const struct perf_option *o, char *buf, size_t size)
{
	const char *before = o->kind != ARGUMENT_OPTIONAL ? "" : o->name ? "[=" : "[";
	char letter[8] = "", name[48] = "", argument[48] = "";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c%s", o->letter, o->name ? ", " : "");
	if (o->name)
		snprintf(name, sizeof(name), "%s--%s", o->letter ? "" : "    ", o->name);
	if (o->argument)
		snprintf(argument, sizeof(argument), "%s%s%s%s", *before ? "" : " ", before,
			 o->argument, *before ? "]" : "");
	snprintf(buf, size, "%s%s%s", letter, name, argument);
}

static json_t *make_option(const struct perf_option *o)
{
	char letter[2] = { o->letter, '\0' };

	return json_pack("{s:s?, s:s?, s:s?, s:s, s:s}", "name", o->name, "letter",
			 o->letter ? letter : NULL, "argument", o->argument, "verdict",
			 perf_option__verdict(o), "meaning", o->why);
}

/* Print every option of perf record that a `run =` line accepts or rejects. */
static int print_options(bool json)
{
	json_t *list = json ? json_array() : NULL;
	char text[96];

	for (size_t i = 0; i < N_PERF_OPTIONS; i++) {
		const struct perf_option *o = &perf_options[i];

		option_text(o, text, sizeof(text));
		if (json)
			json_array_append_new(list, make_option(o));
		else
			printf("%-34s %-8s %s\n", text, perf_option__verdict(o), o->why);
	}
	if (json && json_dumpf(list, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	json_decref(list);
	return EXIT_DONE;
}

static int run_events(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "options", no_argument, NULL, 'o' },
						   { "verbose", no_argument, NULL, 'v' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	bool json = false, verbose = false, options = false;
	struct examiner *examiner = NULL;
	const char *glob = NULL;
	int opt, status = EXIT_DONE;
	json_t *catalog;
	enum cmd_parse p;

	while ((p = cmd_next_option(&cmd_events, argc, argv, ":vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'j')
			json = true;
		else if (opt == 'o')
			options = true;
		else
			verbose = true;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_events, "too many arguments: quote the glob");
	if (options && optind < argc)
		return cmd_usage_error(&cmd_events, "--options lists all of them: no GLOB");
	if (options)
		return print_options(json);
	if (optind < argc)
		glob = argv[optind];
	if (!examiner__new(&examiner)) /* reads programs in a separate process */
		probe_reader__use(examiner);
	catalog = event_catalog__make(glob, verbose);
	probe_reader__use(NULL);
	examiner__free(examiner);
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
	.usage = "[-v] [--json] [--options | GLOB]",
	.summary = "what may stand in `when` and in -e here",
	.help = "The second column says where a name can be used: in `when` of a rule, in -e of\n"
		"a session, or both. GLOB is matched against the whole name: 'sched:*',\n"
		"'*cache*'. Without root, tracepoints may be missing; then a message says so.\n"
		"'uprobe:PATH:GLOB' lists functions of a program, 'usdt:PATH:GLOB' its static\n"
		"probes.\n\n"
		"  -v, --verbose       also fields with their types; for a source, the fields\n"
		"                      of `if`, which also exist as current.FIELD\n"
		"      --options       instead, the options of perf record on a `run =` line:\n"
		"                      taken, no-op or refused, with the effect or the reason\n"
		"      --json          everything as JSON\n",
};
