/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns triggers into incidents: decides which triggers begin or join an incident, are merged, or
 * are only counted. Has no thread, no clock, and no allocation after init: the caller holds a lock
 * and passes the time. dump/incident/incident.h draws the states.
 */
#ifndef FRBPF_DAEMON_INCIDENT_POOL_H
#define FRBPF_DAEMON_INCIDENT_POOL_H

#include "daemon/active_set.h"

#define INCIDENT_POOL_SIZE 16

struct incident_pool {
	struct incident *v[INCIDENT_POOL_SIZE]; /* owned */
	bool closed;		   /* no incident begins any more; pending ones are due */
	uint64_t begun;		   /* incidents so far; also the number of the last one */
	struct dump_limiter dumps; /* dumps that triggers began, of all rules */
	uint64_t cap_logged;	   /* as in struct rule_counters, for all rules */
	uint64_t busy;		   /* triggers and requests that found no free incident */
	uint64_t states_wanted;	   /* triggers so far whose subject's state should be read */
};

/* 0 or -ENOMEM; call incident_pool__free() in both cases. */
int incident_pool__init(struct incident_pool *p);
void incident_pool__free(struct incident_pool *p);

/*
 * Handle a trigger of rule @rule of @g. The first case that applies decides:
 *
 * - It joins an incident of @g that is not frozen yet and whose freeze will cover its window, too.
 *   If that incident has no room for another marker, the trigger is merged into it instead, if it
 *   dumps all sessions of the rule.
 * - It is merged into an incident that was frozen less than the merge time ago and dumped all
 *   sessions of the rule. A trigger that broke its cooldown is not merged: it gets its own dump.
 * - It is counted as capped, if max-dumps allows no more.
 * - It begins an incident.
 * - It is counted as busy.
 *
 * A muted rule's trigger is only counted. The rule's counters are updated.
 */
void incident_pool__trigger(struct incident_pool *p, struct active_set *g, size_t rule,
			    const struct frbpf_trigger *t);

/*
 * Store the stacks of an earlier trigger. They are dropped if its incident is frozen, if the
 * trigger was merged or is unknown, or beyond INCIDENT_STACKS_MAX.
 */
void incident_pool__stacks(struct incident_pool *p, const struct frbpf_stacks *s);

/* The task whose state should be read. */
struct state_ask {
	uint64_t incident; /* number of the incident */
	size_t trigger;	   /* index of the trigger in its incident */
	pid_t tid;
	uint64_t time; /* ns: time of the trigger */
	bool pending;  /* its event has not ended, or has only just ended */
};

/* Get the next task whose state should be read. False: there is none. */
bool incident_pool__next_state(struct incident_pool *p, struct state_ask *ret);

/*
 * Store what was read; @state or @more may be NULL. Both are taken over, and dropped if the
 * incident is gone. True: the incident is WRITTEN, so its manifest must be written again.
 */
bool incident_pool__take_state(struct incident_pool *p, const struct state_ask *ask,
			       struct json_t *state, struct json_t *more);

/*
 * Begin an incident by hand for the sessions of @mask, due at once. Triggers neither join it nor
 * are merged into it. NULL: no incident is free.
 */
struct incident *incident_pool__manual(struct incident_pool *p, struct active_set *g, uint64_t mask,
				       const char *reason, const struct frbpf_trigger *t);

/*
 * Get the oldest incident that is due at @now and whose sessions are all free. It becomes FREEZING,
 * and its sessions become busy. An incident that waits for a session delays only later ones that
 * need the same session. NULL: none; then *ret_deadline is the next deadline, or UINT64_MAX.
 */
struct incident *incident_pool__next_due(struct incident_pool *p, uint64_t now,
					 uint64_t *ret_deadline);

/*
 * FREEZING ──► FROZEN: @parts sessions write their files. With 0 parts it becomes WRITTEN at once.
 */
void incident_pool__frozen(struct incident *inc, size_t parts);

/* One more part is written. True: it was the last; @inc is WRITTEN and its manifest is due. */
bool incident_pool__part_written(struct incident *inc);

/*
 * WRITTEN ──► FREE. Returns the reference of the active set, and moves what the results own to
 * @ret. The caller must drop both after it has released the lock. NULL: the manifest is out of
 * date, or names are still being looked up; then @inc stays.
 */
struct active_set *incident_pool__release(struct incident *inc,
					  struct dump_remains ret[static INCIDENT_SESSIONS_MAX]);

/* Time until which triggers are merged into @inc, ns. @inc must not be FREE. */
uint64_t incident_pool__merge_end(const struct incident *inc);

/* A max-dumps limit that was reached. */
struct dump_cap {
	const struct rule_conf *rule; /* of the active set; NULL: the limit of all rules */
	struct rate max;
	uint64_t until; /* ns: from then on another dump may begin */
};

/*
 * Get the next max-dumps limit of @g that is in effect at @now and was not reported before. False:
 * none.
 */
bool incident_pool__next_cap(struct incident_pool *p, struct active_set *g, uint64_t now,
			     struct dump_cap *ret);

/* Number of incidents under way: not FREE and not WRITTEN yet. */
size_t incident_pool__under_way(const struct incident_pool *p);

/* Begin no more incidents, and make pending ones due now. */
void incident_pool__close(struct incident_pool *p);

#endif
