// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "record/call_graph.h"
#include "record/event_attr.h"
#include "record/event_list.h"

/* By bit number, which is also the order of perf's evlist. */
static const char *const sample_types[] = {
	"IP",
	"TID",
	"TIME",
	"ADDR",
	"READ",
	"CALLCHAIN",
	"ID",
	"CPU",
	"PERIOD",
	"STREAM_ID",
	"RAW",
	"BRANCH_STACK",
	"REGS_USER",
	"STACK_USER",
	"WEIGHT",
	"DATA_SRC",
	"IDENTIFIER",
	"TRANSACTION",
	"REGS_INTR",
	"PHYS_ADDR",
	"AUX",
	"CGROUP",
	"DATA_PAGE_SIZE",
	"CODE_PAGE_SIZE",
	"WEIGHT_STRUCT",
};
static const char *const read_formats[] = { "TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID",
					    "GROUP", "LOST" };
static const char *const branch_types[] = {
	"USER",	    "KERNEL",	"HV",	    "ANY",	 "ANY_CALL",  "ANY_RETURN",
	"IND_CALL", "ABORT_TX", "IN_TX",    "NO_TX",	 "COND",      "CALL_STACK",
	"IND_JUMP", "CALL",	"NO_FLAGS", "NO_CYCLES", "TYPE_SAVE",
};
/* Flags, in the order of the bit field that begins with disabled; precise_ip has two bits. */
#define PRECISE_IP 15
static const char *const flags[] = {
	"disabled",
	"inherit",
	"pinned",
	"exclusive",
	"exclude_user",
	"exclude_kernel",
	"exclude_hv",
	"exclude_idle",
	"mmap",
	"comm",
	"freq",
	"inherit_stat",
	"enable_on_exec",
	"task",
	"watermark",
	"precise_ip",
	NULL,
	"mmap_data",
	"sample_id_all",
	"exclude_host",
	"exclude_guest",
	"exclude_callchain_kernel",
	"exclude_callchain_user",
	"mmap2",
	"comm_exec",
	"use_clockid",
	"context_switch",
	"write_backward",
	"namespaces",
	"ksymbol",
	"bpf_event",
	"aux_output",
	"cgroup",
	"text_poke",
	"build_id",
	"inherit_thread",
	"remove_on_exec",
	"sigtrap",
};

static int add_attr_number(struct buf *b, const char *name, uint64_t value, bool hex)
{
	if (!value)
		return 0;
	return buf__printf(b, hex ? "%s%s: %#llx" : "%s%s: %llu", b->len ? ", " : "", name,
			   (unsigned long long)value);
}

static int add_bits(struct buf *b, const char *title, uint64_t value, const char *const *names,
		    size_t n)
{
	const char *before = "";
	int err = value ? buf__printf(b, "%s%s: ", b->len ? ", " : "", title) : 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (!(value & 1ULL << i))
			continue;
		err = buf__printf(b, "%s%s", before, names[i]);
		before = "|";
	}
	return err;
}

static int add_flags(struct buf *b, const struct perf_event_attr *attr)
{
	uint64_t bits;
	int err = 0;

	memcpy(&bits, (const char *)attr + offsetof(struct perf_event_attr, read_format) + 8,
	       sizeof(bits));
	for (size_t i = 0; i < ARRAY_SIZE(flags) && !err; i++) {
		if (flags[i])
			err = add_attr_number(b, flags[i], bits >> i & (i == PRECISE_IP ? 3 : 1),
					      false);
	}
	return err;
}

