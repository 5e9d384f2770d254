// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/incidents.h"
#include "cmd/json_fields.h"
#include "cmd/next_session.h"
#include "cmd/show_stacks.h"
#include "common/log.h"
#include "rules/symbols.h"
#include "rules/units.h"

static const char *duration(const json_t *o, const char *key, char *buf, size_t size)
{
	return units__format_duration(json_integer_value(json_object_get(o, key)), buf, size);
}

static void print_task(const char *label, const json_t *t)
{
	if (!json_integer_value(json_object_get(t, "tid")) &&
	    !json_integer_value(json_object_get(t, "uid")) && !str(t, "comm")[0])
		return;		  /* the event has none */
	if (!str(t, "comm")[0]) { /* who sent a message and ended before it was looked up */
		printf("  %-10s pid %lld, uid %lld, which had ended: its name is not known\n",
		       label, (long long)json_integer_value(json_object_get(t, "pid")),
		       (long long)json_integer_value(json_object_get(t, "uid")));
		return;
	}
	printf("  %-10s %s (pid %lld, tid %lld, process %s, uid %lld)\n", label, str(t, "comm"),
	       (long long)json_integer_value(json_object_get(t, "pid")),
	       (long long)json_integer_value(json_object_get(t, "tid")), str(t, "process"),
	       (long long)json_integer_value(json_object_get(t, "uid")));
}

/* What the event has of its own. */
static void print_args(json_t *args)
{
	const char *name, *lead = "  event      ";
	json_t *v;

	json_object_foreach (args, name, v) {
		if (json_is_integer(v))
			printf("%s%s=%" JSON_INTEGER_FORMAT, lead, name, json_integer_value(v));
		else if (json_string_value(v) && *json_string_value(v))
			printf("%s%s=%s", lead, name, json_string_value(v));
		else
			continue;
		lead = " ";
	}
	if (*lead == ' ' && !lead[1])
		putchar('\n');
}

/* Of what a system call returned; NULL: it has not failed. */
static const char *error_name(json_int_t ret)
{
	return ret < 0 ? symbol__name(symbols_errno, -ret) : NULL;
}

static void print_trigger(const json_t *t, const char *what)
{
	const json_t *ret = json_object_get(t, "ret");
	bool is_call = strcmp(str(t, "source"), "syscall") == 0;
	const char *error = is_call ? error_name(json_integer_value(ret)) : NULL;
	char value[32], threshold[32];

	if (!str(t, "rule")[0]) {
		printf("%s by hand: %s\n  at         %s\n", what, str(t, "reason"),
		       str(json_object_get(t, "time"), "utc"));
		return;
	}
	printf("%s by rule %s: %s%s%s\n", what, str(t, "rule"), str(t, "when"),
	       str(t, "if")[0] ? " if " : "", str(t, "if"));
	if (json_integer_value(json_object_get(t, "value_ns"))) { /* else it just happened */
		printf("  value      %s", duration(t, "value_ns", value, sizeof(value)));
		if (json_integer_value(json_object_get(t, "threshold_ns")))
			printf(", threshold %s",
			       duration(t, "threshold_ns", threshold, sizeof(threshold)));
		if (json_is_true(json_object_get(t, "escalated")))
			printf(", which broke the cooldown");
		if (str(t, "key")[0])
			printf(", %s", str(t, "key"));
		if (error)
			printf(" failed with %s", error);
		if (ret && !is_call)
			printf(", returned %" JSON_INTEGER_FORMAT, json_integer_value(ret));
		putchar('\n');
	}
	printf("  at         %s, CPU %lld\n", str(json_object_get(t, "time"), "utc"),
	       (long long)json_integer_value(json_object_get(t, "cpu")));
	if (json_is_true(json_object_get(t, "contradicted")))
		printf("  false      what was recorded contradicts it: the subject ran or slept "
		       "before %s\n",
		       str(json_object_get(t, "contradicted_time"), "utc"));
	print_args(json_object_get(t, "args"));
	if (json_integer_value(json_object_get(json_object_get(t, "subject"), "tid")) ||
	    str(json_object_get(t, "subject"), "comm")[0]) /* interrupts have none */
		print_task("subject", json_object_get(t, "subject"));
	print_task("running", json_object_get(t, "current"));
	show_stacks__print(json_object_get(t, "stacks"));
}

