// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/replay.h"
#include "cmd/incident_list.h"
#include "cmd/json_fields.h"
#include "cmd/show_trigger.h"
#include "common/cleanup.h"
#include "common/printable.h"
#include "rules/constants.h"
#include "rules/units.h"
#include "symbols/demangle.h"

#define FRAMES	       12 /* per stack; `show --json` has all */
#define UNWOUND_FRAMES 24
#define FOUND_FRAMES   128

static const char *frame_text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static uint64_t frame_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* libc.so.6 for "/usr/lib/libc.so.6"; "[vdso]" is unchanged. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Names come from files of other users, so they are made printable. */
static void print_place(const char *symbol, uint64_t symbol_offset, const char *module,
			uint64_t offset)
{
	_cleanup_free_ char *name = symbol ? demangle(symbol) ?: strdup(symbol) : NULL;
	_cleanup_free_ char *file = module ? strdup(base_name(module)) : NULL;

	if (name)
		printf("%s+0x%" PRIx64, make_printable(name), symbol_offset);
	else
		printf("0x%" PRIx64, offset);
	if (file)
		printf(" (%s)", make_printable(file));
	putchar('\n');
}

static void print_frame(const json_t *f)
{
	print_place(frame_text(f, "symbol"), frame_number(f, "symbol_offset"),
		    frame_text(f, "module"), frame_number(f, "offset"));
}

/* A walk without frame pointers may take any word for a return address. */
static bool is_mapped(const json_t *frame)
{
	return frame_text(frame, "symbol") || frame_text(frame, "module");
}

static void print_stack(const char *label, const json_t *frames, const char *remark)
{
	size_t i, shown = 0, unmapped = 0;
	const json_t *f;

	if (!json_array_size(frames))
		return;
	if (remark)
		printf("  %-10s %s\n", label, remark);
	json_array_foreach (frames, i, f) {
		if (!is_mapped(f)) {
			unmapped++;
		} else if (shown++ < FRAMES) {
			printf("  %-10s ", shown > 1 || remark ? "" : label);
			print_frame(f);
		}
	}
	if (shown > FRAMES)
		printf("  %-10s ... %zu more\n", "", shown - FRAMES);
	if (unmapped)
		printf("  %-10s %zu word%s without a map%s\n", shown || remark ? "" : label,
		       unmapped, unmapped == 1 ? "" : "s",
		       shown && !strcmp(label, "user") ? " (no frame pointers?)" : "");
}

void show_stacks__print(const json_t *stacks)
{
	const char *from = frame_text(stacks, "user_from");

	print_stack("kernel", json_object_get(stacks, "kernel"), NULL);
	print_stack("user", json_object_get(stacks, "user"),
		    from && !strcmp(from, "sched_switch") ? "when it last left its CPU:" : NULL);
}

/* ---- the last stack of the subject, among samples with stack memory ---- */

struct task_stack {
	uint64_t time; /* ns; of the sample */
	struct location
		frames[FOUND_FRAMES]; /* the innermost first; strings belong to the symbols */
	size_t n;		      /* 0: no stack found */
};

/* Checked first, to avoid reading the whole file. */
static bool has_stack_memory(const struct perf_file *f)
{
	const struct file_info *info = perf_file__info(f);

	for (size_t i = 0; i < info->n_events; i++) {
		if (info->events[i].attr.sample_type & PERF_SAMPLE_STACK_USER)
			return true;
	}
	return false;
}

/* Search @path for thread @tid, up to @until (ns). 0, or as perf_file__open(), message in @err. */
static int task_stack_find(const char *path, struct symbols *symbols, uint32_t tid, uint64_t until,
			   struct err *err, struct task_stack *ret)
{
	struct replay *r;
	struct sample s;
	int code = replay__open(path, symbols, err, &r);

	ret->n = 0;
	if (code)
		return code;
	while (has_stack_memory(replay__file(r)) && (code = replay__next(r, err, &s)) > 0) {
		if (s.time > until)
			break;
		if (!s.event || s.tid != tid || !s.stack_size)
			continue;
		ret->time = s.time;
		if (replay__frames(r, &s, ret->frames, FOUND_FRAMES, &ret->n)) {
			code = err_set(err, -ENOMEM, "%s: out of memory", path);
			break;
		}
	}
	replay__free(r);
	return code < 0 ? code : 0;
}

