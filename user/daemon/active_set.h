/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules and sessions that are in force together. A reload makes a new active set beside the old
 * one; sessions whose name and run line did not change are shared, so they keep their rings and
 * their history. An incident holds the active set it began in.
 */
#ifndef FRBPF_DAEMON_ACTIVE_SET_H
#define FRBPF_DAEMON_ACTIVE_SET_H

#include "daemon/dump_limiter.h"
#include "daemon/dumper.h"
#include "daemon/plan.h"

/* What became of a rule's triggers in user space. Guarded by the recorder's lock. */
struct rule_counters {
	uint64_t incidents; /* began one */
	uint64_t joined;    /* became a further marker of one that was not frozen yet */
	uint64_t merged;    /* came within the merge time of one: in its manifest */
	uint64_t muted;	    /* suppressed by `frbpf mute` */
	uint64_t busy;	    /* no incident was free: only counted */
	uint64_t capped;    /* max-dumps was reached, its own or that of all: only counted */
	uint64_t last;	    /* ns: time of the last trigger */
	struct dump_limiter dumps;
	uint64_t cap_told; /* ns: until when max-dumps lets nothing begin, as the log has it */
};

struct active_set {
	atomic_int refs;
	struct active_set *next_given; /* the reaper's */
	struct ruleset *rules;	       /* owned */
	struct dumper **dumpers;       /* one per session of the ruleset; references */
	size_t n_dumpers;
	uint32_t *slots;		/* of the rules, see detectors__update() */
	struct rule_counters *counters; /* one per rule */
	/* per rule: ns until which its triggers are only counted; guarded by the recorder's lock */
	uint64_t *muted_until;
	size_t *kept; /* per rule: its index in the active set before; SIZE_MAX: it is new */
	uint64_t sideband_memory; /* bytes: of its rings */
	uint64_t memory,
		max_memory; /* bytes: of its sessions; what all may have, but the side band */
};

struct active_set_env {
	const struct dump_env *dump;
	dumper_done_fn done;
	void *done_arg;
	/* Lets go what was replaced before and is on its way out, for its memory; may be NULL. */
	void (*reap)(void *arg);
	void *reap_arg;
	const struct record_target *target; /* of every session; NULL: all tasks */
	struct proxies *proxies;	    /* of the sessions' processes; NULL: they have none */
	struct ring_fit *fit; /* has successors of sessions whose rings were resized; may be NULL */
};

/* Open and start one session; the event list of @plan is taken over. */
int active_set__start_session(const struct session_conf *conf, struct session_plan *plan,
			      const struct active_set_env *env, struct err *err,
			      struct dumper **ret);

/* Open and start what @plan says, sharing with @old (may be NULL) what did not change. -EBUSY: not
 * enough of max-memory while sessions from before are still needed. @rs is taken
 * over on success only; the event lists of @plan are taken over. */
int active_set__make(struct ruleset *rs, struct plan *plan, struct active_set *old,
		     const struct active_set_env *env, struct err *err, struct active_set **ret);

/* A rule that stays keeps its counts: add those of @old, the active set that @g was made beside.
 * Once, when @old gets no more triggers; under the recorder's lock. */
void active_set__take_counters(struct active_set *g, const struct active_set *old);

/* Rings of the side band for CPUs that came leave less of max-memory to sessions. */
void active_set__set_sideband_memory(struct active_set *g, uint64_t bytes);

/* Make directories of @base again that were removed, those of @g's sessions and that of the manifests.
 * Each that was is a warning in @d, and in the log. */
void active_set__renew_dirs(const struct active_set *g, const struct base_dir *base,
			    struct diags *d);

/* The session called @name; -ENOENT. */
int active_set__find_session(const struct active_set *g, const char *name);
/* Mask over all sessions. */
uint64_t active_set__all_sessions(const struct active_set *g);
/* Mask over the sessions that @rule dumps. */
uint64_t active_set__rule_sessions(const struct rule_conf *rule);

struct active_set *active_set__ref(struct active_set *g);
void active_set__unref(struct active_set *g);
/* Give up one reference unless it is the last: then false, and it is still the caller's. */
bool active_set__unref_unless_last(struct active_set *g);

#endif