int attr_text__format(const struct perf_event_attr *attr, struct buf *ret)
{
	struct buf b = { 0 };
	int err = add_attr_number(&b, "type", attr->type, false);

	err = err ?: add_attr_number(&b, "size", attr->size, false);
	err = err ?: add_attr_number(&b, "config", attr->config, true);
	err = err
		      ?: add_attr_number(&b, "{ sample_period, sample_freq }", attr->sample_period,
					 false);
	err = err
		      ?: add_bits(&b, "sample_type", attr->sample_type, sample_types,
				  ARRAY_SIZE(sample_types));
	err = err
		      ?: add_bits(&b, "read_format", attr->read_format, read_formats,
				  ARRAY_SIZE(read_formats));
	err = err ?: add_flags(&b, attr);
	err = err
		      ?: add_attr_number(&b, "{ wakeup_events, wakeup_watermark }",
					 attr->wakeup_events, false);
	err = err ?: add_attr_number(&b, "bp_type", attr->bp_type, false);
	err = err ?: add_attr_number(&b, "{ bp_addr, config1 }", attr->config1, true);
	err = err ?: add_attr_number(&b, "{ bp_len, config2 }", attr->config2, true);
	err = err
		      ?: add_bits(&b, "branch_sample_type", attr->branch_sample_type, branch_types,
				  ARRAY_SIZE(branch_types));
	err = err ?: add_attr_number(&b, "sample_regs_user", attr->sample_regs_user, true);
	err = err ?: add_attr_number(&b, "sample_stack_user", attr->sample_stack_user, false);
	err = err ?: add_attr_number(&b, "clockid", attr->clockid, false);
	err = err ?: add_attr_number(&b, "sample_regs_intr", attr->sample_regs_intr, true);
	err = err ?: add_attr_number(&b, "sample_max_stack", attr->sample_max_stack, false);
	err = err ?: buf__add(ret, b.data ?: "", b.len);
	buf__free(&b);
	return err;
}

#define READ_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

#define LBR_CALL_STACK                                                                             \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_CYCLES |  \
	 PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX)

static bool is_dummy(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
}

/*
 * Is it the event of the function tracer? It records no user stack: reading one may cause a page
 * fault, which would trace functions again.
 */
static bool is_function_tracer(const struct event_spec *spec)
{
	return spec->system && !strcmp(spec->system, "ftrace") && !strcmp(spec->event, "function");
}

/*
 * Set the period or frequency: a term overrides the option, and the option overrides "every hit".
 */
static void set_sampling(const struct event_spec *spec, const struct sampling *s, bool every_hit,
			 struct perf_event_attr *a)
{
	if (every_hit && a->type != PERF_TYPE_BREAKPOINT)
		a->sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_PERIOD;
	if (every_hit && !s->given) {
		a->sample_period = 1;
	} else if (s->freq) {
		a->freq = 1;
		a->sample_freq = s->freq;
	} else {
		a->sample_period = s->period;
	}
	if (spec->freq) {
		a->freq = 1;
		a->sample_freq = spec->freq;
	} else if (spec->period) {
		a->freq = 0;
		a->sample_period = spec->period;
		a->sample_type &= ~(__u64)PERF_SAMPLE_PERIOD; /* the period is known */
	}
	if (a->freq)
		a->sample_type |= PERF_SAMPLE_PERIOD;
	if (s->opts->no_samples)
		a->sample_freq = 0;
}

static void set_attr_address(struct perf_event_attr *a)
{
	a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
}

/* As evsel__config_callchain() in tools/perf/util/evsel.c. */
static void add_callchain(const struct event_spec *spec, const struct record_opts *o,
			  enum call_graph mode, uint32_t stack_bytes, struct perf_event_attr *a)
{
	a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (o->kernel_callchains)
		a->exclude_callchain_user = 1;
	if (o->user_callchains)
		a->exclude_callchain_kernel = 1;
	if (mode == CALL_GRAPH_LBR && !o->branch_types && !a->exclude_user) {
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = LBR_CALL_STACK;
	}
	if (mode != CALL_GRAPH_DWARF)
		return;
	set_attr_address(a);
	if (!is_function_tracer(spec)) {
		a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a->sample_regs_user |= o->user_regs ? REGISTERS_MINIMAL : REGISTERS_ALL;
		a->sample_stack_user = stack_bytes;
	}
	a->exclude_callchain_user = 1;
}

