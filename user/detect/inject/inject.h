/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For sources whose events user space sees: a BPF object with only the rule engine
 * (bpf/inject.bpf.c). Life: load (in ops->load of the source), any number of events, free (in its
 * ops->free). Events may come from any thread.
 */
#ifndef FRBPF_DETECT_INJECT_H
#define FRBPF_DETECT_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

#include "detect/engine/source.h"
#include "abi.h"

struct inject;

/* For source_ops.elf. */
const void *inject__elf(size_t *ret_size);

/*
 * Open, prepare, load and bind to @s. Sets *ret on failure, too; the caller frees it in both cases.
 * 0 or negative errno.
 */
int inject__load(struct source *s, const struct source_env *env, struct inject **ret);

/*
 * Does a rule in force, or inject__is_outside(), look at @field? If not, sources need not find out
 * its value, which may be costly.
 */
bool inject__wants(const struct inject *i, enum frbpf_field field);

/*
 * Is process @pid outside the scope of the rules (detectors__confine_to_tasks(), ..._to_cgroup())?
 * It is the subject of @e, as filled in by proc_subject__fill(). False: in scope, or no scope set.
 */
bool inject__is_outside(const struct inject *i, pid_t pid, const struct frbpf_event *e);

/*
 * The bank of the rules in force. A source that fills in arguments uses those of this bank (struct
 * rule_table.args, which its ops->write received). It sets e->bank to 1 + the bank.
 */
uint32_t inject__bank(const struct inject *i);

/*
 * Evaluate the rules in force for @e. If its source is 0, that of the object is used. Returns 0 if
 * they were evaluated, match or not; -EAGAIN: rules other than those of e->bank are in force; or
 * another negative errno.
 */
int inject__event(struct inject *i, const struct frbpf_event *e);

void inject__free(struct inject *i);

/* ---- the tasks of an event, by their numbers, from /proc ---- */

enum event_task { EVENT_SUBJECT, EVENT_CURRENT }; /* index of struct frbpf_event.val */

/*
 * Describe thread @tid of our pid namespace in @e: names, pid, tid, ppid, uid, prio and, with
 * @cgroups, the ids of its cgroup (v2) and of those above. For the subject also its times of birth,
 * which distinguish reused numbers, and whether it is one of our processes. 0, or -ESRCH if the
 * thread has ended. Then @e gets @tid as its tid, and as its pid if that was 0; for the subject,
 * also in `thread` and `process`. The rest stays unchanged, so callers may set what they know
 * before.
 */
int proc_subject__fill(struct frbpf_event *e, enum event_task who, pid_t tid, bool cgroups);

/* Get the CPU that thread @tid last ran on, or -ESRCH. */
int proc_subject__cpu(pid_t tid);

/* Copy the subject to `current`: the subject is the task that ran. */
void proc_subject__set_current(struct frbpf_event *e);

#endif
