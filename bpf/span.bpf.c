// SPDX-License-Identifier: GPL-2.0-only
/*
 * span: the time from one tracepoint to another. Start and end are matched by keys, values that
 * both have. The subject is the task that runs at the end.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "hit.bpf.h"
#include "due.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct flight_data {
	__u32 flips;	  /* control.bank_flips when args were extracted */
	__u32 tid;	  /* this and `born`: of the task that ran at the last start */
	__u64 born;
	union {
		struct hit_value args[FRBPF_MAX_ARGS]; /* of the last start */
		__u64 begin[FRBPF_SPAN_DEPTH];	       /* of each start, if spans may be nested */
	};
};

#include "in_flight.bpf.h"

/* By bank: the values that conditions need from the start and from the end. */
struct frbpf_extracts start_extracts[2];
struct frbpf_extracts end_extracts[2];
__u32 start_slots[2]; /* by bank: bitmap of the slots with values of the start */

const volatile __u32 n_end_args; /* n_args is that of the start */
const volatile bool nested;
/* Also set at load, but not const: a global function accepts no pointer to constants. */
struct frbpf_extract start_keys[FRBPF_SPAN_KEYS];
struct frbpf_extract end_keys[FRBPF_SPAN_KEYS];

/* Set at load: at both ends this key is the number of the current task, so its birth is added. */
const volatile bool births[FRBPF_SPAN_KEYS];

static __always_inline __u64 key_value(const struct frbpf_extract *x, const struct hit_args *args,
				       bool birth)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hit_value v = {};

	switch (x->kind) {
	case FRBPF_EXTRACT_TID:
		return task_key(task->pid, task->start_boottime, birth);
	case FRBPF_EXTRACT_PID:
		return task_key(task->tgid, task->group_leader->start_boottime, birth);
	case FRBPF_EXTRACT_CPU:
		return bpf_get_smp_processor_id();
	}
	arg_extract(x, args, &v);
	return v.word[0];
}

static __always_inline void key_take(struct flight_key *key, const struct frbpf_extract *xs,
				     const struct hit_args *args)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < FRBPF_SPAN_KEYS; i++)
		key->v[i] = i < n_keys ? key_value(&xs[i], args, births[i]) : 0;
}

static __always_inline void save_args(struct flight_data *data, const struct hit_args *args)
{
	__u32 flips = *(volatile __u32 *)&control.bank_flips, bank = flips & 1, i;

	data->flips = flips;
	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (i >= start_extracts[bank].n)
			break;
		if (start_slots[bank] >> i & 1)
			arg_extract(&start_extracts[bank].slot[i], args, &data->args[i]);
	}
}

/* The time of the start at @depth. */
static __always_inline __u64 *span_begun_at(struct flight *f, __u32 depth)
{
	/* the compiler may know that `depth` is in bounds, the verifier of 6.1 does not */
	barrier_var(depth);
	return &f->data.begin[depth % FRBPF_SPAN_DEPTH];
}

static __always_inline void span_begun_by(struct flight_data *data)
{
	struct task_struct *task = bpf_get_current_task_btf();

	data->tid = task->pid;
	data->born = task->start_boottime;
}

static __always_inline __u64 span_id(const struct flight *f, __u32 depth)
{
	return f->tag + depth;
}

/*
 * A further start of a key replaces the first; if spans are nested, it adds one. Starts that are
 * too old are dropped.
 */
static __always_inline void begin_span(const struct hit_args *args)
{
	__u64 now = bpf_ktime_get_ns();
	struct flight_key key;
	struct flight *f;
	__u32 depth = 0;

	key_take(&key, start_keys, args);
	f = flight_begin(&key, now);
	if (!f)
		return;
	if (nested) {
		depth = flight_is_old(f, now) ? 0 : f->depth;
		if (depth < FRBPF_SPAN_DEPTH)
			*span_begun_at(f, depth) = now;
	} else {
		save_args(&f->data, args);
	}
	span_begun_by(&f->data);
	flight_begun(f, now, depth + 1);
}

SEC("raw_tp")
int span_start(__u64 *ctx)
{
	struct hit *hit;

	if (!control.bank[rules_bank()].n_rules)
		return 0;
	hit = hit_begin();
	if (!hit)
		return 0;
	hit_take(&hit->args, ctx, n_args);
	begin_span(&hit->args);
	hit_end(hit);
	return 0;
}

