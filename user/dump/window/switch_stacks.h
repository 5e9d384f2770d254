/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds where a subject that did not run was in user space: the callchain of its last switch-out
 * before the trigger, if the session records switches, or offcpu-time. Life: init, note every
 * sample, take, free.
 */
#ifndef FRBPF_DUMP_WINDOW_SWITCH_STACKS_H
#define FRBPF_DUMP_WINDOW_SWITCH_STACKS_H

#include "dump/incident/incident.h"
#include "dump/window/page_set.h"

struct switch_stacks { /* { 0 } is an empty one */
	struct switch_wanted {
		uint32_t tid;
		uint64_t before;		    /* ns */
		const struct perf_event_header *is; /* the last one so far; NULL: none. Borrowed */
		uint64_t began; /* ns: when that wait began */
	} v[INCIDENT_STACKS_MAX];		    /* as inc->stacks; tid 0: not wanted */
	size_t n;				    /* index after the last wanted one */
	struct switch_id {
		uint64_t id;
		bool off_cpu; /* of offcpu-time: its samples come when the wait ends */
	} *ids; /* of the session's events with stacks of waits, sorted; owned */
	size_t n_ids;
};

/* Prepare for the stacks of @inc. 0 or -ENOMEM. */
int switch_stacks__init(struct switch_stacks *s, const struct incident *inc,
			const struct session *session);
/* Note a sample that record__valid() accepted. It must stay valid until switch_stacks__take(). */
void switch_stacks__note(struct switch_stacks *s, const struct perf_event_header *h);
/*
 * Give each stack of the incident without a user part the callchain that was found for it. The
 * caller holds inc->name_lock.
 */
void switch_stacks__take(const struct switch_stacks *s, struct page_set *pages,
			 struct incident *inc);
void switch_stacks__free(struct switch_stacks *s);

#endif
