/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writer of one session: a thread of low priority that turns what a freeze has copied into a
 * file. Life: start, submit one job at a time, unref.
 */
#ifndef FRBPF_DAEMON_DUMPER_H
#define FRBPF_DAEMON_DUMPER_H

#include <semaphore.h>

#include "dump/dump.h"
#include "proxy/proxies.h"
#include "record/target_end.h"

struct dumper;

/* Called in the dumper's thread when its part of @inc, result @index, is there. */
typedef void (*dumper_done_fn)(void *arg, struct dumper *d, struct incident *inc, size_t index);

/* See timed_dumps.h; the main thread's. */
struct timed_dump {
	uint64_t due;	       /* ns; 0: not known yet */
	uint64_t written;      /* bytes in all rings at the last dump */
	uint64_t looked, seen; /* ns, bytes: at the last look */
};

struct dumper {
	atomic_int refs;
	struct session *session; /* owned */
	const struct dump_env *env;
	struct proxy *proxy;	 /* the session's process; a reference; NULL: it has none */
	int dir_fd;		 /* BASE/session-NAME */
	struct ring_shot *shots; /* one per CPU; owned. The freezer's while busy is false, else the
				    thread's */
	struct gap_log *gaps;	 /* one per CPU; owned, the thread's */
	pthread_t thread;
	pid_t tid;
	bool running;
	sem_t wake, ready;

	dumper_done_fn done;
	void *done_arg;

	/* guarded by the recorder's lock */
	bool busy;	/* from the freeze until the file is written */
	uint64_t freed; /* ns: when that was last over */
	bool wanted;	/* by an earlier incident that waits: see incident_pool__next_due() */

	struct timed_dump timed;
	struct target_end *target_end; /* the main thread's; NULL: it has none. Owned */
	struct incident *inc; /* the job; NULL wakes the thread to end */
	size_t index;
};

/* Take over @session and @proxy (also on failure) and start its thread. */
int dumper__start(struct session *session, struct proxy *proxy, const struct dump_env *env,
		  dumper_done_fn done, void *done_arg, struct err *err, struct dumper **ret);

/* Hand over the job: the copies and shots of the session are the thread's until `done`. Does not
 * block. */
void dumper__submit(struct dumper *d, struct incident *inc, size_t index);

/* Make its directory again where that was removed. Returns 1 if it was, 0, or negative errno with words. */
int dumper__renew_dir(struct dumper *d, struct err *err);

/* Bytes of rings and copies of its session, and of all dumpers that exist: also of those that only
 * an incident under way still holds, and of successors that have not taken over yet. */
uint64_t dumper__memory(const struct dumper *d);
uint64_t dumper__memory_of_all(void);

struct dumper *dumper__ref(struct dumper *d);
void dumper__unref(
	struct dumper *d); /* the last one ends the thread (after its job) and closes the session */

#endif
