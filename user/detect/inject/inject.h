/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the sources whose events user space sees: one BPF object with the rule engine and nothing
 * else (bpf/inject.bpf.c). Life: load (from the source's ops->load), any number of events, free
 * (from its ops->free). Events may come from any thread.
 */
#ifndef FRBPF_DETECT_INJECT_H
#define FRBPF_DETECT_INJECT_H

#include <sys/types.h>

#include "detect/engine/source.h"

struct inject;

/* For source_ops.elf. */
const void *inject__elf(size_t *ret_size);

/* Open, prepare, load and bind to @s. @ret is set on failure, too, and is for inject__free() then.
 * 0 or negative errno. */
int inject__load(struct source *s, const struct source_env *env, struct inject **ret);

/* Does a rule in force look at this field, or inject__is_outside()? So that what is costly to learn
 * can be left out. */
bool inject__wants(const struct inject *i, enum frbpf_field field);

/* Are rules confined to some tasks (detectors__confine_to_tasks(), ..._to_cgroup()), and is process
 * @pid, the subject of @e as proc_subject__fill() left it, none of them? */
bool inject__is_outside(const struct inject *i, pid_t pid, const struct frbpf_event *e);

/* The bank of the rules in force. A source that fills in arguments of rules takes those of this
 * bank (struct rule_table.args, as its ops->write got them) and sets e->bank to 1 + it. */
uint32_t inject__bank(const struct inject *i);

/* Have the rules in force look at @e. Its source is that of the object if it is 0. Returns 0 when
 * they did, whatever came of it; -EAGAIN: other rules than those of e->bank are in force now; or
 * another negative errno. */
int inject__event(struct inject *i, const struct frbpf_event *e);

void inject__free(struct inject *i);

#endif