static void print_task_stack(const char *session, const struct task_stack *s, uint64_t at)
{
	char ago[32];

	printf("  unwound    session %s, %s before:\n", session,
	       units__format_duration(at - s->time, ago, sizeof(ago)));
	for (size_t i = 0; i < s->n && i < UNWOUND_FRAMES; i++) {
		const struct location *l = &s->frames[i];

		printf("  %-10s ", "");
		print_place(l->symbol, l->symbol_offset, l->module, l->offset);
	}
	if (s->n > UNWOUND_FRAMES)
		printf("  %-10s ... %zu more\n", "", s->n - UNWOUND_FRAMES);
}

void show_stacks__print_unwound(const json_t *trigger, const json_t *sessions)
{
	uint32_t tid = frame_number(json_object_get(trigger, "subject"), "tid");
	uint64_t at = frame_number(json_object_get(trigger, "time"), "monotonic_ns");
	struct symbols *symbols = NULL;
	const json_t *s;
	size_t i;

	json_array_foreach (sessions, i, s) {
		_cleanup_free_ struct task_stack *stack = NULL;
		struct err err;

		/* skip other dumps: they may be large */
		if (!tid || !frame_text(s, "file") || !strstr(frame_text(s, "run") ?: "", "dwarf"))
			continue;
		stack = malloc(sizeof(*stack));
		if (!stack || (!symbols && symbols__new(&symbols)))
			break;
		if (!task_stack_find(frame_text(s, "file"), symbols, tid, at, &err, stack) &&
		    stack->n)
			print_task_stack(frame_text(s, "name"), stack, at);
	}
	symbols__free(symbols);
}

static json_int_t json_state_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void print_report_command(const json_t *s)
{
	const json_t *p;
	size_t i;

	if (str(s, "command")[0])
		printf("  command    %s\n", str(s, "command"));
	json_array_foreach (json_object_get(s, "parents"), i, p)
		printf("%s%s/%" JSON_INTEGER_FORMAT, i ? " < " : "  parents    ", str(p, "comm"),
		       json_state_number(p, "pid"));
	if (i)
		putchar('\n');
}

static void print_owner(const json_t *s)
{
	const json_t *o = json_object_get(s, "waits_for");
	json_int_t tid = json_state_number(o, "tid");

	if (o)
		printf("  waits for  a %s that %s/%" JSON_INTEGER_FORMAT " holds\n", str(o, "what"),
		       str(o, "comm"), tid ? tid : json_state_number(o, "pid"));
}

static void print_wait_place(const json_t *s)
{
	const json_t *o = json_object_get(s, "waits_in");

	if (!o)
		return;
	printf("  waits in   %s", str(o, "syscall")[0] ? str(o, "syscall") : "the kernel");
	if (str(o, "file")[0])
		printf(" of %s", str(o, "file"));
	if (str(o, "path")[0])
		printf(" of \"%s\"", str(o, "path"));
	if (str(o, "wchan")[0])
		printf(", at %s", str(o, "wchan"));
	putchar('\n');
}

static void print_scheduling(const json_t *s)
{
	const char *policy = str(s, "policy");
	json_int_t priority = json_state_number(s, "rt_priority");
	char size[16];

	printf("  scheduled  %s", policy);
	if (priority)
		printf(", priority %" JSON_INTEGER_FORMAT, priority);
	else
		printf(", nice %" JSON_INTEGER_FORMAT, json_state_number(s, "nice"));
	if (str(s, "cpus")[0])
		printf(", on CPUs %s", str(s, "cpus"));
	if (json_state_number(s, "resident_bytes"))
		printf("; %s resident", units__format_size(json_state_number(s, "resident_bytes"),
							   size, sizeof(size)));
	if (str(s, "cgroup")[0])
		printf("; cgroup %s", str(s, "cgroup"));
	putchar('\n');
}

static void print_cpu(const json_t *c)
{
	char quota[32], period[32], throttled[32];

	if (!json_state_number(c, "quota_ns"))
		return;
	printf("  CPU limit  %s in %s of %s, throttled in %" JSON_INTEGER_FORMAT
	       " of %" JSON_INTEGER_FORMAT " periods, for %s\n",
	       units__format_duration(json_state_number(c, "quota_ns"), quota, sizeof(quota)),
	       units__format_duration(json_state_number(c, "period_ns"), period, sizeof(period)),
	       str(c, "cgroup"), json_state_number(c, "throttled"), json_state_number(c, "periods"),
	       units__format_duration(json_state_number(c, "throttled_ns"), throttled,
				      sizeof(throttled)));
}

