/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the last stack of a thread before a given time, among samples recorded with stack memory.
 */
#ifndef FRBPF_ANALYSE_TASK_STACK_H
#define FRBPF_ANALYSE_TASK_STACK_H

#include "symbols/symbols.h"
#include "common/err.h"

#define TASK_STACK_FRAMES 128

struct task_stack {
	uint64_t time; /* ns; of the sample */
	/* the innermost first; strings belong to the symbols */
	struct location frames[TASK_STACK_FRAMES];
	size_t n; /* 0: no stack found */
};

/* Search @path for thread @tid, up to @until (ns). 0, or as perf_file__open(), message in @err. */
int task_stack__find(const char *path, struct symbols *symbols, uint32_t tid, uint64_t until,
		     struct err *err, struct task_stack *ret);

#endif
