// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyse/why/why_incident.h"
#include "cmd/cmd.h"
#include "cmd/incident_list.h"
#include "cmd/json_fields.h"
#include "cmd/next_session.h"
#include "cmd/operand.h"
#include "cmd/show_stacks.h"
#include "cmd/show_state.h"
#include "cmd/show_trigger.h"
#include "common/log.h"
#include "common/printable.h"
#include "confine/reading.h"
#include "perfdata/perf_file.h"
#include "rules/units.h"
#include "symbols/kernel_symbols.h"

#define KERNEL_SECONDS 60 /* of CPU time to find the build id of the kernel in a dump */

static void print_short_window(const json_t *window)
{
	json_int_t needed = json_integer_value(json_object_get(window, "ring_needed_bytes"));
	char covered[32], asked[32], size[16];

	if (!json_is_true(json_object_get(window, "short")))
		return;
	if (!json_object_get(window, "asked_ns")) {
		puts("  short      it does not reach back as far as requested");
		return;
	}
	printf("  short      every CPU has %s of the %s requested",
	       show_duration(window, "covered_ns", covered, sizeof(covered)),
	       show_duration(window, "asked_ns", asked, sizeof(asked)));
	if (needed)
		printf("; -m %s would have held them",
		       units__format_size(needed, size, sizeof(size)));
	putchar('\n');
}

static void print_dump_session(const json_t *s)
{
	const json_t *window = json_object_get(s, "window"), *cpu;
	uint64_t lost = 0, throttled = 0, paused = 0;
	char length[32], size[16];
	size_t i;

	if (str(s, "error")[0]) {
		printf("session %s: no file: %s\n", str(s, "name"), str(s, "error"));
		return;
	}
	if (json_is_true(json_object_get(s, "gone"))) {
		printf("session %s: its file is gone: %s\n", str(s, "name"), str(s, "file"));
		return;
	}
	json_array_foreach (json_object_get(s, "cpus"), i, cpu) {
		uint64_t p = json_integer_value(json_object_get(cpu, "paused_ns"));

		lost += json_integer_value(json_object_get(cpu, "lost"));
		throttled += json_integer_value(json_object_get(cpu, "throttled"));
		paused = p > paused ? p : paused;
	}
	printf("session %s: ", str(s, "name"));
	cmd_print_run_line(s);
	putchar('\n');
	printf("  window     %s, %lld records, %s",
	       show_duration(window, "length_ns", length, sizeof(length)),
	       (long long)json_integer_value(json_object_get(s, "records")),
	       units__format_size(json_integer_value(json_object_get(s, "bytes")), size,
				  sizeof(size)));
	if (lost)
		printf(", %llu lost in earlier freezes", (unsigned long long)lost);
	if (throttled)
		printf(", throttled %llu times", (unsigned long long)throttled);
	if (paused)
		printf(", paused %s", units__format_duration(paused, length, sizeof(length)));
	putchar('\n');
	print_short_window(window);
	printf("  file       %s\n", str(s, "file"));
}

static void print_merged(const json_t *m)
{
	const json_t *merged = json_object_get(m, "merged"), *t;
	json_int_t more = json_integer_value(json_object_get(m, "more_merged"));
	size_t i;

	json_array_foreach (merged, i, t)
		show_trigger__print(t, "then fired");
	if (more)
		printf("and %lld further triggers within the merge time\n", (long long)more);
}

static void print_rule_suppressed(const json_t *m)
{
	const json_t *v, *largest, *who;
	char value[32];
	size_t i;

	json_array_foreach (json_object_get(m, "suppressed"), i, v) {
		largest = json_object_get(v, "largest");
		who = json_object_get(largest, "subject");
		printf("then suppressed: %lld more of rule %s",
		       (long long)json_integer_value(json_object_get(v, "count")), str(v, "rule"));
		if (json_is_object(largest))
			printf(", the largest %s",
			       show_duration(largest, "value_ns", value, sizeof(value)));
		if (str(who, "comm")[0])
			printf(", of %s (pid %lld, tid %lld)", str(who, "comm"),
			       (long long)json_integer_value(json_object_get(who, "pid")),
			       (long long)json_integer_value(json_object_get(who, "tid")));
		if (json_is_object(largest))
			printf(" at %s", str(json_object_get(largest, "time"), "utc"));
		putchar('\n');
	}
}

static void print_next_commands(const json_t *m)
{
	const char *next = str(json_object_get(m, "why"), "next");
	const json_t *s = next_session(m);

	if (next[0])
		printf("next: %s\n", next);
	if (s)
		printf("%s perf script -i %s | less +/frbpf:trigger\n",
		       next[0] ? "  or:" : "next:", str(s, "file"));
}

static void print_culprit(const json_t *o)
{
	const char *command = str(o, "command"), *cgroup = str(o, "cgroup");

	if (command[0])
		printf("     who: %s/%" PRIu64 ": %s%s%s\n", str(o, "comm"), num(o, "tid"), command,
		       cgroup[0] ? ", in cgroup " : "", cgroup);
}

