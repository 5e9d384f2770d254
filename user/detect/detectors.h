/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All BPF programs of the daemon behind one handle: it takes rules and gives triggers. Life: open
 * (the shared maps), update (as often as rules change), poll the fd and consume, free.
 *
 * Every source is one BPF object (bpf/SOURCE.bpf.c), touched by one file, SOURCE.c: here, or in
 * tracepoint/, probe/ and app/ beside what it reads and resolves. Below them are inject/, for events
 * that user space sees, and engine/, what all sources and their rules share.
 *
 * The sources share two maps: the trigger ring and the rule states. One thread updates; another one
 * may consume meanwhile. The process that loads a source is never a subject, so update after the
 * daemon's last fork.
 */
#ifndef FRBPF_DETECT_DETECTORS_H
#define FRBPF_DETECT_DETECTORS_H

#include <sys/types.h>

#include "common/err.h"
#include "detect/app/app_socket.h"
#include "frbpf.h"
#include "detect/engine/learners.h"
#include "detect/past.h"
#include "rules/ruleset.h"

struct detectors;

int detectors__open(struct err *err, struct detectors **ret);

/* Where applications send their messages, before the first update; without it none are seen. @dir_fd: see
 * app_socket__set_path(). */
void detectors__set_app_path(struct detectors *d, const char *path, int dir_fd);
/* And the place that all know, if no other recorder has it. */
void detectors__set_app_common(struct detectors *d, const char *path);

/*
 * The rules are about these only, others are no subjects and not counted. At most one of them, and
 * before the first update. Tasks: nobody until detectors__include() adds a process with its
 * threads; what they fork from then on is in, whoever its parent is later. Cgroup: the one of this
 * id (see cgroup__id()) and those below it.
 */
int detectors__confine_to_tasks(struct detectors *d, struct err *err);
int detectors__include(struct detectors *d, pid_t pid, struct err *err);
void detectors__confine_to_cgroup(struct detectors *d, uint64_t id);

/*
 * Make @rules the rules in force. Sources that are new are loaded and attached first; then every
 * source's inactive bank is written and its generation flipped; then sources without a rule are
 * detached. A rule whose id was in force keeps its slot and its state (counters, cooldown); others
 * get a clean slot. ret_slots[i] is rule i's. On failure (words in @err: the source, what the
 * kernel said, the remedy) the old rules stay in force.
 */
int detectors__update(struct detectors *d, const struct rule_conf *rules, size_t n_rules,
		      uint32_t *ret_slots, struct err *err);

/* Readable when triggers wait (epoll). */
int detectors__fd(const struct detectors *d);

/* Hand at most @max of the waiting triggers to @fn; records of a wrong size or tag are dropped and
 * counted. Returns how many were handed over, or negative errno. @t is valid during the call only.
 * Allocates nothing. */
int detectors__consume(struct detectors *d, int max,
		       void (*fn)(const struct frbpf_trigger *t, void *arg), void *arg);

/* Call @fn with what each program of @source attaches to: a kind ("tp_btf", "iter") and a target
 * ("sched_switch"). Needs no privilege, nothing is loaded. 0, -ENOENT: nothing detects it, or the
 * errno of reading the object. */
int detectors__programs(enum frbpf_source source,
			void (*fn)(const char *kind, const char *target, void *arg), void *arg);

/* Can what @when speaks of be found on this machine? Nothing is loaded. 0, or negative errno with words
 * in @err; -EACCES: more privilege could tell. */
int detectors__check(const struct when *when, struct err *err);

int detectors__rule_state(const struct detectors *d, uint32_t slot, struct frbpf_rule_state *ret);

/* What was suppressed since the rule of @slot fired last. 0 or negative errno. */
int detectors__rule_suppressed(const struct detectors *d, uint32_t slot,
			       struct frbpf_suppressed *ret);

/* Suppress the triggers of @slot, or of all with FRBPF_SUPPRESS_ALL, until then, ns; 0: not. A rule
 * that comes into force is not suppressed. Writes memory, nothing else. */
void detectors__suppress(struct detectors *d, uint32_t slot, uint64_t until);

/* These processes are ours, too, and no subject of any rule. For any thread; writes memory, nothing else. */
void detectors__own_helpers(struct detectors *d, const pid_t *pids, size_t n);

/* Dumps are written to the file system of @fd: requests of kernel threads to other disks are never ours. */
void detectors__own_disk(struct detectors *d, int fd);

/* Make room: forget cooldowns and counts of processes, cgroups and so on whose time is over. At
 * most once a second, so it may be called whenever there is something else to do. This and the next
 * two only for the thread that updates. */
void detectors__tidy(struct detectors *d);
/* Readable when there are so many of these that it is time to: see the next. */
int detectors__keys_fd(const struct detectors *d);
/* Does so where it is due. Returns ns until it is to be called again even if the fd stays silent, or
 * UINT64_MAX. */
uint64_t detectors__step_keys(struct detectors *d);

/* Cooldowns of the time before, for rules that come into force from now on; @past is borrowed. Those
 * for which there is no room are left out. */
void detectors__remember(struct detectors *d, const struct past *past);
/* Call @fn with every cooldown of a process, thread, ... that is not over. Only for the thread that
 * updates. */
void detectors__each_cooling(const struct detectors *d,
			     void (*fn)(const struct past_cooling *c, void *arg), void *arg);
/* What the rule of @slot has learnt, see learners.h; false: its threshold is fixed. For any thread, as the next two. */
bool detectors__learnt(const struct detectors *d, uint32_t slot, struct learnt *ret);
/* Call @fn with what is to be kept for the next process. 0 or -ENOMEM. */
int detectors__each_learnt(const struct detectors *d,
			   void (*fn)(const struct past_learnt *p, void *arg), void *arg);
/* How often anything new was learnt. */
uint64_t detectors__limits_learnt(const struct detectors *d);
/* Have @fn called, by detectors__consume(), with the stacks that stand behind a trigger; before the
 * first of these. @s is valid during the call only. */
void detectors__on_stacks(struct detectors *d, void (*fn)(const struct frbpf_stacks *s, void *arg),
			  void *arg);

struct detectors_stats {
	uint64_t malformed;	  /* records of the trigger ring that were not triggers */
	uint64_t missing_storage; /* tasks seen without task storage: their wait was not measured;
				     or they are not in the scope, where they should be */
	uint64_t not_seen; /* values not believed, since the kernel hid an event of their wait */
	uint64_t looks_failed; /* at what is pending, that the kernel refused */
};
void detectors__stats(const struct detectors *d, struct detectors_stats *ret);
/* The latter of the source in force that has the events of @when; 0: none has them. Only for the
 * thread that updates. */
uint64_t detectors__not_seen(const struct detectors *d, const struct when *when);

/* Only for the thread that updates. */
void detectors__app_stats(const struct detectors *d, struct app_stats *ret);

void detectors__free(struct detectors *d);

#endif
