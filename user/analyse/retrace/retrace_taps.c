// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoints that measure each source, and the offsets of their fields */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/retrace/retrace_impl.h"
#include "common/array.h"
#include "common/cleanup.h"

#define SWITCH                                                                                     \
	"sched:sched_switch",                                                                      \
	{                                                                                          \
		"prev_pid", "prev_state", "next_pid", "prev_comm", "prev_prio", "next_comm",       \
			"next_prio"                                                                \
	}
#define WOKEN                                                                                      \
	{                                                                                          \
		"pid", "comm", "prio"                                                              \
	}
#define REQUEST                                                                                    \
	{                                                                                          \
		"dev", "sector", "nr_sector", "rwbs", "bytes"                                      \
	}
#define WAKEUP "sched:sched_wakeup"

static const struct tap_layout tap_layouts[] = {
	{ FRBPF_SOURCE_RUNQLAT, TAP_SWITCH, SWITCH },
	{ FRBPF_SOURCE_RUNQLAT, TAP_WAKE, WAKEUP, WOKEN },
	{ FRBPF_SOURCE_RUNQLAT, TAP_WAKE, "sched:sched_wakeup_new", WOKEN },
	{ FRBPF_SOURCE_RUNQLAT, TAP_WAKE, "sched:sched_waking", WOKEN, .unless = WAKEUP },
	{ FRBPF_SOURCE_BLOCKED, TAP_SWITCH, SWITCH },
	{ FRBPF_SOURCE_BLOCKED, TAP_WAKE, WAKEUP, WOKEN },
	{ FRBPF_SOURCE_BLOCKED, TAP_WAKE, "sched:sched_waking", WOKEN, .unless = WAKEUP },
	{ FRBPF_SOURCE_OFFCPU, TAP_SWITCH, SWITCH },
	{ FRBPF_SOURCE_SYSCALL, TAP_BEGIN, "raw_syscalls:sys_enter", { "id" } },
	{ FRBPF_SOURCE_SYSCALL, TAP_END, "raw_syscalls:sys_exit", { "id", "ret" } },
	{ FRBPF_SOURCE_SYSCALL, TAP_BEGIN, "syscalls:sys_enter_*", { "__syscall_nr" } },
	{ FRBPF_SOURCE_SYSCALL, TAP_END, "syscalls:sys_exit_*", { "__syscall_nr", "ret" } },
	{ FRBPF_SOURCE_BLKIO, TAP_BEGIN, "block:block_io_start", REQUEST },
	{ FRBPF_SOURCE_BLKIO, TAP_BEGIN, "block:block_rq_insert", REQUEST,
	  .unless = "block:block_io_start" },
	{ FRBPF_SOURCE_BLKIO, TAP_ISSUE, "block:block_rq_issue", REQUEST,
	  .unless = "block:block_io_start" },
	{ FRBPF_SOURCE_BLKIO, TAP_MERGE, "block:block_rq_merge", REQUEST },
	{ FRBPF_SOURCE_BLKIO, TAP_END, "block:block_rq_complete", REQUEST },
	{ FRBPF_SOURCE_BLKIO_DEVICE, TAP_BEGIN, "block:block_rq_issue", REQUEST },
	{ FRBPF_SOURCE_BLKIO_DEVICE, TAP_END, "block:block_rq_complete", REQUEST },
	{ FRBPF_SOURCE_HARDIRQ, TAP_BEGIN, "irq:irq_handler_entry", { "irq", "name" } },
	{ FRBPF_SOURCE_HARDIRQ, TAP_END, "irq:irq_handler_exit", { "irq" } },
	{ FRBPF_SOURCE_SOFTIRQ, TAP_BEGIN, "irq:softirq_entry", { "vec" } },
	{ FRBPF_SOURCE_SOFTIRQ, TAP_END, "irq:softirq_exit", { "vec" } },
	{ FRBPF_SOURCE_RECLAIM,
	  TAP_BEGIN,
	  "vmscan:mm_vmscan_direct_reclaim_begin",
	  { "order", "gfp_flags" },
	  .number = FRBPF_RECLAIM_MACHINE },
	{ FRBPF_SOURCE_RECLAIM,
	  TAP_END,
	  "vmscan:mm_vmscan_direct_reclaim_end",
	  { "nr_reclaimed" },
	  .number = FRBPF_RECLAIM_MACHINE },
	{ FRBPF_SOURCE_RECLAIM,
	  TAP_BEGIN,
	  "vmscan:mm_vmscan_memcg_reclaim_begin",
	  { "order", "gfp_flags" },
	  .number = FRBPF_RECLAIM_CGROUP },
	{ FRBPF_SOURCE_RECLAIM,
	  TAP_END,
	  "vmscan:mm_vmscan_memcg_reclaim_end",
	  { "nr_reclaimed" },
	  .number = FRBPF_RECLAIM_CGROUP },
};

