// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/event_attr.h"
#include "record/event_list.h"

/* Period or frequency: a term beats the option, the option beats "every hit". */
static void set_sampling(const struct event_spec *spec, const struct sampling *s, bool every_hit,
			 struct perf_event_attr *a)
{
	if (every_hit)
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
		a->sample_type &= ~(__u64)PERF_SAMPLE_PERIOD; /* it is known */
	}
	if (a->freq)
		a->sample_type |= PERF_SAMPLE_PERIOD;
}

static void set_callchain(const struct event_spec *spec, const struct sampling *s,
			  struct perf_event_attr *a)
{
	bool own = spec->callchain == CALLCHAIN_FP || spec->max_stack;

	if (s->callchain)
		a->sample_max_stack = s->max_stack;
	if (own)
		a->sample_max_stack = spec->max_stack;
	if (spec->callchain != CALLCHAIN_NO && (own || s->callchain))
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
}

/*
 * What a flight recorder needs and `perf record -a` does not set:
 *  - RECORD_SAMPLE_TYPE: id, task, time and CPU of every record at the same place, whatever the
 * other events are;
 *  - CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns(): triggers are placed among samples to the
 * nanosecond;
 *  - write_backward: the ring is overwritten, and read from its newest record on (--overwrite of
 * perf);
 *  - watermark: nobody polls these rings, so no wake-up before a whole ring was written. The kernel
 * lowers the value to the ring's size (kernel/events/ring_buffer.c, ring_buffer_init()). Perf puts
 * mmap, comm, task and the like on its first event or a dummy; here the sideband has them on its
 * own rings.
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
	bool every_hit = a.type == PERF_TYPE_TRACEPOINT ||
			 (a.type == PERF_TYPE_SOFTWARE && a.config == PERF_COUNT_SW_BPF_OUTPUT);

	a.disabled = 1;
	a.inherit = 1;
	a.sample_id_all = 1;
	a.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	set_sampling(spec, s, every_hit, &a);
	set_callchain(spec, s, &a);
	/* A page fault of the user's stack inside the tracer of functions would trace functions. */
	if (spec->system && !strcmp(spec->system, "ftrace") && !strcmp(spec->event, "function"))
		a.exclude_callchain_user = 1;
	event_attr__finish(&a);
	*ret = a;
}

/* tools/perf/util/evsel.c, evsel__add_modifiers(). */
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