/* Remove the callchain that the line asks for, as far as perf's evsel__reset_callgraph() does. */
static void reset_callchain(const struct record_opts *o, struct perf_event_attr *a)
{
	a->sample_type &= ~(__u64)PERF_SAMPLE_CALLCHAIN;
	if (o->call_graph == CALL_GRAPH_LBR && !o->branch_types) {
		a->sample_type &= ~(__u64)PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type &=
			~(__u64)(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				 PERF_SAMPLE_BRANCH_HW_INDEX);
	}
	if (o->call_graph == CALL_GRAPH_DWARF)
		a->sample_type &= ~(__u64)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
}

static void set_callchain(const struct event_spec *spec, const struct sampling *s,
			  struct perf_event_attr *a)
{
	bool own = spec->callchain == CALLCHAIN_OWN || spec->max_stack;
	const struct record_opts *o = s->opts;

	if (o->call_graph != CALL_GRAPH_NONE) {
		a->sample_max_stack = s->max_stack;
		add_callchain(spec, o, o->call_graph, o->stack_bytes, a);
	}
	if (own || spec->callchain == CALLCHAIN_NO)
		reset_callchain(o, a);
	if (own)
		a->sample_max_stack = spec->max_stack;
	if (own && spec->callchain != CALLCHAIN_NO)
		add_callchain(spec, o,
			      spec->callchain == CALLCHAIN_OWN ? spec->call_graph : CALL_GRAPH_FP,
			      spec->stack_bytes ?: CALL_GRAPH_STACK_DEFAULT, a);
}

/* Add to samples the fields that options of the line ask for. */
static void set_sample_fields(const struct event_spec *spec, const struct record_opts *o,
			      struct perf_event_attr *a)
{
	const struct {
		bool given;
		uint64_t bit;
	} fields[] = {
		{ o->phys_data, PERF_SAMPLE_PHYS_ADDR },
		{ o->data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE },
		{ o->code_page_size, SAMPLE_CODE_PAGE_SIZE },
		{ o->weight, SAMPLE_WEIGHT_STRUCT },
		{ o->transaction, PERF_SAMPLE_TRANSACTION },
		{ o->raw_samples, PERF_SAMPLE_RAW },
		{ o->all_cgroups, PERF_SAMPLE_CGROUP },
		{ o->mem_info, PERF_SAMPLE_DATA_SRC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].given)
			a->sample_type |= fields[i].bit;
	}
	if (o->sample_addr)
		set_attr_address(a);
	if (o->intr_regs && !is_dummy(a)) {
		a->sample_type |= PERF_SAMPLE_REGS_INTR;
		a->sample_regs_intr = o->intr_regs;
	}
	if (o->user_regs && !is_dummy(a)) {
		a->sample_type |= PERF_SAMPLE_REGS_USER;
		a->sample_regs_user |= o->user_regs;
	}
	if (o->branch_types) {
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = o->branch_types;
	}
	if (spec->branch_types) {
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = spec->branch_types;
	}
	if (spec->branch_off) {
		a->sample_type &= ~(__u64)PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = 0;
	}
}

/* Set inheritance, privilege levels and what reads return. */
static void set_counting(const struct event_spec *spec, const struct record_opts *o,
			 struct perf_event_attr *a)
{
	bool threads_only = o->per_thread || (o->tids.n && !o->pids.n && !o->inherit_given);

	a->inherit = spec->inherit == INHERIT_YES ||
		     (spec->inherit == INHERIT_AS_SESSION && !o->no_inherit && !threads_only);
	a->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	if (o->stat || o->running_time)
		a->read_format |= READ_TIMES;
	a->inherit_stat = o->stat;
	if (o->all_user) {
		a->exclude_user = 0;
		a->exclude_kernel = 1;
	} else if (o->all_kernel) {
		a->exclude_kernel = 0;
		a->exclude_user = 1;
	}
	if (o->period_given && o->sample_period)
		a->sample_type |= PERF_SAMPLE_PERIOD;
	else if (o->period_given)
		a->sample_type &= ~(__u64)PERF_SAMPLE_PERIOD;
}

