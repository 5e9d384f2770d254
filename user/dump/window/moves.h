/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How each task of a window last moved: when it left its CPU twice with nothing but a wait between,
 * and when it slept and was woken. Enough to judge a wait that is told of after the window was
 * written, at some 100 bytes a task. Life: moves__add_*() in order of time, moves__last() any number
 * of times, moves__free().
 */
#ifndef FRBPF_DUMP_WINDOW_MOVES_H
#define FRBPF_DUMP_WINDOW_MOVES_H

#include <stdbool.h>
#include <stdint.h>

struct task_moves;

/* One task's, all in ns; 0: not seen. */
struct last_moves {
	uint64_t before_out, out; /* the last switch-out and what its task did before: in or out */
	uint64_t slept, woken;	  /* the last wake-up and the switch-out to sleep before it */
};

/* Task @number (as events have it) was switched out, which the sample tells as @tid; to sleep?
 * 0 or -ENOMEM. @moves begins as NULL. */
int moves__add_out(struct task_moves **moves, uint64_t number, uint32_t tid, bool sleeps,
		   uint64_t time);
int moves__add_in(struct task_moves **moves, uint64_t number, uint64_t time);
int moves__add_wakeup(struct task_moves **moves, uint64_t number, uint64_t time);

/* Of the thread @tid. False: it was not switched out. */
bool moves__last(const struct task_moves *moves, uint32_t tid, struct last_moves *ret);

void moves__free(struct task_moves *moves);

#endif
