// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/show_stacks.h"
#include "common/printable.h"
#include "symbols/demangle.h"

#define FRAMES 12 /* of each; `show --json` has all */

static const char *frame_text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static uint64_t frame_number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* "/usr/lib/libc.so.6" is libc.so.6; "[vdso]" stays. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void print_frame(const json_t *f)
{
	const char *symbol = frame_text(f, "symbol"), *module = frame_text(f, "module");
	char *plain = symbol ? demangle(symbol) : NULL;

	if (symbol)
		printf("%s+0x%" PRIx64, plain ? make_printable(plain) : symbol,
		       frame_number(f, "symbol_offset"));
	else
		printf("0x%" PRIx64, frame_number(f, "offset"));
	if (module)
		printf(" (%s)", base_name(module));
	putchar('\n');
	free(plain);
}

/* Of a stack that was walked without frame pointers, words are taken for return addresses. */
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
