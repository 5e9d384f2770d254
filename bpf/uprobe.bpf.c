// SPDX-License-Identifier: GPL-2.0-only
/*
 * uprobe: a function of a program is called, or a call of it took long. The subject is the caller,
 * which is also `current`.
 *
 * A call is identified by its process and the stack pointer at its entry, which has the same value
 * at its end. Neither the thread nor the order of calls can identify it. A program that switches
 * stacks (swapcontext(), fibers, coroutines) may end a call in another thread, and meanwhile begin
 * and end calls on other stacks. If another call begins with the same stack pointer, the first was
 * abandoned, by longjmp() or an exception. An end without a beginning is not measured: the call
 * began before we did, or was evicted from the table.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MATCH_READS_TEXTS
#include "user_probe.bpf.h"
#include "due.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define N_ARGS 6

struct call_key {
	__u64 frame;
	__u64 tgid; /* this and `born`: of the process */
	__u64 born;
};

struct call {
	__u64 begin;
	__u64 tid; /* this and `born`: of the thread that called */
	__u64 born;
	__u64 seen; /* ns: when the last look saw it */
	__u64 args[N_ARGS];
};

/* Active and abandoned calls; when there are too many, the oldest are evicted. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, struct call_key);
	__type(value, struct call);
} calls SEC(".maps");

static __always_inline void read_call_args(struct pt_regs *ctx, __u64 *args)
{
	args[0] = PT_REGS_PARM1(ctx);
	args[1] = PT_REGS_PARM2(ctx);
	args[2] = PT_REGS_PARM3(ctx);
	args[3] = PT_REGS_PARM4(ctx);
	args[4] = PT_REGS_PARM5(ctx);
#if defined(__TARGET_ARCH_x86)
	args[5] = ctx->r9;
#else
	args[5] = ((const struct user_pt_regs *)ctx)->regs[5];
#endif
}

/* Offsets in struct pt_regs of user space, which is ABI (asm/ptrace.h). */
#if defined(__TARGET_ARCH_x86)
#define ARG_AT(word_x86_, i_) ((word_x86_)*8)
#else
#define ARG_AT(word_x86_, i_) ((i_)*8)
#endif

static __always_inline __u64 entry_arg(struct pt_regs *ctx, __u32 i)
{
	switch (i) {
	case 0:
		return REGS_WORD(ctx, ARG_AT(14, 0));
	case 1:
		return REGS_WORD(ctx, ARG_AT(13, 1));
	case 2:
		return REGS_WORD(ctx, ARG_AT(12, 2));
	case 3:
		return REGS_WORD(ctx, ARG_AT(11, 3));
	case 4:
		return REGS_WORD(ctx, ARG_AT(9, 4));
	}
	return REGS_WORD(ctx, ARG_AT(8, 5));
}

SEC("uprobe")
int up_hit(struct pt_regs *ctx)
{
	__u32 bank = rules_bank(), arg = prefilter_arg(bank);
	struct measured s = { .bank = bank };
	__u64 args[N_ARGS];
	struct match *m;

	if (arg < N_ARGS && !prefilter_takes_arg(bank, entry_arg(ctx, arg)))
		return 0;
	m = user_match_begin_hit(&s);
	if (!m)
		return 0;
	m->source = FRBPF_SOURCE_UPROBE;
	read_call_args(ctx, args);
	for (int i = 0; i < N_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = args[i];
	user_match_run(m);
	return 0;
}

/* Has any call begun? Ends are attached first, and are not counted as `not_seen` until then. */
__u32 begun;

static __always_inline struct call_key call_key(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (struct call_key){ PT_REGS_SP(ctx), (__u32)task->tgid,
				  task->group_leader->start_boottime };
}

static __always_inline __u64 call_id(const struct call_key *key)
{
	return key->frame ^ key->tgid << 47; /* addresses of programs are below that */
}

SEC("uprobe")
int up_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_key key = call_key(ctx);
	struct call call;

	if (bpf_map_lookup_elem(&calls, &key)) /* abandoned */
		__sync_fetch_and_add(&unmeasured, 1);
	if (!begun)
		begun = 1;
	read_call_args(ctx, call.args);
	call.tid = (__u32)task->pid;
	call.born = task->start_boottime;
	call.seen = 0;
	call.begin = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(&calls, &key, &call, BPF_ANY))
		return 0;
	__sync_fetch_and_add(&unmeasured, 1);
	bpf_map_delete_elem(&calls, &key); /* its end must not find an earlier call */
	return 0;
}

/* Runs at a return instruction. */
SEC("uprobe")
int up_exit(struct pt_regs *ctx)
{
	struct call_key key = call_key(ctx);
	__u64 now = bpf_ktime_get_ns(), value;
	__u32 bank = rules_bank();
	struct call *found = bpf_map_lookup_elem(&calls, &key), call;
	struct measured s;
	struct match *m;

	if (!found) {
		if (begun)
			__sync_fetch_and_add(&not_seen, 1);
		return 0;
	}
	call = *found;
	bpf_map_delete_elem(&calls, &key);
	value = now - call.begin;
	if ((__s64)value <= 0 || rules_below(bank, value))
		return 0;
	s = (struct measured){ .now = now, .value = value, .bank = bank };
	m = user_match_begin(&s);
	if (!m)
		return 0;
	m->id = call_id(&key);
	m->ret = PT_REGS_RC(ctx);
	m->val[MATCH_SUBJECT][FRBPF_FIELD_RET][0] = m->ret;
	m->source = FRBPF_SOURCE_UPROBE;
	for (int i = 0; i < N_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = call.args[i];
	user_match_run(m);
	return 0;
}

/* ---- calls that have not ended: see due.bpf.h ---- */

static long call_look(void *map, const struct call_key *key, const struct call *call, void *unused)
{
	struct due_task of = {};
	struct due due = {};

	due.begin = call->begin;
	due.seen = call->seen;
	if (!look_reaches(due.begin))
		return 0;
	due.key[0] = key->frame;
	due.key[1] = key->tgid;
	due.key[2] = key->born;
	of.tid = call->tid;
	of.born = call->born;
	due_add(&of, &due);
	return 0;
}

LOOK_OVER(up_look, calls, call_look)

#define STACK_MAX (64ULL << 20) /* bytes; a frame farther away is on another stack */

/*
 * Is the thread still in the call? Not if it was left by longjmp() or an exception: then its stack,
 * which grows down, no longer has the frame.
 */
static __always_inline bool call_lasts(__u64 frame, __u64 sp)
{
	return sp <= frame && frame - sp < STACK_MAX;
}

static void due_match(const struct due *due, struct match *m, __u64 sp)
{
	struct call_key key = { due->key[0], due->key[1], due->key[2] };
	struct call *call = bpf_map_lookup_elem(&calls, &key);

	if (!call || call->begin != due->begin || !call_lasts(key.frame, sp))
		return;
	due_begin(m, due);
	m->source = FRBPF_SOURCE_UPROBE;
	m->id = call_id(&key);
	for (int i = 0; i < N_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = call->args[i];
	due_run(m, due, &call->seen);
}
