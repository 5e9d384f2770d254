// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "common/cleanup.h"
#include "rules/units.h"

/* ---- the daemon and its sessions, exactly like `perf daemon` ---- */

static uint64_t minutes_up(const json_t *v)
{
	return num(v, "uptime_ns") / (60 * NSEC_PER_SEC);
}

/* Print the line of the daemon. @verbose: also the lines that perf daemon -v adds. */
static void print_daemon_line(const json_t *s, bool verbose)
{
	const char *base = str(s, "base");

	printf("[%" PRIu64 ":daemon] base: %s\n", num(s, "pid"), base);
	if (verbose)
		printf("  output:  %s/output\n  lock:    %s/lock\n  up:      %" PRIu64 " minutes\n",
		       base, base, minutes_up(s));
}

/*
 * Print the same for session @v of the daemon at @base. A very long `run` line is printed in full
 * only with -v.
 */
static void print_session_line(const json_t *v, const char *base, bool verbose)
{
	const char *name = str(v, "name");

	printf("[%" PRIu64 ":%s] perf record ", num(v, "pid"), name);
	if (verbose)
		printf("%s", str(v, "run"));
	else
		cmd_print_run_line(v);
	printf("\n");
	if (verbose)
		printf("  base:    %s/session-%s\n"
		       "  output:  %s/session-%s/output\n"
		       "  control: %s/session-%s/control\n"
		       "  ack:     %s/session-%s/ack\n"
		       "  up:      %" PRIu64 " minutes\n",
		       base, name, base, name, base, name, base, name, minutes_up(v));
}

static void print_listing_session(const json_t *v, const char *base, char sep)
{
	static const char *const files[] = { "", "/output", "/control", "/ack" };
	const char *name = str(v, "name");

	printf("%" PRIu64 "%c%s%c%s", num(v, "pid"), sep, name, sep, str(v, "run"));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		printf("%c%s/session-%s%s", sep, base, name, files[i]);
	printf("%c%" PRIu64 "\n", sep, minutes_up(v));
}

/* Print everything like perf daemon -x. */
static void print_separated(const json_t *s, char sep)
{
	const char *base = str(s, "base");
	const json_t *v;
	size_t i;

	printf("%" PRIu64 "%cdaemon%c%s%c%s/output%c%s/lock%c%" PRIu64 "\n", num(s, "pid"), sep,
	       sep, base, sep, base, sep, base, sep, minutes_up(s));
	json_array_foreach (json_object_get(s, "sessions"), i, v)
		print_listing_session(v, base, sep);
}

/* ---- what frbpf adds ---- */

static const char *status_duration(const json_t *o, const char *key, char *buf, size_t size)
{
	return units__format_duration(num(o, key), buf, size);
}

/* Print how many seconds the emptiest and the fullest ring hold. */
static void print_rings(const json_t *v)
{
	const json_t *ring, *least = NULL, *most = NULL;
	char a[32], b[32];
	size_t i;

	json_array_foreach (json_object_get(v, "rings"), i, ring) {
		if (!least || num(ring, "held_ns") < num(least, "held_ns"))
			least = ring;
		if (!most || num(ring, "held_ns") > num(most, "held_ns"))
			most = ring;
	}
	if (!least)
		return;
	status_duration(least, "held_ns", a, sizeof(a));
	if (least == most)
		printf("  holds:      %s\n", a);
	else
		printf("  holds:      %s (CPU %" PRIu64 ") to %s (CPU %" PRIu64 ")\n", a,
		       num(least, "cpu"), status_duration(most, "held_ns", b, sizeof(b)),
		       num(most, "cpu"));
}