static void print_cgroup_memory(const json_t *m)
{
	const char *key = json_object_get(m, "high") ? "high" : "max";
	char current[16], limit[16];

	if (!json_object_get(m, key))
		return;
	printf("  memory     %s of %s (%s) in %s\n",
	       units__format_size(json_state_number(m, "current"), current, sizeof(current)),
	       units__format_size(json_state_number(m, key), limit, sizeof(limit)), key,
	       str(m, "cgroup"));
}

static void print_io(const json_t *o)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(o, "max"), i, line)
		printf("  I/O limit  %s of %s\n", json_string_value(line) ?: "", str(o, "cgroup"));
}

void show_state__print(const json_t *state)
{
	static const struct {
		const char *key;
		void (*print)(const json_t *o);
	} limits[] = { { "cpu", print_cpu },
		       { "memory", print_cgroup_memory },
		       { "io", print_io } };
	const json_t *level;
	size_t k;

	if (!json_is_object(state))
		return;
	print_report_command(state);
	print_scheduling(state);
	print_owner(state);
	print_wait_place(state);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		json_array_foreach (json_object_get(state, limits[i].key), k, level)
			limits[i].print(level);
}

/* Element @i of the list @key; 0 if missing. */
static double vital_of(const json_t *vitals, const char *key, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(vitals, key), i));
}

/* Index of the second that contains @time, ns; the last one if none does. */
static size_t second_index(const json_t *vitals, json_int_t time)
{
	const json_t *ends = json_object_get(vitals, "end_monotonic_ns");
	size_t i = 0;

	while (i + 1 < json_array_size(ends) && json_integer_value(json_array_get(ends, i)) < time)
		i++;
	return i;
}

void show_state__print_vitals(const json_t *vitals, json_int_t time)
{
	static const struct {
		const char *key, *text;
	} times[] = { { "cpu_some_ns", "for CPUs" },
		      { "io_some_ns", "for I/O" },
		      { "memory_some_ns", "for memory" } },
	  counts[] = { { "major_faults", "major faults" },
		       { "reclaims", "direct reclaims" },
		       { "swapped_pages", "pages swapped" },
		       { "net_errors", "network errors" },
		       { "disk_errors", "disk errors" } };
	size_t s = second_index(vitals, time);
	double length = vital_of(vitals, "length_ns", s), steal = vital_of(vitals, "steal_ns", s);
	double idle = vital_of(vitals, "idle_ns", s) + vital_of(vitals, "iowait_ns", s);
	double all = idle + steal + vital_of(vitals, "user_ns", s) +
		     vital_of(vitals, "system_ns", s) + vital_of(vitals, "irq_ns", s);

	if (length <= 0 || all <= 0)
		return;
	printf("machine: CPUs %.0f %% busy, %.0f %% stolen, %.0f tasks runnable",
	       100 * (all - idle - steal) / all, 100 * steal / all, vital_of(vitals, "running", s));
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (vital_of(vitals, times[i].key, s) >= length / 100)
			printf(", waits %s %.0f %%", times[i].text,
			       100 * vital_of(vitals, times[i].key, s) / length);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (vital_of(vitals, counts[i].key, s) > 0)
			printf(", %.0f %s", vital_of(vitals, counts[i].key, s), counts[i].text);
	printf(", in %.1fs\n", length / 1e9);
}

#define HINTS 4

/* Strings in the run line of a session that suit a source, the best first */
struct answer {
	const char *source;
	const char *hints[HINTS];
};

