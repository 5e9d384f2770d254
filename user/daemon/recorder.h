/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trigger thread: takes triggers out of the BPF ring, keeps the incidents and their deadlines,
 * and freezes rings. It runs in real time, sleeps in epoll until a trigger or a deadline, allocates
 * nothing and does no file I/O.
 *
 * Life: new, put_in_force (again for every reload), dump and collect, free.
 */
#ifndef FRBPF_DAEMON_RECORDER_H
#define FRBPF_DAEMON_RECORDER_H

#include "daemon/incident_pool.h"
#include "detect/detectors.h"
#include "rules/units.h"

struct recorder;

struct recorder_opts {
	struct detectors *detectors; /* borrowed */
	struct examiner
		*examiner; /* borrowed: names functions of programs; NULL: they have no names */
	int rt_priority;   /* SCHED_FIFO; see thread__set_class() */
};

int recorder__new(const struct recorder_opts *opts, struct err *err, struct recorder **ret);

/* What every active set's dumpers must be told; the recorder's own. */
void recorder__dumper_callback(struct recorder *r, dumper_done_fn *ret_fn, void **ret_arg);

/*
 * Make @g the active set in force, and have the detectors take its rules:
 *
 *	offer                 triggers of the old and of the new rules are understood
 *	detectors__update()   the kernel side flips
 *	commit                no trigger of the old rules is left, the old active set is let go;
 *	                      or, when the detectors failed, withdraw: @g is, and the old one stays
 *
 * Takes over the caller's reference. 0, or what detectors__update() returns, with words in @err.
 */
int recorder__put_in_force(struct recorder *r, struct active_set *g, struct err *err);

/* The same rules once more, as CPUs have changed: detectors with events of their own open them there, too.
 * Errors as above; then they stay as they are. */
int recorder__renew(struct recorder *r, struct err *err);

/* Wait until what has been replaced, and is not needed by an incident, has gone. */
void recorder__reap(struct recorder *r);

/* The active set in force, borrowed; only for the thread that puts them in force. */
struct active_set *recorder__active_set(struct recorder *r);

/* Only count the triggers of rule @i of the active set in force until @until, ns. */
void recorder__mute(struct recorder *r, size_t i, uint64_t until);

/* Begin an incident now, by hand: sessions of @mask, with @reason. Its number, or -EBUSY when too
 * many are under way. */
int64_t recorder__dump(struct recorder *r, uint64_t mask, const char *reason);

/*
 * Have @fn called within recorder__collect() when triggers were taken: at once when one began an
 * incident, else within a second. No file of such an incident is begun before @fn has returned, or
 * RECORDER_SAVE_MAX has passed: what must outlive a dump that kills us is written there. Set before
 * the first rules are in force.
 */
#define RECORDER_SAVE_MAX (2 * NSEC_PER_SEC)
typedef void (*recorder_trigger_fn)(void *arg);
void recorder__on_triggers(struct recorder *r, recorder_trigger_fn fn, void *arg);

/* Wait for that, in a dumper's thread; @arg is the recorder. */
void recorder__wait_saved(void *arg, const struct incident *inc);

/* incident_pool__next_cap() of the active set in force; for the thread that puts them in force. */
bool recorder__next_cap(struct recorder *r, struct dump_cap *ret);

/* Readable when recorder__collect() has something to do. */
int recorder__fd(const struct recorder *r);

/* Wait until the thread has handled every trigger that was in the ring before this call. */
void recorder__sync(struct recorder *r);

/* Told of an incident whose files are complete; @first: for the first time. False: what should be kept of it could not
 * be written, ask again. */
typedef bool (*recorder_collect_fn)(struct incident *inc, bool first, void *arg);

/*
 * Call @fn for every incident whose files are complete: once when they are, and once more when triggers were merged into
 * it after that or when @fn failed. Incidents that are done with are let go. Returns ns until it should be called again
 * even if the fd stays silent, or UINT64_MAX. For one thread only.
 */
uint64_t recorder__collect(struct recorder *r, recorder_collect_fn fn, void *arg);

struct recorder_stats {
	pid_t tid;
	bool realtime;			    /* SCHED_FIFO was granted */
	uint64_t incidents;		    /* begun */
	uint64_t failed;		    /* files and manifests that could not be written */
	uint64_t writing;		    /* not yet complete */
	uint64_t busy;			    /* triggers that found no free incident */
	uint64_t stale;			    /* triggers of rules that are in force no more */
	uint64_t latency_last, latency_max; /* ns from when a freeze was due to all rings frozen */
};
void recorder__stats(struct recorder *r, struct recorder_stats *ret);
/* A copy of the counters of rule @i of the active set in force. */
void recorder__counters(struct recorder *r, size_t i, struct rule_counters *ret);

/* The names of incidents whose files are complete, and whose manifest may still change. */
size_t recorder__written_names(struct recorder *r,
			       char ret[INCIDENT_POOL_SIZE][INCIDENT_NAME_SIZE]);

/* Name one that its sessions did not, for the collector. */
void recorder__set_name(struct recorder *r, struct incident *inc,
			const char name[static INCIDENT_NAME_SIZE]);

/* The dumps begun by triggers, of all rules together: a copy, or what is known of the time before. */
void recorder__dumps(struct recorder *r, struct dump_limiter *ret);
void recorder__remember_dumps(struct recorder *r, const struct dump_limiter *dumps);

/* The largest `pre` of the rules that triggers are taken of (ns); 0: none gives any. For any thread. */
uint64_t recorder__longest_pre(struct recorder *r);

/* Let nothing new begin and wait until all incidents are complete and collected through @fn. */
void recorder__drain(struct recorder *r, recorder_collect_fn fn, void *arg);

/* Ends the thread. The detectors must still exist. */
void recorder__free(struct recorder *r);

#endif