static const char *plural_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_session(const json_t *v, const char *base, bool verbose)
{
	size_t n_events = json_array_size(json_object_get(v, "events"));
	char size[16], ring[32];

	print_session_line(v, base, verbose);
	if (!verbose)
		return;
	if (str(v, "notice")[0])
		printf("  note:       %s\n", str(v, "notice"));
	printf("  rings:      %s on each of %" PRIu64 " CPU%s, %zu event%s",
	       units__format_size(num(v, "ring_bytes"), size, sizeof(size)), num(v, "cpus"),
	       plural_s(num(v, "cpus")), n_events, plural_s(n_events));
	if (num(v, "ring_ns"))
		printf(", to hold %s", status_duration(v, "ring_ns", ring, sizeof(ring)));
	putchar('\n');
	print_rings(v);
	if (json_object_get(v, "writes"))
		printf("  writes:     %s, %s\n", str(json_object_get(v, "writes"), "file"),
		       units__format_size(num(json_object_get(v, "writes"), "bytes"), size,
					  sizeof(size)));
}

static void print_suppressed(const json_t *counts)
{
	const char *const causes[][2] = {
		{ "cooldown", "cooldown" },
		{ "self", "our own" },
		{ "count", "count not reached" },
		{ "rule_max_dumps", "max-dumps of the rule" },
		{ "max_dumps", "max-dumps of all rules" },
		{ "capped", "max-dumps reached meanwhile" },
		{ "keys_full", "too many keys of its 'per'" },
		{ "ring_full", "trigger queue full" },
		{ "busy", "too many incidents at once" },
		{ "muted", "muted" },
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		sum += num(counts, causes[i][0]);
	if (!sum)
		return;
	printf(", suppressed %" PRIu64 " (", sum);
	sum = 0;
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (num(counts, causes[i][0]))
			printf("%s%s %" PRIu64, sum++ ? ", " : "", causes[i][1],
			       num(counts, causes[i][0]));
	}
	putchar(')');
}

#define BAR_LENGTH 40

/* Print a histogram of matches: each line counts values from its own up to twice that. */
static void print_values(const json_t *values)
{
	uint64_t most = 1;
	const json_t *v;
	char from[32];
	size_t i;

	json_array_foreach (values, i, v) {
		if (num(v, "matches") > most)
			most = num(v, "matches");
	}
	json_array_foreach (values, i, v)
		printf("  %10s  %8" PRIu64 " %.*s\n",
		       status_duration(v, "from_ns", from, sizeof(from)), num(v, "matches"),
		       (int)(num(v, "matches") * BAR_LENGTH / most),
		       "****************************************");
}

/* Print "armed for another 5m", "muted until it is taken back". */
static void print_end(const json_t *end, const char *what)
{
	char text[32];

	if (!json_is_object(end))
		return;
	if (json_object_get(end, "ends_in_ns"))
		printf("  %s for another %s\n", what,
		       status_duration(end, "ends_in_ns", text, sizeof(text)));
	else
		printf("  %s until `frbpf %s --off`\n", what, what[0] == 'm' ? "mute" : "arm");
}

/* Print "learnt: p99 is 1.2ms, of 53112 values in 10m: fires above 4.8ms". */
static void print_learnt(const json_t *learnt)
{
	double percentile = json_number_value(json_object_get(learnt, "percentile"));
	char of[32], in[32], at[32];

	if (!json_is_object(learnt))
		return;
	status_duration(learnt, "window_ns", in, sizeof(in));
	if (!num(learnt, "threshold_ns")) {
		printf("  learns:     p%g, and does not fire yet: %" PRIu64 " of %" PRIu64
		       " values seen\n",
		       percentile, num(learnt, "values"), num(learnt, "values_needed"));
		return;
	}
	printf("  learnt:     p%g is %s, fires above %s; %" PRIu64 " values in the last %s\n",
	       percentile, status_duration(learnt, "percentile_ns", of, sizeof(of)),
	       status_duration(learnt, "threshold_ns", at, sizeof(at)), num(learnt, "values"), in);
	if (num(learnt, "values") < num(learnt, "values_needed") &&
	    json_object_get(learnt, "ago_ns"))
		printf("              too few new values: the threshold was computed %s ago\n",
		       status_duration(learnt, "ago_ns", of, sizeof(of)));
}

