/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An incident: one or more triggers, one freeze, one file per session. All file names have the same
 * time. Its states are drawn above enum incident_state.
 */
#ifndef FRBPF_DUMP_INCIDENT_INCIDENT_H
#define FRBPF_DUMP_INCIDENT_INCIDENT_H

#include <pthread.h>

#include "dump/rings/freeze.h"
#include "abi.h"
#include "rules/ruleset.h"

#define INCIDENT_NAME_SIZE    17 /* YYYYMMDDhhmmssCC and a NUL; CC: hundredths of a second */
#define INCIDENT_TRIGGERS_MAX 32
#define INCIDENT_MERGED_MAX   64
#define INCIDENT_SESSIONS_MAX 64
#define INCIDENT_REASON_MAX   128
#define INCIDENT_STACKS_MAX   8
#define INCIDENT_STATES_MAX   4

/*
 *	      a trigger     its deadline,     the rings      the last        nothing more
 *	      or a request  sessions are free were read      file is ready   to merge
 *	FREE ──────► PENDING ──────► FREEZING ──────► FROZEN ──────► WRITTEN ──────► FREE
 *
 *	FREE      no active set, no name, no stacks; belongs to the pool
 *	PENDING   its deadline (trigger + post) is to come, or a session still writes an earlier
 *	          incident from its copy area; triggers may join
 *	FREEZING  only the trigger thread uses it, without the lock
 *	FROZEN    every session's thread writes its file; triggers are merged into it
 *	WRITTEN   the collector writes the manifest without the lock; triggers are still merged into
 *	          it, which adds to `merged` and sets `manifest_stale`
 *
 * Each transition is one function of daemon/incident_pool.h, called once in one critical section.
 * Everything that a state guarantees, above all `active`, changes together with the state.
 */
enum incident_state {
	INCIDENT_FREE,
	INCIDENT_PENDING,
	INCIDENT_FREEZING,
	INCIDENT_FROZEN,
	INCIDENT_WRITTEN,
};

/*
 * Result of comparing a trigger with what was recorded. Among several sessions, the largest value
 * counts.
 */
enum incident_compared {
	COMPARED_NOT_RECORDED, /* no session has the events: for a wait, all switches */
	COMPARED_MERGED,       /* it came after the windows were gathered */
	COMPARED_TOO_LATE,     /* it ended after the windows */
	COMPARED_SHORT,	       /* no window reaches back to its beginning */
	COMPARED_LOSSES,       /* records of the window were lost */
	COMPARED_NOT_FOUND,    /* its own events are not among the records */
	COMPARED_AGREES,       /* nothing contradicts it */
};

struct incident_trigger {
	struct frbpf_trigger t;	      /* a dump by hand has a time, but no source */
	const struct rule_conf *rule; /* borrowed from the incident's active set; NULL: by hand */
	/* rules of the parts that matched before; borrowed as `rule` is; NULL: no such part */
	const struct rule_conf *parts[FRBPF_MAX_OTHERS];
	/*
	 * ns: time of the earliest record that contradicts it; 0: none does; guarded by name_lock
	 */
	uint64_t contradicted;
	enum incident_compared compared; /* result of the comparison; guarded by name_lock */
};

/*
 * Time, ns, when the reported event began: the beginning of a wait, or of the window of a share.
 * The trigger's own time, if the event has no duration.
 */
uint64_t incident_trigger__began(const struct incident_trigger *it);

/* Get part @i of @it as a separate trigger. False: it has no such part. */
bool incident_trigger__part(const struct incident_trigger *it, size_t i,
			    struct incident_trigger *ret);

/*
 * Note that a record at @time, ns, contradicts @it; the earliest such time is kept. The caller
 * holds name_lock.
 */
void incident_trigger__contradict(struct incident_trigger *it, uint64_t time);

struct task_moves;

/* Memory of an incident that must be freed. */
struct dump_remains {
	struct dump_cpu *cpus;
	struct task_moves *moves;
};

/* Results of one CPU's ring. */
struct dump_cpu {
	int cpu;
	uint64_t records; /* in the window */
	uint64_t from;	  /* ns: the ring is complete from here on */
	/* records of the window dropped while an earlier freeze paused the ring */
	uint64_t lost;
	uint64_t lost_until; /* ns: time of the last loss or throttling; 0: there was none */
	uint64_t throttled;  /* times in the window that the kernel throttled an event */
	uint64_t torn;	     /* bytes dropped at the old end */
	uint64_t paused;     /* ns that this freeze paused the ring */
	uint64_t away; /* ns of the window without recording: the CPU was offline, or just back */
};

