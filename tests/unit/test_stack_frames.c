// SPDX-License-Identifier: GPL-2.0-only
/* Stacks of triggers: frames of frbpf itself, names from a slice, the stack of a switch-out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "dump/incident/stack_frames.h"
#include "dump/window/switch_stacks.h"
#include "perfdata/record.h"

#define BPF(name_)                                                                                 \
	{                                                                                          \
		name_, true                                                                        \
	}
#define KERNEL(name_)                                                                              \
	{                                                                                          \
		name_, false                                                                       \
	}

static void test_own_frames(void **state)
{
	static const struct {
		struct own_frame v[10];
		size_t n, own;
	} cases[] = {
		{ { BPF("bpf_prog_1_sc_exit"), BPF("bpf_prog_2_rule_run"), KERNEL("bpf_trace_run2"),
		    KERNEL("__traceiter_sys_exit"), KERNEL("syscall_exit_work"),
		    KERNEL("do_syscall_64") },
		  6,
		  4 },
		/* frames of the helper itself */
		{ { KERNEL("get_perf_callchain"), KERNEL("bpf_get_stack"),
		    BPF("bpf_prog_1_sc_exit"), KERNEL("bpf_trace_run2"),
		    KERNEL("__bpf_trace_sys_exit"), KERNEL("syscall_exit_work") },
		  6,
		  5 },
		{ { BPF("bpf_prog_1_up_hit"), KERNEL("uprobe_prog_run.isra.0"),
		    KERNEL("__uprobe_perf_func"), KERNEL("uprobe_dispatcher"),
		    KERNEL("handler_chain"), KERNEL("uprobe_notify_resume"),
		    KERNEL("irqentry_exit_to_user_mode") },
		  7,
		  6 },
		/* the task did not run: it sleeps in another program, which is worth showing */
		{ { KERNEL("__schedule"), KERNEL("schedule"), BPF("bpf_prog_3_lsm"),
		    KERNEL("bpf_trampoline_4") },
		  4,
		  0 },
		/* an outer program is not ours */
		{ { BPF("bpf_prog_1_sc_exit"), KERNEL("bpf_trace_run2"), KERNEL("kfree"),
		    BPF("bpf_prog_3_other"), KERNEL("bpf_trace_run1") },
		  5,
		  2 },
		/* without names: the program is known from the loaded programs */
		{ { BPF(NULL), KERNEL(NULL), KERNEL(NULL) }, 3, 1 },
		{ { KERNEL(NULL), KERNEL(NULL) }, 2, 0 },
		{ { BPF("bpf_prog_1") }, 1, 1 },
		{ { { 0 } }, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (own_frames__count(cases[i].v, cases[i].n) != cases[i].own)
			fail_msg("case %zu: %zu, not %zu", i,
				 own_frames__count(cases[i].v, cases[i].n), cases[i].own);
}

/* ---- names from a slice ---- */

#define PID   4711
#define START 0x500000

static void add_mmap(struct buf *b, uint64_t time, uint64_t start, uint64_t pgoff, const char *name)
{
	const struct record_trailer t = { .pid = PID, .tid = PID, .time = time };
	struct record_mmap2 head = { .pid = PID, .tid = PID, .start = start, .len = 0x1000 };

	head.pgoff = pgoff;
	head.header.misc = PERF_RECORD_MISC_USER;
	assert_int_equal(record__add_mmap2(b, &head, name, &t), 0);
}

static struct incident *make_incident(uint64_t time)
{
	struct incident *inc = calloc(1, sizeof(*inc));

	assert_non_null(inc);
	pthread_mutex_init(&inc->name_lock, NULL);
	inc->triggers[0].t = (struct frbpf_trigger){
		.time = time,
		.cpu = 1,
		.subject = { .pid = PID, .tid = PID + 1 },
		.current = { .pid = 1, .tid = 1 },
	};
	inc->n_triggers = inc->n_stacks = 1;
	inc->stacks[0].raw.time = time;
	inc->stacks[0].raw.cpu = 1;
	return inc;
}

static void free_incident(struct incident *inc)
{
	stack_frames__free(&inc->stacks[0]);
	pthread_mutex_destroy(&inc->name_lock);
	free(inc);
}

/*
 * Uses the maps at the trigger, not later ones. A file without a build id to compare keeps its
 * offset and gets no symbol.
 */
static void test_user_names(void **state)
{
	struct incident *inc = make_incident(100);
	struct incident_stacks *s = &inc->stacks[0];
	struct sideband_slice slice = { .n_records = 2 };

	add_mmap(&slice.records, 50, START, 0x3000, "/nowhere/program");
	add_mmap(&slice.records, 150, START, 0, "/nowhere/other");
	s->raw.n_user = 3;
	s->raw.user[0] = START + 0x10;
	s->raw.user[1] = START + 0x1000; /* a return address: its call is the last instruction of
					  * the map */
	s->raw.user[2] = 0x900000;
	assert_int_equal(stack_frames__locate_user(inc, &slice), 0);
	assert_string_equal(s->user[0].module, "/nowhere/program");
	assert_int_equal(s->user[0].offset, 0x3010);
	assert_null(s->user[0].symbol);
	assert_string_equal(s->user[1].module, "/nowhere/program");
	assert_int_equal(s->user[1].offset, 0x4000);
	assert_null(s->user[2].module);
	assert_null(inc->names); /* nothing to look up */
	/* the second call finds nothing to do */
	assert_int_equal(stack_frames__locate_user(inc, &slice), 0);
	buf__free(&slice.records);
	free_incident(inc);
}

