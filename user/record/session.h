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

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "record/event_list.h"
#include "record/ring.h"

#define SESSION_AWAY_MAX 8

struct session_cpu {
	int cpu;
	int anchor; /* fd that owns the ring */
	struct ring ring;
	uint8_t *copy; /* ring.size bytes of the session's copy area */

	/* the lock's */
	int *fds;  /* of event e and target t at [t * events->n + e], or -1; owned */
	int pulse; /* event that lives as long as @fds do; the anchor, until the CPU came back */
	uint64_t opened; /* ns: then the pulse began */
	struct {
		uint64_t from, to; /* ns */
	} away[SESSION_AWAY_MAX];  /* not recorded then; with more the oldest ones are one */
	size_t n_away;
};

/* An event that was opened when its CPU came back; its records are told as those of the first. */
struct session_alias {
	uint64_t id, stands_for;
};

struct session_delay;

struct session {
	atomic_int refs;
	char *name;		   /* owned */
	char *run;		   /* the line of perf record, verbatim; owned */
	struct event_list *events; /* owned */
	struct session_cpu *cpus;  /* owned; room for max_cpus */
	_Atomic size_t n_cpus; /* grows, when CPUs come on line that never were; never shrinks */
	size_t max_cpus;
	/* of some threads: CPUs that were off line at the start. Their events, disabled and without a
	 * ring, are inherited by what is forked; that could not be made up for later. Owned */
	struct session_cpu *spare;
	size_t n_spare;
	struct record_target target; /* without tasks; cgroup_fd, cpus and delay are owned */
	struct session_delay *delay; /* of -D; NULL: none. Owned */
	size_t n_targets; /* threads that it was opened for; 1 for all, or for a cgroup */
	size_t n_id_cpus; /* CPUs that it was opened on */
	uint64_t *ids; /* of event e, target t and cpu c at [(e * n_targets + t) * n_id_cpus + c];
			  owned */
	uint8_t *copy_area; /* mapped; what belongs to a CPU touched and, where allowed, locked */
	size_t copy_reserved, copy_bytes; /* of all CPUs that there can be; in use */
	struct record_output output;	  /* its opener's */
	uint64_t started; /* ns: every ring holds everything since, until it wraps */
	char notice[160]; /* what the user should know, e.g. that cycles became cpu-clock; "" */
	bool lacks_cpu;	  /* the notice says of which CPU it has no events */

	pthread_mutex_t lock;	       /* of the below; inherits priority */
	struct session_alias *aliases; /* ascending by id; owned */
	size_t n_aliases, cap_aliases;
	bool *off;	    /* per event: disabled, see session_switch.h; owned. NULL: none is */
	uint64_t off_since; /* ns: from then on all of them; 0: not all */
};

/* How many file descriptors session__open() needs for them with @n_cpus on line, others off line. */
size_t session__descriptors(const struct event_list *events, const struct record_target *target,
			    size_t n_cpus);

/* Open @events (taken over, also on failure) on every online CPU with rings of @ring_bytes per CPU;
 * disabled. @target: NULL for every task; a session of some tasks also records when they leave their
 * CPU and come back, where it has sched:sched_switch or context-switches: these tell the former only.
 * Negative errno with words in @err. */
int session__open(const char *name, const char *run, struct event_list *events, size_t ring_bytes,
		  const struct record_target *target, struct err *err, struct session **ret);

/* Enable every event, but those that are enabled when their task executes a program. */
int session__start(struct session *s, struct err *err);

/*
 * CPUs come and go, and with a CPU that goes its events are gone for good, but those of threads. Open
 * them anew on those of @online (ascending) that came back, and on those that are new; rings and what is
 * in them stay. A new CPU needs a ring: -ENOSPC when all sessions would then take more than @max bytes.
 * A session of some threads takes new CPUs that were there when it was opened. Returns how many CPUs it
 * was, or negative errno with words: then some may still be without. For the thread that opened the
 * session.
 */
int session__follow_cpus(struct session *s, const int *online, size_t n, uint64_t max,
			 struct err *err);

/* Bytes that were ever written into its rings. */
uint64_t session__written(const struct session *s);

/* How long (ns) CPU number @c of the session was not recorded between @from and @to, ns. */
uint64_t session__away(struct session *s, size_t c, uint64_t from, uint64_t to);

/* Give the records @v, which lie in a copy, the ids that session__event_ids() tells. */
void session__rename(struct session *s, const struct perf_event_header **v, size_t n);

/* The ids of event @e, one per target and CPU. */
const uint64_t *session__event_ids(const struct session *s, size_t e, size_t *ret_n);

/* Whether any event of it records callchains. */
bool session__has_callchain(const struct session *s);

/* Memory that all sessions that are open take: rings and copies, in bytes. */
uint64_t session__memory_of_all(void);

/* Memory that a session of @ring_bytes takes on @n_cpus: rings and copies, in bytes. */
uint64_t session__memory(size_t ring_bytes, size_t n_cpus);

struct session *session__ref(struct session *s);
void session__unref(struct session *s); /* the last one closes it; NULL is legal */

#endif