/* Subject of a hit, if it is not the current task: the first field that exists */
static const char *const subject_pids[] = { "next_pid", "pid", "child_pid" };
static const char *const subject_comms[] = { "next_comm", "comm", "child_comm" };

static bool tap_is_needed(const struct tap_layout *l)
{
	return l->role != TAP_ISSUE && l->role != TAP_MERGE && !l->unless;
}

bool taps__needs(struct want *w)
{
	if (w->w.start) {
		w->needs = w->w.end ? 1U << TAP_BEGIN | 1U << TAP_END : 1U << TAP_HIT;
		return true;
	}
	w->needs = 0;
	for (size_t i = 0; i < ARRAY_SIZE(tap_layouts); i++) {
		if (tap_layouts[i].source == w->w.source && tap_is_needed(&tap_layouts[i]))
			w->needs |= 1U << tap_layouts[i].role;
	}
	return w->needs;
}

static void lacks_add(struct want *w, const char *event)
{
	size_t len = strlen(w->lacks);

	snprintf(w->lacks + len, sizeof(w->lacks) - len, "%s%s", len ? ", " : "", event);
}

/* List the first event of each role that is needed and missing in all recordings. */
void taps__describe(struct want *w)
{
	uint32_t lacking = w->needs & ~w->has;

	if (w->w.start && lacking & (1U << TAP_BEGIN | 1U << TAP_HIT))
		lacks_add(w, w->w.start);
	if (w->w.start && lacking & 1U << TAP_END)
		lacks_add(w, w->w.end);
	for (size_t i = 0; i < ARRAY_SIZE(tap_layouts) && !w->w.start; i++) {
		const struct tap_layout *l = &tap_layouts[i];

		if (l->source != w->w.source || !(lacking & 1U << l->role) || !tap_is_needed(l))
			continue;
		lacks_add(w, l->event);
		lacking &= ~(1U << l->role);
	}
}

/* Does @e record every hit, with the fields that tell hits apart? */
bool taps__is_whole(const struct file_event *e)
{
	const uint64_t needed = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;

	return e->attr.type == PERF_TYPE_TRACEPOINT && (e->attr.sample_type & needed) == needed &&
	       !e->attr.freq && e->attr.sample_period <= 1;
}

static bool file_has_event(const struct retrace_file *f, const char *event)
{
	const struct file_info *info = perf_file__info(replay__file(f->replay));

	for (size_t i = 0; i < info->n_events; i++) {
		if (taps__is_whole(&info->events[i]) && !strcmp(info->events[i].name, event))
			return true;
	}
	return false;
}

static int tap_add(struct tap_event *e, const struct tap *tap)
{
	struct tap *taps = reallocarray(e->taps, e->n_taps + 1, sizeof(*taps));

	if (!taps)
		return -ENOMEM;
	e->taps = taps;
	taps[e->n_taps++] = *tap;
	tap->want->has |= 1U << tap->role;
	return 0;
}

