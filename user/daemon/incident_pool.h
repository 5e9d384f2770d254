/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where triggers become incidents: what joins which, what is merged, what must wait, what is only
 * counted. No thread, no clock, no allocation after init: the caller holds a lock and says what
 * time it is. The states, and their picture, are those of dump/incident/incident.h.
 */
#ifndef FRBPF_DAEMON_INCIDENT_POOL_H
#define FRBPF_DAEMON_INCIDENT_POOL_H

#include "daemon/active_set.h"

#define INCIDENT_POOL_SIZE 16

struct incident_pool {
	struct incident *v[INCIDENT_POOL_SIZE]; /* owned */
	bool closed;		   /* nothing begins any more, and what is pending is due */
	uint64_t begun;		   /* incidents; also the number of the last one */
	struct dump_limiter dumps; /* begun by triggers, of all rules */
	uint64_t cap_told;	   /* as in struct rule_counters, of all rules */
	uint64_t busy;		   /* triggers and requests that found no free incident */
	uint64_t states_wanted;	   /* triggers so far whose subject's state is to be read */
};

/* 0 or -ENOMEM; free also then. */
int incident_pool__init(struct incident_pool *p);
void incident_pool__free(struct incident_pool *p);

/*
 * A trigger of rule @rule of @g. In this order: it joins an incident that is not frozen yet and whose
 * freeze will show its moment too (noted as merged where that has no room for a further marker); it
 * is merged into one frozen less than the merge time ago that dumped every session it wants, unless
 * it broke its cooldown, which it did for a dump of its own; it
 * begins one; or it is counted as busy, or as capped where max-dumps leaves none. The rule's counters
 * is kept.
 */
void incident_pool__trigger(struct incident_pool *p, struct active_set *g, size_t rule,
			    const struct frbpf_trigger *t);

/* The stacks of a trigger that was handed in before them; those of one that is frozen, merged or
 * unknown are dropped, and so is what goes beyond INCIDENT_STACKS_MAX. */
void incident_pool__stacks(struct incident_pool *p, const struct frbpf_stacks *s);

/* Whose state is to be read. */
struct state_ask {
	uint64_t incident; /* its number */
	size_t trigger;	   /* index */
	pid_t tid;
	uint64_t time; /* ns: of the trigger */
};

/* The next one. False: there is none. */
bool incident_pool__next_state(struct incident_pool *p, struct state_ask *ret);

/* What was read, either may be NULL; both are taken over, and dropped where the incident is gone. True: it is written, and
 * its manifest is to be written again. */
bool incident_pool__take_state(struct incident_pool *p, const struct state_ask *ask,
			       struct json_t *state, struct json_t *more);

/* An incident by hand over the sessions of @mask, due at once; never joined, never merged into.
 * NULL: none is free. */
struct incident *incident_pool__manual(struct incident_pool *p, struct active_set *g, uint64_t mask,
				       const char *reason, const struct frbpf_trigger *t);

/*
 * The oldest incident that is due at @now and has all of its sessions free; it is FREEZING then, and
 * they are marked busy.
 * One that must wait for a session delays later ones that want the same session, and no
 * others. NULL: none; then *ret_deadline is the next deadline to come, or UINT64_MAX.
 */
struct incident *incident_pool__next_due(struct incident_pool *p, uint64_t now,
					 uint64_t *ret_deadline);

/* FREEZING ──► FROZEN: @parts sessions write their files; none is WRITTEN at once. */
void incident_pool__frozen(struct incident *inc, size_t parts);

/* One of the parts is there. True: it was the last, and @inc is WRITTEN, with a manifest to write. */
bool incident_pool__part_written(struct incident *inc);

/*
 * WRITTEN ──► FREE. Returns the active set, which is the caller's to give back, and moves what the
 * results own to @ret, which is the caller's to free: both after the lock. NULL: a trigger was
 * merged in the meantime, so @inc stays until its manifest says that.
 */
struct active_set *incident_pool__let_go(struct incident *inc,
					 struct dump_remains ret[static INCIDENT_SESSIONS_MAX]);

/* Until when triggers are merged into @inc, ns. Not of a FREE one. */
uint64_t incident_pool__merge_end(const struct incident *inc);

/* A max-dumps that was reached. */
struct dump_cap {
	const struct rule_conf *rule; /* NULL: that of all rules together. The active set's */
	struct rate max;
	uint64_t until; /* ns: from then on one more may begin */
};

/* The next max-dumps of @g that is reached at @now and was not told before. False: none. */
bool incident_pool__next_cap(struct incident_pool *p, struct active_set *g, uint64_t now,
			     struct dump_cap *ret);

/* How many incidents are not WRITTEN yet. */
size_t incident_pool__under_way(const struct incident_pool *p);

/* Begin nothing more, and make due what waits for its `post`. */
void incident_pool__close(struct incident_pool *p);

#endif