static void print_short(const json_t *window)
{
	json_int_t needed = json_integer_value(json_object_get(window, "ring_needed_bytes"));
	char covered[32], asked[32], size[16];

	if (!json_is_true(json_object_get(window, "short")))
		return;
	if (!json_object_get(window, "asked_ns")) {
		puts("  short      it does not reach back as far as asked for");
		return;
	}
	printf("  short      every CPU has %s of the %s asked for",
	       duration(window, "covered_ns", covered, sizeof(covered)),
	       duration(window, "asked_ns", asked, sizeof(asked)));
	if (needed)
		printf("; -m %s would have held them",
		       units__format_size(needed, size, sizeof(size)));
	putchar('\n');
}

static void print_session(const json_t *s)
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
	printf("session %s: %s\n", str(s, "name"), str(s, "run"));
	printf("  window     %s, %lld records, %s",
	       duration(window, "length_ns", length, sizeof(length)),
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
	print_short(window);
	printf("  file       %s\n", str(s, "file"));
}

static void print_merged(const json_t *m)
{
	const json_t *merged = json_object_get(m, "merged"), *t;
	json_int_t more = json_integer_value(json_object_get(m, "more_merged"));
	size_t i;

	json_array_foreach (merged, i, t)
		print_trigger(t, "then fired");
	if (more)
		printf("and %lld further triggers within the merge time\n", (long long)more);
}

static void print_suppressed(const json_t *m)
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
			       duration(largest, "value_ns", value, sizeof(value)));
		if (str(who, "comm")[0])
			printf(", of %s (pid %lld, tid %lld)", str(who, "comm"),
			       (long long)json_integer_value(json_object_get(who, "pid")),
			       (long long)json_integer_value(json_object_get(who, "tid")));
		if (json_is_object(largest))
			printf(" at %s", str(json_object_get(largest, "time"), "utc"));
		putchar('\n');
	}
}

static void print_next(const json_t *m)
{
	const json_t *s = next_session(m);

	if (s)
		printf("next: perf script -i %s | less +/frbpf:trigger\n", str(s, "file"));
}

static void print_incident(const json_t *m)
{
	const json_t *freeze = json_object_get(m, "freeze"), *v;
	char late[32];
	size_t i;

	printf("incident %s on %s\n", str(m, "incident"), str(json_object_get(m, "host"), "name"));
	json_array_foreach (json_object_get(m, "triggers"), i, v)
		print_trigger(v, i ? "also fired" : "fired");
	if (json_is_true(json_object_get(m, "recovered")))
		printf("the recorder was killed while it wrote this: what is not known is left "
		       "out\n");
	printf("frozen %s after the deadline, %s\n",
	       duration(freeze, "late_ns", late, sizeof(late)), str(freeze, "mode"));
	json_array_foreach (json_object_get(m, "sessions"), i, v)
		print_session(v);
	print_merged(m);
	print_suppressed(m);
	print_next(m);
}

static int show(const char *base, const char *what, bool json)
{
	struct incidents v;
	struct err err = { 0 };
	json_t *m = NULL;
	size_t i;

	if (incidents__read(base, &err, &v) == 0) {
		if (incidents__find(&v, what, &err, &i) == 0)
			m = incidents__manifest(&v, i, &err);
		incidents__free(&v);
	}
	if (!m) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	if (json && json_dumpf(m, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	else if (!json) {
		cmd_make_printable(m);
		print_incident(m);
	}
	json_decref(m);
	return EXIT_DONE;
}

static int run_show(int argc, char **argv)
{
	char base[PATH_MAX];
	bool json;
	int status;

	if (cmd_parse_json(&cmd_show, argc, argv, 1, "takes one incident", base, &json, &status) ==
	    CMD_EXIT)
		return status;
	return show(base, optind < argc ? argv[optind] : "last", json);
}

const struct command cmd_show = {
	.name = "show",
	.run = run_show,
	.usage = "[--json] [INCIDENT|DUMP]",
	.summary = "one incident: what fired, who suffered, where the files are",
	.help = "INCIDENT is its time or any unambiguous part of it, RULE:last, or last (the "
		"default);\n"
		"DUMP the path of a perf.data file of it.\n\n"
		"      --json          the manifest\n",
};