/* Copy values of the start to @m. False: they were extracted for other rules. */
static __always_inline bool load_args(struct match *m, const struct flight_data *data, __u32 bank)
{
	__u32 i;

	if (!start_slots[bank])
		return true;
	if (data->flips != *(volatile __u32 *)&control.bank_flips)
		return false;
	for (i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (!(start_slots[bank] >> i & 1))
			continue;
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = data->args[i].word[0];
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][1] = data->args[i].word[1];
	}
	return true;
}

/* The length of the span, ns; -1: the start is too old, or nested too deeply. */
static __always_inline __s64 span_value(struct flight *f, __u64 now)
{
	__u32 depth = f->depth - 1;

	if (flight_is_old(f, now))
		return -1;
	if (!nested)
		return now - f->last;
	return depth < FRBPF_SPAN_DEPTH ? (__s64)(now - *span_begun_at(f, depth)) : -1;
}

static __always_inline void check_span(struct hit *hit)
{
	__u32 bank = rules_bank(), depth;
	struct match *m = NULL;
	struct flight_key key;
	bool loaded = false;
	struct flight *f;
	__s64 value;
	__u64 now;

	key_take(&key, end_keys, &hit->args);
	f = flight_end(&key);
	if (!f)
		return;
	now = bpf_ktime_get_ns();
	value = span_value(f, now);
	if (value >= 0 && !rules_below(bank, value)) {
		m = match_new(&(struct measured){ .now = now, .value = value, .bank = bank });
		loaded = m && load_args(m, &f->data, bank);
		if (m)
			m->id = span_id(f, nested ? f->depth - 1 : 0);
	}
	depth = nested && !flight_is_old(f, now) ? f->depth - 1 : 0;
	flight_ended(f, &key, depth);
	if (!loaded)
		return;
	hit_extract(&end_extracts[bank], &hit->args, m);
	hit_run(m, hit, FRBPF_SOURCE_SPAN);
}

SEC("raw_tp")
int span_end(__u64 *ctx)
{
	struct hit *hit;

	if (!control.bank[rules_bank()].n_rules)
		return 0;
	hit = hit_begin();
	if (!hit)
		return 0;
	hit_take(&hit->args, ctx, n_end_args);
	check_span(hit);
	hit_end(hit);
	return 0;
}

/* ---- spans that have not ended: see due.bpf.h ---- */

static __always_inline void span_add_due(const struct flight *f, struct due *due, __u32 depth)
{
	struct due_task of = { f->data.tid, f->data.born };

	due->depth = depth;
	due->begin = nested ? f->data.begin[depth] : f->last;
	due->seen = f->seen;
	if (look_reaches(due->begin))
		due_add(&of, due);
}

static long span_flight_look(void *map, const struct flight_key *key, const struct flight *f,
			     void *unused)
{
	struct due due = {};

	if (!f->depth || flight_is_old(f, look.now))
		return 0;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < FRBPF_SPAN_KEYS; i++) {
		if (i < n_keys)
			due.key[i] = key->v[i];
	}
	if (!nested) {
		span_add_due(f, &due, 0);
		return 0;
	}
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < FRBPF_SPAN_DEPTH; i++) {
		if (i < f->depth)
			span_add_due(f, &due, i);
	}
	return 0;
}

LOOK_OVER(span_look, flights, span_flight_look)

static void due_match(const struct due *due, struct match *m, __u64 sp)
{
	struct flight_key key;
	struct flight *f;
	__u32 depth = due->depth;

	__builtin_memcpy(&key, due->key, sizeof(key));
	f = bpf_map_lookup_elem(&flights, &key);
	if (!f || *(volatile __u32 *)&f->depth <= depth || f->tag != flight_tag(&key))
		return;
	due_begin(m, due);
	m->source = FRBPF_SOURCE_SPAN;
	m->id = span_id(f, depth);
	if (!load_args(m, &f->data, look.bank & 1))
		return;
	if ((nested ? *span_begun_at(f, depth) : *(volatile __u64 *)&f->last) == due->begin)
		due_run(m, due, &f->seen);
}