/* Result of one session. Its thread fills it; it is read when the incident is WRITTEN. */
struct dump_result {
	const struct session *session;
	int error; /* 0; or negative errno: error_text says why there is no file */
	char error_text[256];
	char file[64]; /* name in the session's directory */
	uint64_t bytes, records, skipped;
	uint64_t start, end;  /* ns: the part of the wanted window that the rings cover */
	uint64_t asked;	      /* ns: the beginning that was asked for, see incident__asked() */
	uint64_t complete;    /* ns: every ring is complete from here on; may be after the end */
	bool short_window;    /* asked is before complete */
	uint64_t ring_needed; /* bytes per CPU that would be enough; 0: unknown, or not short */
	uint64_t write_ns;
	uint64_t sideband_lost, sideband_rescans;
	bool sideband_incomplete;
	struct dump_cpu *cpus; /* owned */
	size_t n_cpus;
	struct task_moves *moves; /* switches in the window; owned. NULL: none were recorded */
	bool all_switches;	  /* the session records every switch of every task */
};

/* Were records of the window of @res lost after @from, ns? */
bool dump_result__has_losses(const struct dump_result *res, uint64_t from);

struct stack_frame;
struct user_names;

/* The stacks of the subject of one event; all of its triggers share them. */
struct incident_stacks {
	struct frbpf_stacks raw; /* without frbpf's frames once the kernel part is named */
	struct stack_frame *kernel, *user; /* as many frames as raw has; NULL: not named. Owned */
	bool user_of_switch;		   /* the user part is from its last switch-out */
};

struct active_set;

struct incident {
	enum incident_state state;
	uint64_t number;		  /* since the daemon started, from 1 */
	struct active_set *active;	  /* in force when it began; a reference. NULL: FREE */
	uint64_t sessions;		  /* mask over the active set's sessions */
	char reason[INCIDENT_REASON_MAX]; /* of a dump by hand, else "" */
	bool manual;

	struct incident_trigger triggers[INCIDENT_TRIGGERS_MAX];
	size_t n_triggers;
	struct incident_stacks stacks[INCIDENT_STACKS_MAX]; /* of the first triggers */
	size_t n_stacks;
	/*
	 * States of the subjects of the first triggers: see task_state.h. `more_states` has what
	 * may hang when it is read. Each is set once, atomically; NULL: unknown. Owned
	 */
	struct json_t *states[INCIDENT_STATES_MAX], *more_states[INCIDENT_STATES_MAX];
	struct json_t *vitals; /* of the machine; NULL: unknown. Owned; used by the collector */
	size_t n_states_asked; /* triggers whose state is being read, or was */
	bool stated;	       /* a state came after the manifest was written */
	struct incident_trigger merged[INCIDENT_MERGED_MAX];
	size_t n_merged;
	uint64_t more_merged; /* further merged triggers, only counted */

	uint64_t deadline;	  /* ns: when to freeze */
	uint64_t latest_deadline; /* triggers that join cannot move it beyond this */
	uint64_t due; /* ns: the deadline, or later, when the last of its sessions was free again */
	struct freeze_report freeze;
	uint64_t min_free;	  /* bytes that its files must leave on disk */
	uint64_t realtime_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the freeze, ns */

	pthread_mutex_t name_lock;     /* guards the name and the stacks */
	char name[INCIDENT_NAME_SIZE]; /* "" until the first thread needs it */
	bool drafted;		       /* the draft of its manifest is written */
	struct dump_result
		results[INCIDENT_SESSIONS_MAX]; /* indexed like the active set's sessions */
	size_t writing;				/* results that are still missing */
	/*
	 * functions to look up once all files are written; NULL: none. Owned; the namer owns them
	 * while it looks them up
	 */
	struct user_names *names;
	bool naming, named;  /* names are being looked up; the answers are still to be taken over */
	bool names_missing;  /* some could not be looked up */
	bool manifest_stale; /* the manifest on disk is out of date */
	bool reported;	     /* it was collected once; used by the collector */
	bool listed;	     /* its manifest was written; used by the collector */
	/*
	 * After a manifest could not be written: time of the next attempt, and ns between attempts;
	 * 0: it was written. Used by the collector
	 */
	uint64_t manifest_at, manifest_wait;
};

/*
 * Returns the time, ns, from which the triggers want records: the earliest of all. A trigger wants
 * records from `pre` before its time on. Without `pre`, it wants them from the beginning of the
 * reported event on. *ret_more: earlier records are wanted too, as far back as every CPU has them.
 */
uint64_t incident__asked(const struct incident *inc, bool *ret_more);
/* End of the window, ns: the latest trigger + post, or the freeze if that came first (a stop). */
uint64_t incident__end(const struct incident *inc);

/* The stacks of trigger @t, or NULL. */
const struct incident_stacks *incident__stacks(const struct incident *inc,
					       const struct frbpf_trigger *t);

/* Format @realtime_ns as local time, as in perf's file names. */
void incident__format_name(uint64_t realtime_ns, char name[static INCIDENT_NAME_SIZE]);

#endif
