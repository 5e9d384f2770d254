// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes as records of a ring: what record__valid() accepts must neither crash the task model nor
 * damage its counts, and what the model emits must be valid.
 */
#include <stdlib.h>
#include <string.h>

#include "perfdata/record.h"
#include "symbols/task_model.h"

static void apply_all(struct task_model *m, const char *data, size_t len)
{
	const struct perf_event_header *h;
	size_t off = 0;

	while (len - off >= sizeof(*h)) {
		h = (const void *)(data + off);
		if (!record__valid(h, len - off))
			break;
		task_model__apply(m, h);
		off += h->size;
	}
	if (off < len && len - off >= 8)
		apply_all(m, data + off + 8, len - off - 8);
}

struct emit {
	const struct task_model *m;
	struct task_model *copy;
	struct buf out;
};

static int emit_process(uint32_t pid, void *arg)
{
	struct emit *e = arg;

	if (task_model__copy_process(e->copy, e->m, pid))
		abort();
	return task_model__emit_process(e->m, pid, NULL, 0, 1, &e->out);
}

static int pick_process(uint32_t pid, void *arg)
{
	*(uint32_t *)arg = pid;
	return 1;
}

static void check_emitted(const struct buf *out)
{
	const struct perf_event_header *h;
	size_t off;

	for (off = 0; off < out->len; off += h->size) {
		h = (const void *)(out->data + off);
		if (!record__valid(h, out->len - off) || record__time(h) != 1)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct emit e = { 0 };
	struct task_model *m;
	size_t len = size & ~(size_t)7, empty;
	char *copy = malloc(len + 8); /* records are aligned to 8 */
	uint32_t pid;

	if (!copy || task_model__new(&m) || task_model__new(&e.copy))
		abort();
	memcpy(copy, data, len);
	empty = task_model__bytes(e.copy);
	apply_all(m, copy, len);
	e.m = m;
	if (kernel_state__emit(task_model__kernel(m), 1, &e.out) ||
	    task_model__each_process(m, emit_process, &e))
		abort();
	check_emitted(&e.out);
	task_model__free(m);
	while (task_model__each_process(e.copy, pick_process, &pid))
		task_model__remove_process(e.copy, pid);
	if (task_model__bytes(e.copy) != empty)
		abort();
	task_model__free(e.copy);
	buf__free(&e.out);
	free(copy);
	return 0;
}
