// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/json_fields.h"
#include "cmd/perf_listing.h"
#include "common/cleanup.h"
#include "rules/units.h"

#define RUN_MOST  240 /* characters of a `run` line shown in full; longer ones were generated */
#define RUN_SHOWN 100 /* characters shown of a longer one */

static uint64_t minutes_up(const json_t *v)
{
	return num(v, "uptime_ns") / (60 * NSEC_PER_SEC);
}

void perf_listing__print_run(const json_t *session)
{
	const char *run = str(session, "run");
	size_t len = strlen(run);

	if (len <= RUN_MOST) {
		printf("%s", run);
		return;
	}
	for (len = RUN_SHOWN; len && run[len] != ',' && run[len] != ' ';)
		len--;
	printf("%.*s ... (--json has all)", (int)len, run);
}

void perf_listing__daemon(const json_t *s, bool verbose)
{
	const char *base = str(s, "base");

	printf("[%" PRIu64 ":daemon] base: %s\n", num(s, "pid"), base);
	if (verbose)
		printf("  output:  %s/output\n  lock:    %s/lock\n  up:      %" PRIu64 " minutes\n",
		       base, base, minutes_up(s));
}

void perf_listing__session(const json_t *v, const char *base, bool verbose)
{
	const char *name = str(v, "name");

	printf("[%" PRIu64 ":%s] perf record ", num(v, "pid"), name);
	if (verbose)
		printf("%s", str(v, "run"));
	else
		perf_listing__print_run(v);
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

void perf_listing__separated(const json_t *s, char sep)
{
	const char *base = str(s, "base");
	const json_t *v;
	size_t i;

	printf("%" PRIu64 "%cdaemon%c%s%c%s/output%c%s/lock%c%" PRIu64 "\n", num(s, "pid"), sep,
	       sep, base, sep, base, sep, base, sep, minutes_up(s));
	json_array_foreach (json_object_get(s, "sessions"), i, v)
		print_listing_session(v, base, sep);
}