static const struct answer answers[] = {
	{ "runqlat", { "sched:sched_wak", "sched:sched_switch", "sched:" } },
	{ "blocked", { "sched:sched_switch", "sched:" } },
	{ "offcpu", { "sched:sched_switch", "sched:" } },
	{ "oncpu", { "cpu-clock", "cycles", "sched:sched_switch", "sched:" } },
	{ "syscall", { "raw_syscalls:", "syscalls:", "sched:sched_switch", "sched:" } },
	{ "blkio", { "block:" } },
	{ "blkio.device", { "block:" } },
	{ "hardirq", { "irq:irq_handler", "irq:" } },
	{ "softirq", { "irq:softirq", "irq:" } },
	{ "reclaim", { "vmscan:", "compaction:" } },
	{ "connect", { "sock:inet_sock_set_state", "tcp:", "sock:", "net:" } },
	{ "uprobe", { "sched:sched_switch", "sched:" } },
	{ "usdt", { "sched:sched_switch", "sched:" } },
	{ "span of probes", { "sched:sched_switch", "sched:" } },
	{ "app", { "sched:sched_switch", "sched:" } },
	{ "psi", { "sched:sched_switch", "vmscan:", "block:" } },
};

/* The first tracepoint in `when`, and its system; "" if it has none. */
static void tracepoint_of(const char *when, char name[static 128], char system[static 64])
{
	size_t len = strcspn(when, " \t"), colon = strcspn(when, ":");

	name[0] = system[0] = '\0';
	if (colon >= len || len >= 128 || colon + 1 >= 64)
		return;
	snprintf(name, 128, "%.*s", (int)len, when);
	snprintf(system, 64, "%.*s:", (int)colon, when);
}

/* Rank of the best hint in @run, 0 is best; HINTS: it has none. */
static size_t hint_distance(const char *run, const char *const hints[static HINTS])
{
	size_t i = 0;

	while (i < HINTS && !(hints[i] && strstr(run, hints[i])))
		i++;
	return i;
}

const json_t *next_session(const json_t *manifest)
{
	const json_t *trigger = incident_list__trigger(manifest), *best = NULL, *s;
	const char *source = str(trigger, "source"), *when = str(trigger, "when");
	char name[128], system[64];
	const char *of_event[HINTS] = { name, system };
	const char *const none[HINTS] = { NULL };
	const char *const *hints = of_event;
	size_t nearest = 0, i;

	if (!strcmp(source, "span") && (strstr(when, "uprobe:") || strstr(when, "usdt:")))
		source = "span of probes";
	tracepoint_of(when, name, system);
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		if (!strcmp(answers[i].source, source))
			hints = answers[i].hints;
	}
	if (hints == of_event && !name[0])
		hints = none;
	json_array_foreach (json_object_get(manifest, "sessions"), i, s) {
		size_t d = hint_distance(str(s, "run"), hints);

		if (str(s, "file")[0] && !json_is_true(json_object_get(s, "gone")) &&
		    (!best || d < nearest)) {
			best = s;
			nearest = d;
		}
	}
	return best;
}

/* ---- the trigger ---- */

const char *show_duration(const json_t *o, const char *key, char *buf, size_t size)
{
	return units__format_duration(json_integer_value(json_object_get(o, key)), buf, size);
}

static void print_task(const char *label, const json_t *t)
{
	/* the event has no task */
	if (!json_integer_value(json_object_get(t, "tid")) &&
	    !json_integer_value(json_object_get(t, "uid")) && !str(t, "comm")[0])
		return;
	if (!str(t, "comm")[0]) { /* the sender of a message, which ended before it was looked up */
		printf("  %-10s pid %lld, uid %lld, which had ended: its name is not known\n",
		       label, (long long)json_integer_value(json_object_get(t, "pid")),
		       (long long)json_integer_value(json_object_get(t, "uid")));
		return;
	}
	printf("  %-10s %s (pid %lld, tid %lld, process %s, uid %lld)\n", label, str(t, "comm"),
	       (long long)json_integer_value(json_object_get(t, "pid")),
	       (long long)json_integer_value(json_object_get(t, "tid")), str(t, "process"),
	       (long long)json_integer_value(json_object_get(t, "uid")));
}

/* Print the event's own arguments. */
static void print_args(json_t *args)
{
	const char *name, *lead = "  event      ";
	json_t *v;

	json_object_foreach (args, name, v) {
		if (json_is_integer(v))
			printf("%s%s=%" JSON_INTEGER_FORMAT, lead, name, json_integer_value(v));
		else if (json_string_value(v) && *json_string_value(v))
			printf("%s%s=%s", lead, name, json_string_value(v));
		else
			continue;
		lead = " ";
	}
	if (*lead == ' ' && !lead[1])
		putchar('\n');
}

