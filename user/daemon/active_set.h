/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules and sessions that are in force together. A reload makes a new active set beside the old
 * one. Sessions whose name and run line did not change are shared: they keep their rings and
 * history. An incident references the active set that it began in.
 */
#ifndef FRBPF_DAEMON_ACTIVE_SET_H
#define FRBPF_DAEMON_ACTIVE_SET_H

#include "daemon/dumper.h"
#include "daemon/plan.h"
#include "rules/rate.h"

/* Counts what user space did with a rule's triggers. Guarded by the recorder's lock. */
struct rule_counters {
	uint64_t incidents; /* triggers that began an incident */
	uint64_t joined;    /* became one more marker of an incident that was not frozen yet */
	uint64_t merged;    /* came within the merge time of an incident, and are in its manifest */
	uint64_t muted;	    /* suppressed by `frbpf mute` */
	uint64_t busy;	    /* only counted, as no incident was free */
	uint64_t capped;    /* only counted, as max-dumps of the rule or of all rules was reached */
	uint64_t last;	    /* ns: time of the last trigger */
	struct dump_limiter dumps;
	uint64_t cap_logged; /* ns: end of the max-dumps limit that was logged last */
};

struct active_set {
	atomic_int refs;
	struct active_set *next_given; /* used by the reaper */
	struct ruleset *rules;	       /* owned */
	struct dumper **dumpers;       /* one per session of the ruleset; references */
	size_t n_dumpers;
	uint32_t *slots;		/* one per rule, see detectors__update() */
	struct rule_counters *counters; /* one per rule */
	/* per rule: ns until which its triggers are only counted; guarded by the recorder's lock */
	uint64_t *muted_until;
	size_t *kept; /* per rule: its index in the previous active set; SIZE_MAX: it is new */
	uint64_t sideband_memory; /* bytes: rings of the side band */
	/*
	 * bytes. memory: rings and copies of its sessions; max_memory: the limit for these, without
	 * the side band
	 */
	uint64_t memory, max_memory;
};

struct active_set_env {
	const struct dump_env *dump;
	dumper_done_fn done;
	void *done_arg;
	/* Waits until replaced active sets are freed, for their memory; may be NULL. */
	void (*reap)(void *arg);
	void *reap_arg;
	const struct record_target *target; /* for every session; NULL: all tasks */
	struct proxies *proxies; /* starts the sessions' processes; NULL: sessions have none */
	struct ring_fit *fit;	 /* successors of sessions whose rings are resized; may be NULL */
};

/*
 * Open and start one session. Takes over the event list of @plan. @ret gets one reference. 0 or
 * negative errno with a message in @err.
 */
int active_set__start_session(const struct session_conf *conf, struct session_plan *plan,
			      const struct active_set_env *env, struct err *err,
			      struct dumper **ret);

/*
 * Make an active set from @plan. Sessions of @old (may be NULL) that did not change are shared, or
 * replaced by their successor in env->fit. Others are opened and started. Takes over @rs on success
 * only, the event lists of @plan always. 0, or negative errno with a message in @err. -EBUSY:
 * max-memory is too small while older sessions are still needed.
 */
int active_set__make(struct ruleset *rs, struct plan *plan, struct active_set *old,
		     const struct active_set_env *env, struct err *err, struct active_set **ret);

/*
 * Add the counters of @old, which @g replaces, for rules that stay. Call it once, when @old gets no
 * more triggers, under the recorder's lock.
 */
void active_set__take_counters(struct active_set *g, const struct active_set *old);

/*
 * Set the bytes of the side band's rings. More CPUs mean more bytes, and so less of max-memory for
 * sessions.
 */
void active_set__set_sideband_memory(struct active_set *g, uint64_t bytes);

/*
 * Restore directories that were removed from @base: those of @g's sessions, and that of the
 * manifests. Each one is reported as a warning in @d and in the log.
 */
void active_set__renew_dirs(const struct active_set *g, const struct base_dir *base,
			    struct diags *d);

/* Index of the session called @name, or -ENOENT. */
int active_set__find_session(const struct active_set *g, const char *name);
/* Mask of all sessions that make dumps. */
uint64_t active_set__all_sessions(const struct active_set *g);
/* Mask of the sessions that @rule dumps. */
uint64_t active_set__rule_sessions(const struct rule_conf *rule);

struct active_set *active_set__ref(struct active_set *g);
void active_set__unref(struct active_set *g);
/* Drop a reference unless it is the last one. False: it is the last, and still the caller's. */
bool active_set__unref_unless_last(struct active_set *g);

#endif
