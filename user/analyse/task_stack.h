/* SPDX-License-Identifier: GPL-2.0-only */
/* The last stack of one thread before a moment, of those that a recording has with the stack itself. */
#ifndef FRBPF_ANALYSE_TASK_STACK_H
#define FRBPF_ANALYSE_TASK_STACK_H

#include "symbols/symbols.h"
#include "common/err.h"

#define TASK_STACK_FRAMES 128

struct task_stack {
	uint64_t time; /* ns; of the sample */
	struct location
		frames[TASK_STACK_FRAMES]; /* the innermost first; texts are of the symbols */
	size_t n;			   /* 0: there is none */
};

/* In the file @path, of thread @tid, not after @until (ns). 0, or as perf_file__open() with words in @err. */
int task_stack__find(const char *path, struct symbols *symbols, uint32_t tid, uint64_t until,
		     struct err *err, struct task_stack *ret);

#endif
