// SPDX-License-Identifier: GPL-2.0-only
/*
 * uprobe: a function of a program is called, or a call of it took long. The subject is the caller,
 * which is also `current`.
 *
 * A call is known by its task and by where its frame begins: the stack pointer at its entry, which
 * is there again at its end. Stacks grow down, so calls within a call have lower frames. Those still
 * open below the frame that is entered or left were abandoned: by longjmp or an exception.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "user_probe.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_CALLS 16 /* of one function, one within the other, in one task */
#define N_ARGS	  6

struct call {
	__u64 frame;
	__u64 begin;
	__u64 args[N_ARGS];
};

struct calls {
	struct call v[MAX_CALLS]; /* the outermost first */
	__u32 n;
};

/* Created when a task first calls the function. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct calls);
} calls SEC(".maps");

static __always_inline void read_args(struct pt_regs *ctx, __u64 *args)
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

/* Where in the registers as user space has them, which is ABI (asm/ptrace.h). */
#if defined(__TARGET_ARCH_x86)
#define ARG_AT(word_x86_, i_) ((word_x86_)*8)
#else
#define ARG_AT(word_x86_, i_) ((i_)*8)
#endif

static __always_inline __u64 read_arg(struct pt_regs *ctx, __u32 i)
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
	__u32 half = rules_half(), arg = gate_arg(half);
	struct probe_args args;

	if (arg < N_ARGS && !gate_takes_arg(half, read_arg(ctx, arg)))
		return 0;
	if (!gate_takes_current(half) || !current_in_scope() || settle_passed(half))
		return 0;
	args = (struct probe_args){ .settle.half = half };
	read_args(ctx, args.v);
	if (hit_settles(&args))
		run_hit(&args, FRBPF_SOURCE_UPROBE);
	return 0;
}

/* Forget the calls whose frames are below @frame: an exception or longjmp() left them, or they ended in another
 * function. Returns how many are left. */
__noinline int calls_above(struct calls *calls, __u64 frame)
{
	__u32 n, i;

	if (!calls)
		return 0;
	n = calls->n;
	for (i = 0; i < MAX_CALLS; i++) {
		if (!n || n > MAX_CALLS || calls->v[(n - 1) % MAX_CALLS].frame >= frame)
			break;
		n--;
	}
	if (n < calls->n)
		__sync_fetch_and_add(&missing_storage, calls->n - n);
	calls->n = n;
	return n;
}

SEC("uprobe")
int up_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 frame = PT_REGS_SP(ctx);
	struct calls *c;
	struct call *call;
	__u32 n;

	c = bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c) {
		__sync_fetch_and_add(&missing_storage, 1);
		return 0;
	}
	/* one with the same frame is over, too */
	n = calls_above(c, frame + 1);
	if (n >= MAX_CALLS) {
		__sync_fetch_and_add(&missing_storage, 1);
		return 0;
	}
	call = &c->v[n];
	call->frame = frame;
	read_args(ctx, call->args);
	c->n = n + 1;
	call->begin = bpf_ktime_get_ns();
	return 0;
}

/* At a return instruction. */
SEC("uprobe")
int up_exit(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns(), frame = PT_REGS_SP(ctx), value;
	__u32 half = rules_half(), n;
	struct settle s;
	struct calls *c;
	struct match *m;

	c = bpf_task_storage_get(&calls, task, 0, 0);
	if (!c)
		return 0;
	n = calls_above(c, frame) - 1;
	if (n >= MAX_CALLS || c->v[n].frame != frame)
		return 0;
	c->n = n;
	value = now - c->v[n].begin;
	if ((__s64)value <= 0 || rules_below(half, value))
		return 0;
	s = (struct settle){ .now = now, .value = value, .half = half };
	m = user_match_begin(&s);
	if (!m)
		return 0;
	m->ret = PT_REGS_RC(ctx);
	m->val[MATCH_SUBJECT][FRBPF_FIELD_RET][0] = m->ret;
	m->source = FRBPF_SOURCE_UPROBE;
	for (int i = 0; i < N_ARGS; i++)
		m->val[MATCH_SUBJECT][FRBPF_FIELD_ARG + i][0] = c->v[n].args[i];
	rules_run_for(m, task);
	return 0;
}