/* The first field is the key of the event: without it the event is useless. */
static int tap_add_layout(struct tap_event *e, struct want *w, const struct tap_layout *l,
			  const struct file_format *format)
{
	struct tap tap = { .want = w, .role = l->role, .layout = l };

	for (size_t i = 0; i < TAP_FIELDS && l->fields[i]; i++)
		format_field__find(format->text, format->len, l->fields[i], &tap.fields[i]);
	if (!tap.fields[0].size)
		return 0;
	w->result.stand_in |= !strcmp(l->event, "sched:sched_waking");
	return tap_add(e, &tap);
}

static void tap_find(const struct file_format *f, const char *name, struct format_field *ret)
{
	if (name)
		format_field__find(f->text, f->len, name, ret);
}

/* Add a tap for a hit, or for the start or end of a span. */
static int tap_add_tracepoint(struct tap_event *e, struct want *w, enum tap_role role,
			      const struct file_format *format)
{
	const char *const *keys = role == TAP_BEGIN ? w->w.start_keys : w->w.end_keys;
	struct tap tap = { .want = w, .role = role };

	for (uint32_t i = 0; i < w->w.n_keys; i++)
		tap_find(format, keys[i], &tap.keys[i]);
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (role == TAP_HIT || w->w.arg_at_start[i] == (role == TAP_BEGIN))
			tap_find(format, w->w.args[i], &tap.args[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(subject_pids) && role == TAP_HIT; i++) {
		tap_find(format, subject_pids[i], &tap.subject_pid);
		if (!tap.subject_pid.size)
			continue;
		tap_find(format, subject_comms[i], &tap.subject_comm);
		break;
	}
	return tap_add(e, &tap);
}

static int taps_of(struct retrace_file *f, const struct file_event *fe, struct tap_event *e,
		   struct want *w, const struct file_format *format)
{
	int err = 0;

	if (w->w.start) {
		if (!strcmp(fe->name, w->w.start))
			err = tap_add_tracepoint(e, w, w->w.end ? TAP_BEGIN : TAP_HIT, format);
		if (!err && w->w.end && !strcmp(fe->name, w->w.end))
			err = tap_add_tracepoint(e, w, TAP_END, format);
		return err;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tap_layouts) && !err; i++) {
		const struct tap_layout *l = &tap_layouts[i];

		if (l->source != w->w.source || fnmatch(l->event, fe->name, 0) ||
		    (l->unless && file_has_event(f, l->unless)) ||
		    (f->foreign && l->source == FRBPF_SOURCE_SYSCALL))
			continue;
		err = tap_add_layout(e, w, l, format);
	}
	return err;
}

int taps__make(struct retrace *m, struct retrace_file *f)
{
	const struct perf_file *file = replay__file(f->replay);
	const struct file_info *info = perf_file__info(file);
	int err = 0;

	f->events = calloc(info->n_events ?: 1, sizeof(*f->events));
	if (!f->events)
		return -ENOMEM;
	for (size_t i = 0; i < info->n_events && !err; i++) {
		const struct file_event *fe = &info->events[i];
		const struct file_format *format;

		f->events[i].is_gap = !strcmp(fe->name, "frbpf:gap");
		if (!taps__is_whole(fe))
			continue;
		format = perf_file__format(file, fe->attr.config);
		if (!format)
			continue;
		tap_find(format, "common_pid", &f->events[i].current);
		for (size_t k = 0; k < m->n_wants && !err; k++)
			err = taps_of(f, fe, &f->events[i], m->wants[k], format);
	}
	return err;
}

void taps__free(struct retrace_file *f)
{
	size_t n = f->events ? perf_file__info(replay__file(f->replay))->n_events : 0;

	for (size_t i = 0; i < n; i++)
		free(f->events[i].taps);
	free(f->events);
	f->events = NULL;
}
