// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes frbpf:interrupt into the rings of a session when a long interrupt or softirq ends. Short
 * ones are added up, and written as one event if they took much of the time: their own tracepoints
 * would fill the rings.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"
#include "fed_records.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define LEAST_NS  10000	  /* a shorter interrupt explains nothing by itself */
#define SUM_NS	  1000000 /* short ones are added up for at least this long */
#define SUM_SHARE 20	  /* an event is written if short ones took 1 / SUM_SHARE of the time */

#define LINES	FRBPF_SOFTIRQ_VECS /* index of the sum of all interrupts, after those of softirqs */
#define N_SUMS	16		   /* a power of 2: the verifier understands a mask */
#define NO_TIME 0

_Static_assert(LINES < N_SUMS, "room for all sums");

/* Sum of short interrupts or softirqs, since the first of them began */
struct sum {
	__u64 since, ns;
	__u64 name; /* address of the handler's name; 0: softirqs, or several names */
	__u32 times, number;
};

/*
 * Softirqs and interrupts use separate fields: an interrupt may end within a program for softirqs.
 */
struct of_cpu {
	__u64 begun[2]; /* begin of the running softirq and interrupt; NO_TIME: none */
	struct sum sums[N_SUMS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct of_cpu);
} cpus SEC(".maps");

/* @name: the address of the handler's name; 0: a softirq, or several names */
static __always_inline void interrupt_write(void *ctx, bool soft, __u32 number, __u64 name,
					    __u64 ns, __u32 times)
{
	struct frbpf_interrupt i = { .ns = ns, .number = number, .soft = soft, .times = times };

	if (name)
		bpf_probe_read_kernel_str(i.name, sizeof(i.name), (void *)name);
	record_write(ctx, &i, sizeof(i));
}

static __always_inline void sum_add(void *ctx, struct sum *s, bool soft, __u32 number, __u64 name,
				    __u64 begun, __u64 now)
{
	__u64 all;

	if (s->since == NO_TIME) {
		s->since = begun;
		s->ns = s->times = 0;
		s->number = number;
		s->name = name;
	}
	if (s->number != number)
		s->number = FRBPF_INTERRUPT_SEVERAL;
	if (s->name != name)
		s->name = 0;
	s->ns += now - begun;
	s->times++;
	all = now - s->since;
	if ((__s64)all < SUM_NS)
		return;
	s->since = NO_TIME;
	if (s->ns >= all / SUM_SHARE)
		interrupt_write(ctx, soft, s->number, s->name, s->ns, s->times);
}

static __always_inline int interrupt_begin(bool soft)
{
	__u32 zero = 0;
	struct of_cpu *c = bpf_map_lookup_elem(&cpus, &zero);

	if (c)
		c->begun[!soft] = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int interrupt_end(void *ctx, bool soft, __u32 number, __u64 name)
{
	__u32 zero = 0, sum = soft ? number : LINES;
	struct of_cpu *c = bpf_map_lookup_elem(&cpus, &zero);
	__u64 now, begun;

	if (!c || sum > LINES)
		return 0;
	barrier_var(sum); /* otherwise the compiler removes the mask below */
	begun = c->begun[!soft];
	c->begun[!soft] = NO_TIME;
	now = bpf_ktime_get_ns();
	if (begun == NO_TIME || (__s64)(now - begun) < 0)
		return 0;
	if (now - begun >= LEAST_NS)
		interrupt_write(ctx, soft, number, name, now - begun, 1);
	else
		sum_add(ctx, &c->sums[sum & (N_SUMS - 1)], soft, number, name, begun, now);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(in_irq_begin, int irq, struct irqaction *action)
{
	return interrupt_begin(false);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(in_irq_end, int irq, struct irqaction *action, int ret)
{
	return interrupt_end(ctx, false, irq, (__u64)action->name);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(in_softirq_begin, unsigned int vec)
{
	return interrupt_begin(true);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(in_softirq_end, unsigned int vec)
{
	return interrupt_end(ctx, true, vec, 0);
}
