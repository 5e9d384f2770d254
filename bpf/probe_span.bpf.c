// SPDX-License-Identifier: GPL-2.0-only
/*
 * probe_span: the time from one place in a program to another, functions or static probes. Start
 * and end are matched by keys: the thread, the process, or arguments. The subject is the task that
 * reaches the end. A further start of the same key replaces the first.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "user_args.bpf.h"
#include "due.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Number of spans under way for which `spans` has room; beyond it, the oldest are evicted. */
const volatile __u64 max_spans = 1; /* set before load, with `spans` */

struct span_key {
	__u64 v[FRBPF_SPAN_KEYS];
};

struct begun {
	__u64 begin;
	__u64 tid; /* this and `born`: of the thread that reached the start */
	__u64 born;
	__u64 seen; /* ns: when the last look saw it */
	__u64 args[FRBPF_MAX_ARGS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, struct span_key);
	__type(value, struct begun);
} spans SEC(".maps");

/* Entries added to `spans` and not deleted. Includes evicted entries that were not noticed. */
__s64 n_spans;

/* Unused keys are zero. */
const volatile struct frbpf_probe_key start_keys[FRBPF_SPAN_KEYS];
const volatile struct frbpf_probe_key end_keys[FRBPF_SPAN_KEYS];
__u8 values[2][FRBPF_MAX_ARGS]; /* by bank and slot: FRBPF_PROBE_* */

static __always_inline void read_place_args(struct pt_regs *ctx,
					    const struct frbpf_usdt_place *place, __u64 *args)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < FRBPF_MAX_ARGS; i++)
		args[i] = place_arg_any(ctx, place, i);
}

static __always_inline __u64 key_word(const volatile struct frbpf_probe_key *key, const __u64 *args)
{
	struct task_struct *task = bpf_get_current_task_btf();

	switch (key->kind) {
	case FRBPF_EXTRACT_TID:
		return task_key(task->pid, task->start_boottime, key->with_birth);
	case FRBPF_EXTRACT_PID:
		return task_key(task->tgid, task->group_leader->start_boottime, key->with_birth);
	case FRBPF_EXTRACT_NUMBER:
		return args[FRBPF_PROBE_ARG(key->arg)];
	}
	return 0;
}

static __always_inline struct span_key span_key(const volatile struct frbpf_probe_key *keys,
						const __u64 *args)
{
	struct span_key key;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < FRBPF_SPAN_KEYS; i++)
		key.v[i] = key_word(&keys[i], args);
	return key;
}

/* Identifies a span among those that began at the same time. */
static __always_inline __u64 probe_span_id(const struct span_key *key)
{
	__u64 id = key->v[0];

#pragma clang loop unroll(full)
	for (__u32 i = 1; i < FRBPF_SPAN_KEYS; i++)
		id = id * 0x9e3779b97f4a7c15ULL + key->v[i];
	return id;
}

/* Set the values that rules look at. @end: arguments at the end; NULL: the span has not ended. */
static __always_inline void set_values(struct match *m, const __u64 *start, const __u64 *end)
{
	__u32 bank = m->bank & 1;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < FRBPF_MAX_ARGS; i++) {
		__u32 value = values[bank][i], arg = FRBPF_PROBE_ARG(value);
		__u64 v = 0;

		if (value & FRBPF_PROBE_START)
			v = start[arg];
		else if (end && value & FRBPF_PROBE_VALUE)
			v = end[arg];
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = v;
	}
}

/*
 * Count an added entry, and an eviction if there was one. The map does not report evictions, and an
 * end without a start is normal. But if more entries were added than the map can hold, it has
 * evicted one. Above FRBPF_MAX_IN_FLIGHT, the map may evict entries before it is full, because CPUs
 * hold free ones. Such evictions are not counted: they look like spans that are under way.
 */
static __always_inline void count_evicted(void)
{
	if (__sync_fetch_and_add(&n_spans, 1) < (__s64)max_spans)
		return;
	__sync_fetch_and_add(&n_spans, -1);
	__sync_fetch_and_add(&unmeasured, 1);
}