/* Name of the error that a system call returned; NULL: it did not fail. */
static const char *error_name(json_int_t ret)
{
	return ret < 0 ? constant__name(symbols_errno, -ret) : NULL;
}

/* Print the matches before it, for a rule about other rules. */
static void print_parts(const json_t *t)
{
	const json_t *part;
	char value[32], ago[32];
	size_t i;

	json_array_foreach (json_object_get(t, "after"), i, part) {
		const json_t *subject = json_object_get(part, "subject");
		json_int_t time = num(json_object_get(t, "time"), "monotonic_ns") -
				  num(json_object_get(part, "time"), "monotonic_ns");

		printf("  after      rule %s: %s", str(part, "rule"), str(part, "when"));
		if (num(part, "value_ns"))
			printf(", %s", show_duration(part, "value_ns", value, sizeof(value)));
		printf(", %s before, by %s (pid %" PRIu64 ", tid %" PRIu64 ")\n",
		       units__format_duration(time, ago, sizeof(ago)), str(subject, "comm"),
		       num(subject, "pid"), num(subject, "tid"));
	}
}

/* The outcome of a pending event; NULL: it has not ended, as far as is known. */
static void print_pending_end(const json_t *ended)
{
	char value[64];

	printf(", and it had not ended");
	if (ended && json_is_true(json_object_get(ended, "seen")))
		printf(": it ended after %s",
		       show_duration(ended, "value_ns", value, sizeof(value)));
	else if (ended)
		printf(": its end was not seen");
}

void show_trigger__print(const json_t *t, const char *what)
{
	const json_t *ret = json_object_get(t, "ret");
	bool is_call = strcmp(str(t, "source"), "syscall") == 0;
	const char *error = is_call ? error_name(json_integer_value(ret)) : NULL;
	char value[32], threshold[32];

	if (!str(t, "rule")[0]) {
		printf("%s by hand: %s\n  at         %s\n", what, str(t, "reason"),
		       str(json_object_get(t, "time"), "utc"));
		return;
	}
	printf("%s by rule %s: %s%s%s\n", what, str(t, "rule"), str(t, "when"),
	       str(t, "if")[0] ? " if " : "", str(t, "if"));
	/* 0: an event without a duration */
	if (json_integer_value(json_object_get(t, "value_ns"))) {
		printf("  value      %s", show_duration(t, "value_ns", value, sizeof(value)));
		if (json_integer_value(json_object_get(t, "threshold_ns")))
			printf(", threshold %s",
			       show_duration(t, "threshold_ns", threshold, sizeof(threshold)));
		if (str(t, "key")[0])
			printf(", %s", str(t, "key"));
		if (error)
			printf(" failed with %s", error);
		if (json_is_true(json_object_get(t, "escalated")))
			printf(", which broke the cooldown");
		if (json_is_true(json_object_get(t, "pending")))
			print_pending_end(json_object_get(t, "ended"));
		if (json_is_true(json_object_get(t, "absent")))
			printf(", without an event");
		if (json_object_get(t, "window_ns"))
			printf(", together in %s",
			       show_duration(t, "window_ns", value, sizeof(value)));
		if (ret && !is_call)
			printf(", returned %" JSON_INTEGER_FORMAT, json_integer_value(ret));
		putchar('\n');
	}
	printf("  at         %s, CPU %lld\n", str(json_object_get(t, "time"), "utc"),
	       (long long)json_integer_value(json_object_get(t, "cpu")));
	print_parts(t);
	if (json_is_true(json_object_get(t, "contradicted")))
		printf("  false      the recording contradicts it, first at %s\n",
		       str(json_object_get(t, "contradicted_time"), "utc"));
	if (str(t, "cannot_tell")[0])
		printf("  unproven   cannot tell whether the recording contradicts it: %s\n",
		       str(t, "cannot_tell"));
	if (str(t, "call")[0])
		printf("  call       %s\n", str(t, "call"));
	else
		print_args(json_object_get(t, "args"));
	/* interrupts have no subject */
	if (json_integer_value(json_object_get(json_object_get(t, "subject"), "tid")) ||
	    str(json_object_get(t, "subject"), "comm")[0])
		print_task("subject", json_object_get(t, "subject"));
	show_state__print(json_object_get(t, "state"));
	print_task("running", json_object_get(t, "current"));
	show_stacks__print(json_object_get(t, "stacks"));
}