static void print_rule(const json_t *v, bool verbose)
{
	char last[32], max[32];

	printf("rule %s: %s", str(v, "name"), str(v, "when"));
	if (str(v, "if")[0])
		printf(" if %s", str(v, "if"));
	if (json_is_true(json_object_get(v, "quiet")))
		printf(" (only counts)");
	printf("\n  matched %" PRIu64 ", fired %" PRIu64, num(v, "matched"), num(v, "fired"));
	print_suppressed(json_object_get(v, "suppressed"));
	if (num(v, "joined") + num(v, "merged"))
		printf(", %" PRIu64 " incident%s, %" PRIu64 " joined, %" PRIu64 " merged",
		       num(v, "incidents"), plural_s(num(v, "incidents")), num(v, "joined"),
		       num(v, "merged"));
	if (num(v, "matched"))
		printf("; last %s, largest %s",
		       status_duration(v, "last_value_ns", last, sizeof(last)),
		       status_duration(v, "max_value_ns", max, sizeof(max)));
	putchar('\n');
	print_learnt(json_object_get(v, "learnt"));
	if (verbose && num(v, "not_seen"))
		printf("  not seen: %" PRIu64
		       " waits of its source: the kernel did not show their beginning or end\n",
		       num(v, "not_seen"));
	if (verbose)
		print_values(json_object_get(v, "values"));
	print_end(json_object_get(v, "armed"), "armed");
	print_end(json_object_get(v, "muted"), "muted");
}

static void print_app(const json_t *app)
{
	if (!json_is_object(app))
		return;
	printf("  app:        %s: %" PRIu64 " messages, %" PRIu64 " dropped (their user sent too "
	       "many), %" PRIu64 " malformed, %" PRIu64 " without a rule\n",
	       str(app, "socket"), num(app, "received"), num(app, "limited"), num(app, "malformed"),
	       num(app, "unknown"));
}

/*
 * Print the memory of the daemon. Rings are pages of the kernel, which does not count them for the
 * process.
 */
static void print_memory(const json_t *m)
{
	char a[32], b[32], c[32], d[32];

	printf("  memory:     %s resident: %s of program files, %s of its own",
	       units__format_size(num(m, "rss_bytes"), a, sizeof(a)),
	       units__format_size(num(m, "file_bytes"), b, sizeof(b)),
	       units__format_size(num(m, "anon_bytes"), c, sizeof(c)));
	printf(" (copies %s of it); heap %s, %s of it in use, %s for the side band\n",
	       units__format_size(num(m, "copies_bytes"), a, sizeof(a)),
	       units__format_size(num(m, "heap_bytes"), b, sizeof(b)),
	       units__format_size(num(m, "heap_in_use_bytes"), d, sizeof(d)),
	       units__format_size(num(m, "sideband_bytes"), c, sizeof(c)));
	printf("              in addition: rings %s, side-band rings %s\n",
	       units__format_size(num(m, "rings_bytes"), a, sizeof(a)),
	       units__format_size(num(m, "sideband_rings_bytes"), b, sizeof(b)));
	printf("              of max-memory: %s of %s (rings and copies, rings of the side band)\n",
	       units__format_size(num(m, "used_bytes"), a, sizeof(a)),
	       units__format_size(num(m, "max_bytes"), b, sizeof(b)));
}

