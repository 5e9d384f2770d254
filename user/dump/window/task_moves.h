/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last switches of each task in a window: the last switch-out and the one before, the last
 * sleep and wake-up. They suffice to judge a wait that is reported after the window was written.
 * About 100 bytes per task.
 */
#ifndef FRBPF_DUMP_WINDOW_TASK_MOVES_H
#define FRBPF_DUMP_WINDOW_TASK_MOVES_H

#include <stdbool.h>
#include <stdint.h>

struct task_moves; /* of all tasks; NULL is a legal one: there are none yet */

/* Switches of one task, ns; 0: not seen. */
struct last_moves {
	uint64_t before_out, out; /* the last switch-out, and the switch before it, in or out */
	uint64_t slept, woken;	  /* the last wake-up and the switch-out to sleep before it */
};

/*
 * Note that a task was switched out. @number: its number in events, 0 for the idle task, which is
 * left out; @tid: in the sample. @sleeps: it goes to sleep. @time: ns. 0 or -ENOMEM.
 */
int task_moves__add_out(struct task_moves **moves, uint64_t number, uint32_t tid, bool sleeps,
			uint64_t time);
/* The same when the task was switched in, and when it was woken. */
int task_moves__add_in(struct task_moves **moves, uint64_t number, uint64_t time);
int task_moves__add_wakeup(struct task_moves **moves, uint64_t number, uint64_t time);

/* Get the switches of thread @tid. False: it was not switched out. */
bool task_moves__last(const struct task_moves *moves, uint32_t tid, struct last_moves *ret);

void task_moves__free(struct task_moves *moves);

#endif
