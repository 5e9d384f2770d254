/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trigger thread: reads triggers from the BPF ring buffer, keeps incidents and their deadlines,
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
	/* borrowed; names functions of programs; NULL: they have no names */
	struct examiner *examiner;
	int rt_priority; /* SCHED_FIFO; see thread__set_class() */
};

/* Start the trigger thread, with no rules in force. 0 or negative errno with a message in @err. */
int recorder__new(const struct recorder_opts *opts, struct err *err, struct recorder **ret);

/* Get the callback that the dumpers of every active set need. */
void recorder__dumper_callback(struct recorder *r, dumper_done_fn *ret_fn, void **ret_arg);

/*
 * Make @g the active set in force, and give its rules to the detectors:
 *
 *	offer                 triggers of old and new rules are understood
 *	detectors__update()   the kernel side switches
 *	commit                the last trigger of the old rules is handled; the old active
 *	                      set is given up
 *	withdraw              instead, if the detectors failed: @g is given up, the old one stays
 *
 * Takes over the caller's reference. 0, or the error of detectors__update() with a message in @err.
 */
int recorder__put_in_force(struct recorder *r, struct active_set *g, struct err *err);

/*
 * Give the same rules to the detectors again after CPUs changed, so that those with events on each
 * CPU open them on new CPUs. Errors as above; then the rules stay as they are.
 */
int recorder__renew(struct recorder *r, struct err *err);

/* Wait until active sets that were replaced, and that no incident needs, are freed. */
void recorder__reap(struct recorder *r);

/* The active set in force, borrowed. Only for the thread that puts active sets in force. */
struct active_set *recorder__active_set(struct recorder *r);

/* Mute rule @i of the active set in force until @until, ns: its triggers are only counted. */
void recorder__mute(struct recorder *r, size_t i, uint64_t until);

/*
 * Begin an incident by hand for the sessions of @mask, with @reason. Returns its number, or -EBUSY:
 * too many are under way.
 */
int64_t recorder__dump(struct recorder *r, uint64_t mask, const char *reason);

/*
 * Have recorder__collect() call @fn after triggers: at once if one began an incident, else within a
 * second. No file of such an incident is begun before @fn has returned or RECORDER_SAVE_MAX has
 * passed. So @fn can write what must survive a dump that kills us. Set it before the first rules
 * are in force.
 */
#define RECORDER_SAVE_MAX (2 * NSEC_PER_SEC)
typedef void (*recorder_trigger_fn)(void *arg);
void recorder__on_triggers(struct recorder *r, recorder_trigger_fn fn, void *arg);

/* Wait, in a dumper's thread, until @fn has returned for @inc. @arg is the recorder. */
void recorder__wait_saved(void *arg, const struct incident *inc);

/*
 * incident_pool__next_cap() for the active set in force. For the thread that puts active sets in
 * force.
 */
bool recorder__next_cap(struct recorder *r, struct dump_cap *ret);

/* Readable when recorder__collect() has something to do. */
int recorder__fd(const struct recorder *r);

/* Wait until the thread has handled all triggers that were in the ring buffer before this call. */
void recorder__sync(struct recorder *r);

/*
 * Called for an incident whose files are complete; @first: for the first time. False: its manifest
 * could not be written; then it is called again later.
 */
typedef bool (*recorder_collect_fn)(struct incident *inc, bool first, void *arg);

/*
 * Call @fn for every incident whose files are complete. It is called again when triggers were
 * merged, when names or states came later, or when @fn failed. Incidents that need no more calls
 * are freed. Returns ns until the next call is due even if the fd is silent, or UINT64_MAX. For one
 * thread only.
 */
uint64_t recorder__collect(struct recorder *r, recorder_collect_fn fn, void *arg);

struct recorder_stats {
	pid_t tid;
	bool realtime;			    /* SCHED_FIFO was granted */
	uint64_t incidents;		    /* begun */
	uint64_t failed;		    /* files and manifests that could not be written */
	uint64_t writing;		    /* not yet complete */
	uint64_t busy;			    /* triggers that found no free incident */
	uint64_t stale;			    /* triggers of rules that are no longer in force */
	uint64_t latency_last, latency_max; /* ns from when a freeze was due to all rings frozen */
};
void recorder__stats(struct recorder *r, struct recorder_stats *ret);
/* Copy the counters of rule @i of the active set in force. */
void recorder__counters(struct recorder *r, size_t i, struct rule_counters *ret);

/*
 * Get the names of incidents whose files are complete but whose manifest may still change. Returns
 * their number.
 */
size_t recorder__written_names(struct recorder *r,
			       char ret[INCIDENT_POOL_SIZE][INCIDENT_NAME_SIZE]);

/* Name an incident that its sessions did not name. For the thread that collects. */
void recorder__set_name(struct recorder *r, struct incident *inc,
			const char name[static INCIDENT_NAME_SIZE]);

/*
 * Copy the times of the dumps that triggers of all rules began. The second function sets them, from
 * what an earlier daemon saved.
 */
void recorder__dumps(struct recorder *r, struct dump_limiter *ret);
void recorder__remember_dumps(struct recorder *r, const struct dump_limiter *dumps);

/* The longest `pre` of the rules that can fire now, ns, without `auto`. For any thread. */
uint64_t recorder__longest_pre(struct recorder *r);

/* Begin no more incidents, and wait until all are complete and collected with @fn. */
void recorder__drain(struct recorder *r, recorder_collect_fn fn, void *arg);

/* Ends the thread. The detectors must still exist. NULL is legal. */
void recorder__free(struct recorder *r);

#endif
