/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes the files of one session, in a thread of low priority, from what a freeze has copied.
 * Life: start, submit one job at a time, unref.
 */
#ifndef FRBPF_DAEMON_DUMPER_H
#define FRBPF_DAEMON_DUMPER_H

#include <semaphore.h>

#include "detect/feed/feed.h"
#include "dump/dump.h"
#include "daemon/plain_recorder.h"
#include "proxy/proxies.h"
#include "record/session.h"

struct dumper;

/*
 * Called in the dumper's thread when its file of @inc is written. The outcome is in
 * inc->results[@index]. @inc NULL: a plain session has come to its end, see dumper.full.
 */
typedef void (*dumper_done_fn)(void *arg, struct dumper *d, struct incident *inc, size_t index);

/* What timed_dumps__step() knows about one session. Used by the main thread only. */
struct timed_dump {
	uint64_t due;	       /* ns; 0: not set yet */
	uint64_t written;      /* bytes in all rings at the last dump */
	uint64_t looked, seen; /* time, ns, and bytes written at the last look */
};

struct dumper {
	atomic_int refs;
	struct session *session; /* owned */
	struct feed *feed;	 /* writes into the session; NULL: none does. Owned */
	const struct dump_env *env;
	struct proxy *proxy; /* the session's process; a reference; NULL: none */
	int dir_fd;	     /* BASE/session-NAME */
	/*
	 * one per CPU; owned; used by the thread from submit to `done`, and by the freeze at other
	 * times
	 */
	struct ring_shot *shots;
	struct gap_log *gaps; /* one per CPU; owned; used by the thread */
	pthread_t thread;
	pid_t tid;
	bool running;
	sem_t wake, ready;
	struct plain_recorder *plain; /* of a plain session; used by the thread. Owned */
	int plain_wake;		      /* eventfd that wakes the thread, in addition; -1: none */
	/* full: a plain session writes no more; full_seen: the main thread has ended the session */
	atomic_bool full;
	bool full_seen;
	atomic_bool ends; /* a plain session: its next dump is the last */

	dumper_done_fn done;
	void *done_arg;

	/* guarded by the recorder's lock */
	bool busy;	/* set from the freeze until the file is written */
	uint64_t freed; /* ns: when `busy` was last cleared */
	bool wanted;	/* an earlier incident waits for it: see incident_pool__next_due() */

	struct timed_dump timed;
	struct target_end *target_end; /* used by the main thread; NULL: none. Owned */
	struct incident *inc;	       /* the job; NULL: the thread ends */
	size_t index;
};

/*
 * Start the thread. Takes over @session, @feed and @proxy, also on failure. @ret gets one
 * reference. 0 or negative errno with a message in @err.
 */
int dumper__start(struct session *session, struct feed *feed, struct proxy *proxy,
		  const struct dump_env *env, dumper_done_fn done, void *done_arg, struct err *err,
		  struct dumper **ret);

/*
 * Give the thread a job. It owns copies and shots of the session until it calls `done`. Does not
 * block.
 */
void dumper__submit(struct dumper *d, struct incident *inc, size_t index);

/*
 * Make the session's directory again if it was removed. 1: it was made; 0: it was still there; or
 * negative errno with a message in @err.
 */
int dumper__renew_dir(struct dumper *d, struct err *err);

/*
 * Bytes of rings and copies. The first function counts those of @d's session, the second those of
 * all dumpers. The sum includes dumpers that only an incident still references, and successors that
 * have not taken over yet.
 */
uint64_t dumper__memory(const struct dumper *d);
uint64_t dumper__memory_of_all(void);

/* Make the next dump of the session its last. */
void dumper__set_ends(struct dumper *d);

/* Does the session make dumps? Not if it is plain and has no --switch-output. */
bool dumper__makes_dumps(const struct dumper *d);

struct dumper *dumper__ref(struct dumper *d);
/* Dropping the last reference waits for the job, ends the thread and closes the session. */
void dumper__unref(struct dumper *d);

#endif
