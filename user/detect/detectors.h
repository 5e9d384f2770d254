/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One handle for all BPF programs of the daemon: it takes rules and returns triggers. Life: open
 * (creates the shared maps), update (whenever rules change), poll the fd and consume, free.
 *
 * Every source is one BPF object (bpf/SOURCE.bpf.c), used by one file, SOURCE.c. That file is in
 * this directory, or in tracepoint/, probe/ or app/ next to its helpers. inject/ serves events that
 * user space sees; engine/ is shared by all sources and their rules.
 *
 * The sources share maps, such as the trigger queue and rule states. One thread may update while
 * another consumes. The process that calls update is never a subject of rules, so a daemon that
 * forks must do so before.
 */
#ifndef FRBPF_DETECT_DETECTORS_H
#define FRBPF_DETECT_DETECTORS_H

#include <sys/types.h>

#include "common/err.h"
#include "detect/app/app_socket.h"
#include "abi.h"
#include "detect/engine/learners.h"
#include "detect/past.h"
#include "rules/ruleset.h"

struct detectors;

/* Create the shared maps; no program is loaded yet. 0 or negative errno with a message in @err. */
int detectors__open(struct err *err, struct detectors **ret);

/*
 * Set the path of the socket for messages of applications. Call it before the first update;
 * without it no message is received. @dir_fd: see app_socket__set_path().
 */
void detectors__set_app_path(struct detectors *d, const char *path, int dir_fd);
/* Also listen at the well-known @path, unless another recorder does. */
void detectors__set_app_common(struct detectors *d, const char *path);

/*
 * Confine the rules to some tasks: others are no subjects, and are not counted. Call
 * detectors__confine_to_tasks() or detectors__confine_to_cgroup(), not both, before the first
 * update. Confined to tasks, the scope is empty until detectors__include() adds a process with its
 * threads. What they fork later is included, even after it is reparented. Confined to a cgroup, the
 * scope is that of @id (see cgroup__id()) and those below it.
 */
int detectors__confine_to_tasks(struct detectors *d, struct err *err);
int detectors__include(struct detectors *d, pid_t pid, struct err *err);
void detectors__confine_to_cgroup(struct detectors *d, uint64_t id);

/*
 * Put @rules in force. First, new sources are loaded and attached. Then the inactive bank of each
 * source is written, and its banks are flipped. Last, sources without a rule are detached. A rule
 * whose id was in force keeps its slot and its state (counters, cooldown); others get a clean slot.
 * ret_slots[i] is the slot of rule i. On failure the old rules stay in force; @err has the source,
 * the message of the kernel and the remedy.
 */
int detectors__update(struct detectors *d, const struct rule_conf *rules, size_t n_rules,
		      uint32_t *ret_slots, struct err *err);

/* A descriptor that is readable while triggers wait; owned by @d. */
int detectors__fd(const struct detectors *d);

/*
 * Call @fn for at most @max of the waiting triggers. Records of a wrong size or tag are dropped and
 * counted. Returns the number of calls, or negative errno. @t is valid during the call only.
 * Allocates nothing.
 */
int detectors__consume(struct detectors *d, int max,
		       void (*fn)(const struct frbpf_trigger *t, void *arg), void *arg);

/*
 * Call @fn with what each program of @source attaches to: a kind ("tp_btf", "iter") and a target
 * ("sched_switch"). Needs no privilege, loads nothing. 0; -ENOENT: no BPF object detects this
 * source; or negative errno of reading the object.
 */
int detectors__programs(enum frbpf_source source,
			void (*fn)(const char *kind, const char *target, void *arg), void *arg);

/*
 * Check that the events of @when exist on this machine, without loading anything. 0, or negative
 * errno with a message in @err; -EACCES: it takes more privilege to know.
 */
int detectors__check(const struct when *when, struct err *err);

/* Copy the state of the rule of @slot. 0 or negative errno. */
int detectors__rule_state(const struct detectors *d, uint32_t slot, struct frbpf_rule_state *ret);

