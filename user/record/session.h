/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording session: perf events on every online CPU, for all tasks or some. All events of a CPU
 * write into one overwritable ring. Memory for copies of the rings is allocated and touched in
 * advance. Life: open (nothing records yet), start, read through the rings any number of times,
 * unref.
 *
 * An anchor event owns the ring of a CPU: a software dummy that records nothing. Every event is
 * redirected into that ring before it is enabled, since on an enabled event
 * PERF_EVENT_IOC_SET_OUTPUT waits for an RCU grace period.
 *
 * The rings of a plain session are drained into a file all the time (common/forward_ring.h), and
 * not overwritten. They have no copies. Their anchors record what names addresses from
 * session__open() on, since the file must have all of it.
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
	int anchor; /* descriptor of the event that owns the ring */
	uint64_t anchor_id;
	bool plain; /* see struct session */
	struct ring ring;
	uint8_t *copy; /* ring.size bytes in the copy area of the session; NULL: plain */

	/* protected by the lock */
	int *fds;	 /* [t * events->n + e] is for event e and target t; -1: none; owned */
	int pulse;	 /* dies when @fds do; it is the anchor until the CPU first comes back */
	uint64_t opened; /* ns: when the pulse began */
	struct {
		uint64_t from, to; /* ns */
	} away[SESSION_AWAY_MAX];  /* not recorded then; if full, the two oldest are merged */
	size_t n_away;
};

/* An event that was opened when its CPU came back. Its records get the id of the original event. */
struct session_alias {
	uint64_t id, stands_for;
};

struct session_delay;

struct session {
	atomic_int refs;
	char *name;			 /* owned */
	char *run;			 /* the line of perf record, as written; owned */
	struct event_list *events;	 /* owned */
	bool plain;			 /* its rings are drained */
	struct perf_event_attr tracking; /* plain: of the anchors */
	struct session_cpu *cpus;	 /* owned; room for max_cpus */
	_Atomic size_t n_cpus;		 /* grows when new CPUs come online; never shrinks */
	size_t max_cpus;
	/*
	 * RECORD_TASKS: CPUs that were offline at the start. Their events were opened at the start,
	 * too, disabled and without a ring, so that forked tasks inherit them. Owned
	 */
	struct session_cpu *spare;
	size_t n_spare;
	struct record_target target; /* without tasks; owns cgroup_fd, cpus and delay */
	struct session_delay *delay; /* for -D; NULL: none. Owned */
	size_t n_targets;	     /* number of threads at open; 1 for all tasks or a cgroup */
	size_t n_id_cpus;	     /* number of CPUs at open */
	/* [(e * n_targets + t) * n_id_cpus + c] is for event e, target t, CPU c; owned */
	uint64_t *ids;
	/* mapped; the part of existing CPUs is touched and, if allowed, locked */
	uint8_t *copy_area;
	size_t copy_reserved, copy_bytes; /* bytes for all possible CPUs; bytes in use */
	struct record_output output;	  /* set by the opener */
	uint64_t started;		  /* ns: until the rings wrap, they have all since then */
	char notice[160];		  /* for the user, e.g. that cycles became cpu-clock; "" */
	bool lacks_cpu;			  /* the notice names the CPU that is not recorded */
	/* Called when the events of CPU number @c were opened again; set by the opener. */
	void (*reopened)(const struct session *s, size_t c, void *arg);
	void *reopened_arg;

	pthread_mutex_t lock;	       /* protects what follows; inherits priority */
	struct session_alias *aliases; /* ascending by id; owned */
	size_t n_aliases, cap_aliases;
	/* for each event: disabled, see session__switch(); owned. NULL: none is */
	bool *off;
	uint64_t off_since; /* ns: since when all events are disabled; 0: not all of them are */
};

/* Number of descriptors that session__open() needs, with @n_cpus online and others offline. */
size_t session__descriptors(const struct event_list *events, const struct record_target *target,
			    size_t n_cpus);

/*
 * Open @events, disabled, on every online CPU, with rings of @ring_bytes for each CPU. Owns
 * @events, also on failure. @target: NULL for all tasks. If it is some tasks, sched:sched_switch
 * and context-switches tell only when a task leaves its CPU. Then PERF_RECORD_SWITCH records are
 * added, which tell when it comes back. 0 or negative errno with a message in @err.
 */
int session__open(const char *name, const char *run, struct event_list *events, size_t ring_bytes,
		  const struct record_target *target, struct err *err, struct session **ret);

/* Enable all events, except those that are enabled when their task calls exec. */
int session__start(struct session *s, struct err *err);

/*
 * Enable (@on) or disable the events called @name, also on CPUs that come later. NULL: all events.
 * While all are disabled, the session counts as away: see session__away(). Call it in the thread
 * that opened the session. -ENOENT: no event has this name.
 */
int session__switch(struct session *s, const char *name, bool on);

/*
 * Follow CPUs that come and go. Events of a CPU that goes offline are dead, except those of
 * threads. Open them again on CPUs of @online (ascending) that came back or are new. Rings keep
 * their records. A new CPU needs a ring; -ENOSPC: all sessions would then use more than @max bytes.
 * A session of some threads can use only new CPUs that were present when it was opened. Returns the
 * number of CPUs, or negative errno with a message; then some CPUs may still have no events. Call
 * it in the thread that opened the session.
 */
int session__follow_cpus(struct session *s, const int *online, size_t n, uint64_t max,
			 struct err *err);

/* Get the number of bytes ever written into the rings of @s. */
uint64_t session__written(const struct session *s);

/*
 * Get the time (ns) between @from and @to, in ns, in which CPU number @c of the session was not
 * recorded.
 */
uint64_t session__away(struct session *s, size_t c, uint64_t from, uint64_t to);

/* Replace ids in the records @v of a copy with those of session__event_ids(). */
void session__rename(struct session *s, const struct perf_event_header **v, size_t n);

/*
 * Get the ids of event @e, one for each target and CPU; of offcpu-time, one for each CPU. @s owns
 * them.
 */
const uint64_t *session__event_ids(const struct session *s, size_t e, size_t *ret_n);

/*
 * Get the fields of markers in files of the session, see struct record_sample: those that all
 * events have, and a callchain if any event has one. If one attr of a file lacks callchains, `perf
 * sched timehist` shows none at all.
 */
uint64_t session__marker_fields(const struct session *s);

/* Memory of all open sessions, in bytes: rings and copies. */
uint64_t session__memory_of_all(void);

/*
 * Memory of a session with @ring_bytes on each of @n_cpus, in bytes: rings, and copies unless it is
 * @plain.
 */
uint64_t session__memory(size_t ring_bytes, size_t n_cpus, bool plain);

struct session *session__ref(struct session *s);
void session__unref(struct session *s); /* the last reference closes it; NULL is legal */

/*
 * ---- the end of a session's tasks ----
 *
 * Tells when all tasks of a session, and those that they started, have ended. perf record ends
 * then.
 */

struct target_end;

/* Watch @s, which records tasks and was started; it is borrowed. 0 or negative errno. */
int target_end__new(const struct session *s, struct target_end **ret);
/* Becomes readable when target_end__reached() may have become true. */
int target_end__fd(const struct target_end *t);
/* Have all ended? */
bool target_end__reached(struct target_end *t);
/* Call it before the session is freed. NULL is legal. */
void target_end__free(struct target_end *t);

#endif