static void print_incident(const json_t *m)
{
	const json_t *freeze = json_object_get(m, "freeze"), *v;
	char late[32];
	size_t i;

	printf("incident %s on %s\n", str(m, "incident"), str(json_object_get(m, "host"), "name"));
	if (json_integer_value(json_object_get(
		    json_object_get(json_array_get(json_object_get(m, "triggers"), 0), "subject"),
		    "tid")))
		printf("why: %s\n", str(json_object_get(m, "why"), "verdict"));
	print_culprit(json_object_get(json_object_get(m, "why"), "culprit"));
	json_array_foreach (json_object_get(m, "triggers"), i, v) {
		show_trigger__print(v, i ? "also fired" : "fired");
		if (!i)
			show_stacks__print_unwound(v, json_object_get(m, "sessions"));
	}
	if (json_is_true(json_object_get(m, "recovered")))
		printf("the recorder was killed while it wrote this: unknown values are left "
		       "out\n");
	show_state__print_vitals(
		json_object_get(m, "vitals"),
		json_integer_value(json_object_get(json_object_get(m, "time"), "monotonic_ns")));
	printf("frozen %s after the end of the window, %s\n",
	       show_duration(freeze, "late_ns", late, sizeof(late)), str(freeze, "mode"));
	json_array_foreach (json_object_get(m, "sessions"), i, v)
		print_dump_session(v);
	print_merged(m);
	print_rule_suppressed(m);
	print_next_commands(m);
}

/* Add the verdict of why, if the manifest has none. */
static void add_manifest_why(json_t *m, const char *base)
{
	if (!json_object_get(m, "why"))
		json_object_set_new(m, "why",
				    why_incident__verdict(m, base, units__format_duration));
}

/* 0, or EXIT_FAILED with an error printed. */
static int find_shown_incident(const struct location_hint *hint, const char *what,
			       struct incident_operand *ret)
{
	struct err err = { 0 };

	if (incident_operand__find(hint, what, INCIDENT_LAST, &err, ret) == 0)
		return 0;
	log_error("%s%s", make_printable(err.msg),
		  what && incident_operand__is_dump(what)
			  ? "; read a dump without its manifest with `frbpf why -i` or `perf "
			    "script -i`"
			  : "");
	return EXIT_FAILED;
}

/* Find the build id of the kernel in a dump of @m. */
static int find_kernel(const json_t *m, struct build_id *ret, struct err *err)
{
	const char *path = str(next_session(m), "file");
	struct perf_file *f = NULL;
	int code;

	if (!path[0])
		return err_set(err, -ENOENT, "the incident has no dump");
	code = perf_file__open(path, err, &f);
	if (!code && !perf_file__build_id(f, "[kernel.kallsyms]", ret))
		code = err_set(err, -ENOENT, "%s: does not have the kernel's build id", path);
	perf_file__free(f);
	return code;
}

/* Runs in a process that can only read. NULL: an error was printed. */
static json_t *kernel_id_json(void *manifest)
{
	struct err err = { 0 };
	struct build_id id;
	json_t *bytes = json_array();

	if (find_kernel(manifest, &id, &err)) {
		log_error("%s", make_printable(err.msg));
		return NULL;
	}
	for (size_t i = 0; i < id.size; i++)
		json_array_append_new(bytes, json_integer(id.data[i]));
	return bytes;
}

static int read_kernel(json_t *m, struct build_id *ret, struct err *err)
{
	json_t *bytes = NULL;
	int code = reading__run(kernel_id_json, m, KERNEL_SECONDS, -1, err, &bytes);

	*ret = (struct build_id){ 0 };
	for (size_t i = 0; !code && i < json_array_size(bytes) && i < BUILD_ID_MAX; i++)
		ret->data[ret->size++] = json_integer_value(json_array_get(bytes, i));
	json_decref(bytes);
	return code;
}

static int write_kallsyms(json_t *m, const char *dir)
{
	struct err err = { 0 };
	struct build_id id;

	if (read_kernel(m, &id, &err) || kallsyms_cache__write(dir, &id, &err)) {
		if (err.msg[0])
			log_error("%s", make_printable(err.msg));
		return EXIT_FAILED;
	}
	printf("%s has the kernel's symbols: perf --buildid-dir %s script -i DUMP\n", dir, dir);
	return EXIT_DONE;
}

static int print_manifest(json_t *m, const char *base, bool json)
{
	add_manifest_why(m, base);
	if (json && json_dumpf(m, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	else if (!json) {
		cmd_make_printable(m);
		print_incident(m);
	}
	return EXIT_DONE;
}

static int run_show(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "kallsyms", required_argument, NULL, 'k' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	const char *kallsyms = NULL;
	struct incident_operand o = { 0 };
	bool json = false;
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_show, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'k')
			kallsyms = optarg;
		else
			json = true;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_show, "takes one incident");
	if (find_shown_incident(&hint, optind < argc ? argv[optind] : NULL, &o))
		return EXIT_FAILED;
	if (kallsyms)
		opt = write_kallsyms(o.manifest, kallsyms);
	else
		opt = cmd_read_only() ?: print_manifest(o.manifest, o.base, json);
	incident_operand__free(&o);
	return opt;
}

const struct command cmd_show = {
	.name = "show",
	.run = run_show,
	.usage = "[--json | --kallsyms DIR] [INCIDENT|PATH]",
	.summary = "one incident: what fired, who suffered, where the files are",
	.help = "INCIDENT is its time or any unambiguous part of it, RULE:last, or last (the\n"
		"default). PATH is a dump, a manifest, or a directory with incidents (a base, or\n"
		"that of a run).\n\n"
		"      --json          the manifest, with `why`\n"
		"      --kallsyms DIR  write the kernel's symbols to DIR, in the layout of\n"
		"                      perf's build-id cache, to read the dumps on another\n"
		"                      machine\n",
};