static void print_verbose(const json_t *s)
{
	const json_t *trig = json_object_get(s, "triggers"), *sb = json_object_get(s, "sideband");
	const json_t *disk = json_object_get(s, "disk");
	const json_t *others = json_object_get(s, "files_of_others");
	char a[32], b[32];

	printf("  config:     %s\n", str(s, "config"));
	print_memory(json_object_get(s, "memory"));
	printf("  triggers:   %" PRIu64 " incident%s, freeze late by %s at most (%s)\n",
	       num(trig, "incidents"), plural_s(num(trig, "incidents")),
	       status_duration(trig, "freeze_late_max_ns", a, sizeof(a)),
	       json_is_true(json_object_get(trig, "realtime"))
		       ? "real time"
		       : "SCHED_FIFO was refused: nice -20");
	printf("  sideband:   %" PRIu64 " records, %" PRIu64 " lost, log %s, state %s\n",
	       num(sb, "records"), num(sb, "lost"),
	       units__format_size(num(sb, "log_bytes"), a, sizeof(a)),
	       units__format_size(num(sb, "model_bytes"), b, sizeof(b)));
	printf("  on disk:    %" PRIu64 " incident%s, %s; removed %" PRIu64 ", %s\n",
	       num(disk, "incidents"), plural_s(num(disk, "incidents")),
	       units__format_size(num(disk, "bytes"), a, sizeof(a)), num(disk, "removed_incidents"),
	       units__format_size(num(disk, "removed_bytes"), b, sizeof(b)));
	if (num(disk, "failed_files"))
		printf("              %" PRIu64 " old files could not be removed, see the output\n",
		       num(disk, "failed_files"));
	if (num(others, "stuck"))
		printf("  names:      a file system does not answer: %" PRIu64
		       " processes that look for names of functions hang\n",
		       num(others, "stuck"));
	print_app(json_object_get(s, "app"));
	if (num(trig, "failed_files"))
		printf("  failed:     %" PRIu64
		       " files or manifests could not be written, see the output\n",
		       num(trig, "failed_files"));
	if (num(trig, "stale") + num(trig, "malformed") + num(trig, "busy"))
		printf("  no dump:    %" PRIu64
		       " triggers while too many dumps were under way, %" PRIu64
		       " of rules that were replaced, %" PRIu64 " malformed\n",
		       num(trig, "busy"), num(trig, "stale"), num(trig, "malformed"));
	if (num(trig, "unmeasured"))
		printf("  not seen:   %" PRIu64
		       " waits or calls: no room to note the beginning, or the end was missed\n",
		       num(trig, "unmeasured"));
	if (num(trig, "texts_unread"))
		printf("  not seen:   %" PRIu64
		       " strings could not be read, so str() or path did not match\n",
		       num(trig, "texts_unread"));
	if (num(trig, "looks_failed"))
		printf("  not seen:   %" PRIu64
		       " looks at pending events were refused by the kernel\n",
		       num(trig, "looks_failed"));
}

static void print_status(const json_t *s, bool verbose)
{
	const json_t *v;
	size_t i;

	print_daemon_line(s, verbose);
	if (verbose)
		print_verbose(s);
	json_array_foreach (json_object_get(s, "sessions"), i, v)
		print_session(v, str(s, "base"), verbose);
	json_array_foreach (json_object_get(s, "rules"), i, v)
		print_rule(v, verbose);
	json_array_foreach (json_object_get(s, "mutes"), i, v) {
		if (json_is_true(json_object_get(v, "present")))
			continue;
		printf("rule %s: not in the file now\n", str(v, "rule"));
		print_end(v, "muted");
	}
}

static int run_status(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "field-separator", optional_argument, NULL,
						     'x' },
						   { "verbose", no_argument, NULL, 'v' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	const char *separator = NULL;
	bool json = false, verbose = false;
	char base[PATH_MAX];
	enum cmd_parse p;
	json_t *s;
	int opt;

	while ((p = cmd_next_option(&cmd_status, argc, argv, ":x::vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'j')
			json = true;
		else if (opt == 'v')
			verbose = true;
		else
			separator = optarg && optarg[0] ? optarg : ",";
	}
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_status, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	s = cmd_ask(base, json_pack("{s:s, s:b}", "cmd", "status", "held", json || verbose));
	if (!s)
		return EXIT_FAILED;
	if (json && json_dumpf(s, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	else if (separator)
		print_separated(s, separator[0]);
	else if (!json)
		print_status(s, verbose);
	json_decref(s);
	return EXIT_DONE;
}

const struct command cmd_status = {
	.name = "status",
	.run = run_status,
	.usage = "[-v] [-x[SEP]] [--json]",
	.summary = "what runs: daemon, sessions, rules",
	.help = "  -v, --verbose       also directories, memory, latencies, losses, and the\n"
		"                      seconds that each session holds\n"
		"  -x[SEP]             daemon and sessions as perf daemon -x prints them; SEP: ,\n"
		"      --json          everything as JSON\n",
};