/* 0 or negative errno */
static __always_inline long note_start(const struct span_key *key, const struct begun *begun)
{
	long err = bpf_map_update_elem(&spans, key, begun, BPF_NOEXIST);

	if (!err)
		count_evicted();
	return err == -EEXIST ? bpf_map_update_elem(&spans, key, begun, BPF_ANY) : err;
}

/* 0, or negative errno: another CPU has deleted the entry, or it was evicted. */
static __always_inline long forget_start(const struct span_key *key)
{
	long err = bpf_map_delete_elem(&spans, key);

	if (!err)
		__sync_fetch_and_add(&n_spans, -1);
	return err;
}

SEC("uprobe")
int ps_start(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct frbpf_usdt_place *place;
	struct begun begun;
	struct span_key key;

	if (!control.bank[rules_bank()].n_rules)
		return 0;
	place = place_of(ctx);
	if (!place)
		return 0;
	read_place_args(ctx, place, begun.args);
	key = span_key(start_keys, begun.args);
	begun.tid = (__u32)task->pid;
	begun.born = task->start_boottime;
	begun.seen = 0;
	begun.begin = bpf_ktime_get_ns();
	if (!note_start(&key, &begun))
		return 0;
	__sync_fetch_and_add(&unmeasured, 1);
	forget_start(&key); /* the end must not find an earlier start */
	return 0;
}

/* NULL: too short for every rule, not in scope, or all struct match are in use. */
static __always_inline struct match *begin_match(const struct begun *begun, __u64 now,
						 const __u64 *end)
{
	struct measured s = { .now = now, .value = now - begun->begin, .bank = rules_bank() };
	struct match *m;

	if ((__s64)s.value <= 0 || rules_below(s.bank, s.value))
		return NULL;
	m = user_match_begin(&s);
	if (m)
		set_values(m, begun->args, end);
	return m;
}

/* The start is not copied: before 6.12 the stack of all functions together has 512 bytes. */
SEC("uprobe")
int ps_end(struct pt_regs *ctx)
{
	const struct frbpf_usdt_place *place = place_of(ctx);
	__u64 now = bpf_ktime_get_ns(), begin;
	__u64 args[FRBPF_MAX_ARGS];
	struct span_key key;
	struct begun *begun;
	struct match *m;

	if (!place)
		return 0;
	read_place_args(ctx, place, args);
	key = span_key(end_keys, args);
	begun = bpf_map_lookup_elem(&spans, &key);
	if (!begun)
		return 0;
	begin = *(volatile __u64 *)&begun->begin;
	m = begin_match(begun, now, args);
	/* another thread has ended this span meanwhile, or begun it anew */
	if (*(volatile __u64 *)&begun->begin != begin || forget_start(&key)) {
		if (m)
			user_match_end(m);
		return 0;
	}
	if (!m)
		return 0;
	m->id = probe_span_id(&key);
	m->source = FRBPF_SOURCE_PROBE_SPAN;
	user_match_run(m);
	return 0;
}

/* ---- spans that have not ended: see due.bpf.h ---- */

static long begun_look(void *map, const struct span_key *key, const struct begun *begun,
		       void *unused)
{
	struct due_task of = {};
	struct due due = {};

	due.begin = begun->begin;
	due.seen = begun->seen;
	if (!look_reaches(due.begin))
		return 0;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < FRBPF_SPAN_KEYS; i++)
		due.key[i] = key->v[i];
	of.tid = begun->tid;
	of.born = begun->born;
	due_add(&of, &due);
	return 0;
}

LOOK_OVER(ps_look, spans, begun_look)

static void due_match(const struct due *due, struct match *m, __u64 sp)
{
	struct span_key key;
	struct begun *begun;

	__builtin_memcpy(&key, due->key, sizeof(key));
	begun = bpf_map_lookup_elem(&spans, &key);
	if (!begun || begun->begin != due->begin)
		return;
	due_begin(m, due);
	m->source = FRBPF_SOURCE_PROBE_SPAN;
	m->id = probe_span_id(&key);
	set_values(m, begun->args, NULL);
	due_run(m, due, &begun->seen);
}
