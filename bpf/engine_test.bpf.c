// SPDX-License-Identifier: GPL-2.0-only
/* Runs the engine on events from a test, by BPF_PROG_TEST_RUN. It is never attached. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#define MATCH_READS_TEXTS /* from the memory of the test, in whose context the programs run */
#include "rules.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* One event per rule of the first bank; set by the test. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FRBPF_MAX_RULES);
	__type(key, __u32);
	__type(value, struct match);
} events SEC(".maps");

__u32 n_events;
__u8 held[FRBPF_MAX_RULES]; /* does the condition of rule i hold for event i? */

__noinline int event_run(__u32 i)
{
	struct match *m = bpf_map_lookup_elem(&events, &i);
	__u32 idx = 2 * i;
	struct frbpf_rule *rule = bpf_map_lookup_elem(&rules, &idx);

	if (m && rule)
		held[i % FRBPF_MAX_RULES] = nodes_hold(rule, m) == HOLDS;
	return 0;
}

SEC("raw_tp")
int conditions(void *ctx)
{
	__u32 i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n_events)
			break;
		event_run(i);
	}
	return 0;
}

/* Evaluate the rules for an event with time and tasks filled in. */
__noinline int event_try(__u32 i)
{
	struct match *m = bpf_map_lookup_elem(&events, &i);

	if (m)
		rules_run(m);
	return 0;
}

/* Run the engine on the events, one after the other. */
SEC("raw_tp")
int stream(void *ctx)
{
	__u32 i;

	for (i = 0; i < FRBPF_MAX_RULES; i++) {
		if (i >= n_events)
			break;
		event_try(i);
	}
	return 0;
}
