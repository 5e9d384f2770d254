// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/incident_list.h"
#include "cmd/json_fields.h"
#include "cmd/next_session.h"
#include "common/cleanup.h"

#define HINTS 4

/* Strings in the run line of a session that suit a source, the best first */
struct answer {
	const char *source;
	const char *hints[HINTS];
};

static const struct answer answers[] = {
	{ "runqlat", { "sched:sched_wak", "sched:sched_switch", "sched:" } },
	{ "blocked", { "sched:sched_switch", "sched:" } },
	{ "offcpu", { "sched:sched_switch", "sched:" } },
	{ "oncpu", { "cpu-clock", "cycles", "sched:sched_switch", "sched:" } },
	{ "syscall", { "raw_syscalls:", "syscalls:", "sched:sched_switch", "sched:" } },
	{ "blkio", { "block:" } },
	{ "blkio.device", { "block:" } },
	{ "hardirq", { "irq:irq_handler", "irq:" } },
	{ "softirq", { "irq:softirq", "irq:" } },
	{ "reclaim", { "vmscan:", "compaction:" } },
	{ "connect", { "sock:inet_sock_set_state", "tcp:", "sock:", "net:" } },
	{ "uprobe", { "sched:sched_switch", "sched:" } },
	{ "usdt", { "sched:sched_switch", "sched:" } },
	{ "span of probes", { "sched:sched_switch", "sched:" } },
	{ "app", { "sched:sched_switch", "sched:" } },
	{ "psi", { "sched:sched_switch", "vmscan:", "block:" } },
};

/* The first tracepoint in `when`, and its system; "" if it has none. */
static void tracepoint_of(const char *when, char name[static 128], char system[static 64])
{
	size_t len = strcspn(when, " \t"), colon = strcspn(when, ":");

	name[0] = system[0] = '\0';
	if (colon >= len || len >= 128 || colon + 1 >= 64)
		return;
	snprintf(name, 128, "%.*s", (int)len, when);
	snprintf(system, 64, "%.*s:", (int)colon, when);
}

/* Rank of the best hint in @run, 0 is best; HINTS: it has none. */
static size_t hint_distance(const char *run, const char *const hints[static HINTS])
{
	size_t i = 0;

	while (i < HINTS && !(hints[i] && strstr(run, hints[i])))
		i++;
	return i;
}

const json_t *next_session(const json_t *manifest)
{
	const json_t *trigger = incident_list__trigger(manifest), *best = NULL, *s;
	const char *source = str(trigger, "source"), *when = str(trigger, "when");
	char name[128], system[64];
	const char *of_event[HINTS] = { name, system };
	const char *const none[HINTS] = { NULL };
	const char *const *hints = of_event;
	size_t nearest = 0, i;

	if (!strcmp(source, "span") && (strstr(when, "uprobe:") || strstr(when, "usdt:")))
		source = "span of probes";
	tracepoint_of(when, name, system);
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		if (!strcmp(answers[i].source, source))
			hints = answers[i].hints;
	}
	if (hints == of_event && !name[0])
		hints = none;
	json_array_foreach (json_object_get(manifest, "sessions"), i, s) {
		size_t d = hint_distance(str(s, "run"), hints);

		if (str(s, "file")[0] && !json_is_true(json_object_get(s, "gone")) &&
		    (!best || d < nearest)) {
			best = s;
			nearest = d;
		}
	}
	return best;
}