/* Get what was suppressed since the rule of @slot last fired. 0 or negative errno. */
int detectors__rule_suppressed(const struct detectors *d, uint32_t slot,
			       struct frbpf_suppressed *ret);

/*
 * Suppress the triggers of @slot until @until, ns; 0: do not suppress them. FRBPF_SUPPRESS_ALL as
 * @slot: those of all rules. A rule that comes into force is not suppressed. Only writes memory.
 */
void detectors__suppress(struct detectors *d, uint32_t slot, uint64_t until);

/* Note that the writing of dumps begins (@on), or that all are complete. For any thread. */
void detectors__note_writing(struct detectors *d, bool on);

/*
 * Set the helper processes of the daemon, which are never subjects of rules. At most
 * FRBPF_MAX_HELPERS; further ones are ignored. For any thread; only writes memory.
 */
void detectors__own_helpers(struct detectors *d, const pid_t *pids, size_t n);

/*
 * Tell the programs that dumps are written below the directory @fd, which is borrowed. What kernel
 * threads write to other disks, or to files elsewhere, is then not taken for a dump.
 */
void detectors__own_base(struct detectors *d, int fd);

/*
 * Delete expired cooldowns and counts of processes, cgroups and so on. Works at most once a second,
 * so it may be called at each wake-up. This and the next two are for the thread that updates.
 */
void detectors__tidy(struct detectors *d);
/* A descriptor that is readable when there are many entries: call detectors__step_keys() then. */
int detectors__keys_fd(const struct detectors *d);
/*
 * Delete expired entries of rules with many entries. Returns the time, ns, after which to call it
 * again even if the descriptor stays silent, or UINT64_MAX.
 */
uint64_t detectors__step_keys(struct detectors *d);

/*
 * Set cooldowns from before this process, for rules that come into force from now on. @past is
 * borrowed. Those without room are left out.
 */
void detectors__remember(struct detectors *d, const struct past *past);
/*
 * Call @fn with every cooldown of a process, thread, ... that has not expired. For the thread that
 * updates.
 */
void detectors__each_cooling(const struct detectors *d,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg);
/*
 * Get what the rule of @slot has learnt: see learners.h. False: its threshold is fixed. This and
 * the next two are for any thread.
 */
bool detectors__learnt(const struct detectors *d, uint32_t slot, struct learnt *ret);
/* Call @fn with what the rules have learnt, to save it for the next process. 0 or -ENOMEM. */
int detectors__each_learnt(const struct detectors *d,
			   void (*fn)(const struct past_learnt *p, void *arg), void *arg);
/* The number of limits written so far: while it is unchanged, there is nothing new to save. */
uint64_t detectors__limits_learnt(const struct detectors *d);
/*
 * Have detectors__consume() call @fn with the stacks that follow a trigger. Call this before the
 * first trigger. @s is valid during the call only.
 */
void detectors__on_stacks(struct detectors *d, void (*fn)(const struct frbpf_stacks *s, void *arg),
			  void *arg);

/*
 * The same for the ends of pending events that fired a rule (FRBPF_TRIGGER_FOLLOWED). An end is not
 * reported if the rule is no longer in force by then.
 */
void detectors__on_ended(struct detectors *d, void (*fn)(const struct frbpf_ended *e, void *arg),
			 void *arg);

struct detectors_stats {
	uint64_t malformed;    /* records of the trigger queue of a wrong size or tag */
	uint64_t unmeasured;   /* events for which there was no room, and tasks that are missing
				     in the scope */
	uint64_t not_seen;     /* values dropped because an event of their wait was not seen */
	uint64_t texts_unread; /* strings of programs that could not be read: str() */
	uint64_t looks_failed; /* looks at pending events that the kernel refused */
};
void detectors__stats(const struct detectors *d, struct detectors_stats *ret);
/*
 * Get `not_seen` of the source in force that has the events of @when; 0: there is no such source.
 * For the thread that updates.
 */
uint64_t detectors__not_seen(const struct detectors *d, const struct when *when);

/* Get the counters of the application socket. For the thread that updates. */
void detectors__app_stats(const struct detectors *d, struct app_stats *ret);

void detectors__free(struct detectors *d);

#endif
