/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording session: perf events on every online CPU, of every task or of some, all of a CPU's events in one overwritable
 * ring, and the memory that a copy of the rings goes to, set aside and touched beforehand. Life:
 * open (nothing records yet), start, then any number of reads through the rings; unref closes it.
 *
 * The ring of a CPU is owned by an anchor event, a software dummy that records nothing itself;
 * every event is sent into it once, before it is enabled: on a live event PERF_EVENT_IOC_SET_OUTPUT
 * waits for an RCU grace period.
 */
#ifndef FRBPF_RECORD_SESSION_H
#define FRBPF_RECORD_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "record/event_list.h"
#include "record/ring.h"

struct session_cpu {
	int cpu;
	int anchor; /* fd that owns the ring */
	struct ring ring;
	int *fds;      /* of event e and target t at [t * events->n + e], or -1; owned */
	uint8_t *copy; /* ring.size bytes of the session's copy area */
};

struct session {
	atomic_int refs;
	char *name;		   /* owned */
	char *run;		   /* the line of perf record, verbatim; owned */
	struct event_list *events; /* owned */
	struct session_cpu *cpus;  /* owned */
	size_t n_cpus;
	size_t n_targets;   /* threads that it was opened for; 1 for all, or for a cgroup */
	uint64_t *ids;	    /* of event e, target t and cpu c at [(e * n_targets + t) * n_cpus + c];
			  owned */
	uint8_t *copy_area; /* mapped, touched and, where allowed, locked */
	size_t copy_bytes;
	uint64_t started; /* ns: every ring holds everything since, until it wraps */
	char notice[160]; /* what the user should know, e.g. that cycles became cpu-clock; "" */
};

/* Open @events (taken over, also on failure) on every online CPU with rings of @ring_bytes per CPU;
 * disabled. @target: NULL for every task; a session of some tasks also records when they leave their
 * CPU and come back, where it has sched:sched_switch or context-switches: these tell the former only.
 * Negative errno with words in @err. */
int session__open(const char *name, const char *run, struct event_list *events, size_t ring_bytes,
		  const struct record_target *target, struct err *err, struct session **ret);

/* Enable every event. */
int session__start(struct session *s, struct err *err);

/* The ids of event @e, one per target and CPU. */
const uint64_t *session__event_ids(const struct session *s, size_t e, size_t *ret_n);

/* Whether any event of it records callchains. */
bool session__has_callchain(const struct session *s);

/* Memory that a session of @ring_bytes takes on @n_cpus: rings and copies, in bytes. */
uint64_t session__memory(size_t ring_bytes, size_t n_cpus);

struct session *session__ref(struct session *s);
void session__unref(struct session *s); /* the last one closes it; NULL is legal */

#endif
