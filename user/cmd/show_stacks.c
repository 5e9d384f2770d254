// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/replay.h"
#include "cmd/show_stacks.h"
#include "common/cleanup.h"
#include "common/printable.h"
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

/* Do samples of the file have stack memory? Checked first, to avoid reading the whole file. */
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
