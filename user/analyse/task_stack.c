// SPDX-License-Identifier: GPL-2.0-only
#include "analyse/replay.h"
#include "analyse/task_stack.h"

/* Checked first, to avoid reading the whole file. */
static bool has_stacks(const struct perf_file *f)
{
	const struct file_info *info = perf_file__info(f);

	for (size_t i = 0; i < info->n_events; i++) {
		if (info->events[i].attr.sample_type & PERF_SAMPLE_STACK_USER)
			return true;
	}
	return false;
}

int task_stack__find(const char *path, struct symbols *symbols, uint32_t tid, uint64_t until,
		     struct err *err, struct task_stack *ret)
{
	struct replay *r;
	struct sample s;
	int code = replay__open(path, symbols, err, &r);

	ret->n = 0;
	if (code)
		return code;
	while (has_stacks(replay__file(r)) && (code = replay__next(r, err, &s)) > 0) {
		if (s.time > until)
			break;
		if (!s.event || s.tid != tid || !s.stack_size)
			continue;
		ret->time = s.time;
		if (replay__frames(r, &s, ret->frames, TASK_STACK_FRAMES, &ret->n)) {
			code = err_set(err, -ENOMEM, "%s: out of memory", path);
			break;
		}
	}
	replay__free(r);
	return code < 0 ? code : 0;
}
