// SPDX-License-Identifier: GPL-2.0-only

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "rules.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EAGAIN 11

/* Written by the daemon before each run. */
struct frbpf_event event;

_Static_assert(sizeof(event.val) == sizeof(((struct match *)0)->val), "fields");
_Static_assert(sizeof(event.cgroup) == sizeof(((struct match *)0)->cgroup), "cgroups");

static __always_inline void match_fill(struct match *m, __u64 now)
{
	__builtin_memset(&m->now, 0, sizeof(*m) - offsetof(struct match, now));
	match_no_tasks(m);
	/* The time of the event may be from another CPU or clock, and so be in the future. */
	m->now = (__s64)(now - event.time) < 0 ? now : event.time;
	m->value = event.value;
	m->ret = event.ret;
	m->key = event.key;
	m->error = event.error;
	m->source = event.source;
	m->cpu = event.cpu;
	m->self = event.self;
	__builtin_memcpy(m->val, event.val, sizeof(m->val));
	__builtin_memcpy(m->cgroup, event.cgroup, sizeof(m->cgroup));
	m->process[0] = event.process[0];
	m->process[1] = event.process[1];
	m->thread[0] = event.thread[0];
	m->thread[1] = event.thread[1];
	m->own_cgroup = event.own_cgroup;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_VALUE][0] = event.value;
	m->val[MATCH_SUBJECT][FRBPF_FIELD_CPU][0] = event.cpu;
	m->val[MATCH_CURRENT][FRBPF_FIELD_CPU][0] = event.cpu;
}

/* EAGAIN: the rules have changed since the event was filled in. */
SEC("raw_tp")
int inject(void *ctx)
{
	__u32 zero = 0, bank = rules_bank();
	struct match *m = bpf_map_lookup_elem(&match_room, &zero);

	if (!m || event.key >= FRBPF_KEY_MAX)
		return 0;
	if (event.bank && event.bank != 1 + bank)
		return EAGAIN;
	/* an event without a subject is about the machine, or about a cgroup that its rule names */
	if (!event.in_scope && event.thread[0] && !number_in_scope(event.thread[0]))
		return 0;
	match_fill(m, bpf_ktime_get_ns());
	m->bank = bank;
	if (m->source == FRBPF_SOURCE_PSI && !event.theirs)
		m->self |= is_dump_written(m->now);
	rules_run(m);
	return 0;
}