/*
 * Set what a flight recorder needs and `perf record -a` does not set:
 * - RECORD_SAMPLE_TYPE: every record has id, task, time and CPU at the same place, whatever the
 *   other events are;
 * - CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns(): triggers are placed among samples to the
 *   nanosecond;
 * - write_backward: the ring is overwritten, and read from its newest record on (--overwrite of
 *   perf);
 * - watermark: nobody polls these rings, so there is no wake-up before a whole ring was written.
 *   The kernel lowers the value to the ring's size (kernel/events/ring_buffer.c,
 *   ring_buffer_init()).
 *
 * perf puts mmap, comm, task and the like on its first event or a dummy; here the side band has its
 * own rings for them.
 */
static void event_attr__finish(struct perf_event_attr *a)
{
	a->size = PERF_ATTR_SIZE_VER7;
	a->sample_type |= RECORD_SAMPLE_TYPE;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->write_backward = 1;
	a->watermark = 1;
	a->wakeup_watermark = UINT32_MAX;
}

void event_attr__make(const struct event_spec *spec, const struct sampling *s,
		      struct perf_event_attr *ret)
{
	struct perf_event_attr a = spec->attr;
	bool every_hit = a.type == PERF_TYPE_TRACEPOINT || a.type == PERF_TYPE_BREAKPOINT ||
			 (a.type == PERF_TYPE_SOFTWARE && a.config == PERF_COUNT_SW_BPF_OUTPUT);

	a.disabled = 1;
	a.sample_id_all = 1;
	set_sampling(spec, s, every_hit, &a);
	set_callchain(spec, s, &a);
	set_sample_fields(spec, s->opts, &a);
	set_counting(spec, s->opts, &a);
	if (is_function_tracer(spec))
		a.exclude_callchain_user = 1;
	event_attr__finish(&a);
	*ret = a;
}

/* As evsel__config_leader_sampling() in tools/perf/util/evsel.c. */
void event_attr__read_count(struct perf_event_attr *leader, bool has_members)
{
	leader->sample_type |= PERF_SAMPLE_READ;
	if (!has_members)
		return;
	leader->read_format |= PERF_FORMAT_GROUP;
	leader->inherit = 0;
}

void event_attr__follow(struct perf_event_attr *member, const struct perf_event_attr *leader,
			bool own_rate)
{
	if (!own_rate) {
		member->freq = 0;
		member->sample_period = 0;
	}
	member->sample_type = leader->sample_type;
	member->read_format |= PERF_FORMAT_GROUP;
	member->inherit = 0;
}

/* As evsel__add_modifiers() in tools/perf/util/evsel.c. */
char *event_attr__modifiers(const struct perf_event_attr *attr, char *buf, size_t size)
{
	bool levels = attr->exclude_kernel || attr->exclude_user || attr->exclude_hv;
	bool guest_default = levels || attr->precise_ip;
	bool machines = attr->exclude_host || attr->exclude_guest == guest_default;
	char text[16] = ":";
	size_t n = 1;

	if (levels && !attr->exclude_kernel)
		text[n++] = 'k';
	if (levels && !attr->exclude_user)
		text[n++] = 'u';
	if (levels && !attr->exclude_hv)
		text[n++] = 'h';
	for (unsigned int i = 0; i < attr->precise_ip; i++)
		text[n++] = 'p';
	if (machines && !attr->exclude_host)
		text[n++] = 'H';
	if (machines && !attr->exclude_guest)
		text[n++] = 'G';
	text[n] = '\0';
	snprintf(buf, size, "%s", n > 1 ? text : "");
	return buf;
}