/* The frame of our own program is dropped from the raw stack and from the names. */
static void test_kernel_names(void **state)
{
	const struct record_trailer t = { .time = 10 };
	struct incident *inc = make_incident(100);
	struct incident_stacks *s = &inc->stacks[0];
	struct sideband_slice slice = { .n_records = 1 };

	assert_int_equal(record__add_ksymbol(&slice.records, 0xffffffffc0000000, 0x1000, 1, 0,
					     "bpf_prog_1_sc_exit", &t),
			 0);
	s->raw.n_kernel = 3;
	s->raw.kernel[0] = 0xffffffffc0000010;
	s->raw.kernel[1] = 0xffffffffc0000123;
	s->raw.kernel[2] = 0xffffffff00000000; /* no map is known there */
	assert_int_equal(stack_frames__name_kernel(inc, &slice), 0);
	assert_int_equal(s->raw.n_kernel, 1);
	assert_int_equal(s->raw.kernel[0], 0xffffffff00000000);
	assert_int_equal(s->kernel[0].address, 0xffffffff00000000);
	assert_null(s->kernel[0].module);
	/* the frame is dropped only once */
	assert_int_equal(stack_frames__name_kernel(inc, &slice), 0);
	assert_int_equal(s->raw.n_kernel, 1);
	buf__free(&slice.records);
	free_incident(inc);
}

/* ---- the last switch-out ---- */

#define SWITCH_ID 77
#define OTHER_ID  78

static struct tracepoint switch_tp = { .system = "sched", .name = "sched_switch" };

static void add_sample(struct buf *b, uint64_t id, uint32_t tid, uint64_t time, uint64_t user_ip)
{
	const uint64_t ips[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000,
				 (uint64_t)PERF_CONTEXT_USER, user_ip, user_ip + 1 };
	const struct record_sample s = { .id = id,
					 .pid = PID,
					 .tid = tid,
					 .time = time,
					 .fields = PERF_SAMPLE_CALLCHAIN,
					 .ips = ips,
					 .n_ips = ARRAY_SIZE(ips),
					 .raw = "",
					 .raw_size = 1 };

	assert_int_equal(record__add_sample(b, &s), 0);
}

static void note_all(struct switch_stacks *s, const struct buf *b)
{
	for (size_t off = 0; off < b->len;) {
		const struct perf_event_header *h = (const void *)(b->data + off);

		switch_stacks__note(s, h);
		off += h->size;
	}
}

static void test_last_switch(void **state)
{
	const uint64_t type =
		RECORD_SAMPLE_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	struct event events[2] = { { .attr.sample_type = type, .tp = &switch_tp },
				   { .attr.sample_type = type, .attr.type = PERF_TYPE_HARDWARE } };
	struct event_list list = { .v = events, .n = 2 };
	uint64_t ids[] = { SWITCH_ID, OTHER_ID };
	struct session session = {
		.events = &list, .n_cpus = 1, .n_id_cpus = 1, .n_targets = 1, .ids = ids
	};
	struct incident *inc = make_incident(100);
	struct frbpf_stacks *raw = &inc->stacks[0].raw;
	struct switch_stacks s;
	struct page_set pages;
	struct buf b = { 0 };

	add_sample(&b, SWITCH_ID, PID + 1, 60, 0x6000);
	add_sample(&b, SWITCH_ID, PID + 1, 40, 0x4000);	 /* of another CPU's ring, and older */
	add_sample(&b, SWITCH_ID, PID + 1, 101, 0x7000); /* after the trigger */
	add_sample(&b, SWITCH_ID, PID, 90, 0x8000);	 /* another thread */
	add_sample(&b, OTHER_ID, PID + 1, 95, 0x9000);	 /* no switch */
	assert_int_equal(page_set__init(&pages, &session), 0);
	assert_int_equal(switch_stacks__init(&s, inc, &session), 0);
	note_all(&s, &b);
	switch_stacks__take(&s, &pages, inc);
	assert_int_equal(raw->n_user, 2);
	assert_int_equal(raw->user[0], 0x6000);
	assert_true(inc->stacks[0].user_of_switch);
	/* a stack that is there stays */
	raw->user[0] = 1;
	switch_stacks__take(&s, &pages, inc);
	assert_int_equal(raw->user[0], 1);
	switch_stacks__free(&s);

	/* a subject that ran has a stack of its own */
	raw->n_user = 0;
	inc->triggers[0].t.current = inc->triggers[0].t.subject;
	assert_int_equal(switch_stacks__init(&s, inc, &session), 0);
	note_all(&s, &b);
	switch_stacks__take(&s, &pages, inc);
	assert_int_equal(raw->n_user, 0);
	switch_stacks__free(&s);
	page_set__free(&pages);
	buf__free(&b);
	free_incident(inc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_frames),
		cmocka_unit_test(test_user_names),
		cmocka_unit_test(test_kernel_names),
		cmocka_unit_test(test_last_switch),
	};

	return cmocka_run_group_tests_name("stack_frames", tests, NULL, NULL);
}
