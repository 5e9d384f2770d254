/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds up the time that tasks were off CPU, from switch-out to switch-in, as sched:sched_switch
 * shows it. The time is counted by the stack at the switch-out (stacks.h) and the task's state. A
 * switch-out without a stack takes the stack of its offcpu-time sample, if there is one.
 *
 * A recording of tasks, not CPUs, may lack the switch-in. Then the task is back at its next sample
 * or other record. A task still away at the end of the recording was away until then. Tasks that
 * ended do not count, nor does the idle task.
 */
#ifndef FRBPF_ANALYSE_OFFCPU_PROFILE_H
#define FRBPF_ANALYSE_OFFCPU_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format_field.h"
#include "perfdata/perf_file.h"
#include "perfdata/sample.h"

#define OFFCPU_EVENT "sched:sched_switch"
#define OFFCPU_COMM  16 /* bytes */

/* Time range, ns, inclusive */
struct time_range {
	uint64_t start, end;
};

struct offcpu_stack {
	uint64_t ns;
	uint64_t open_ns;	/* part of ns still open when the recording ended */
	uint64_t times;		/* how often */
	char comm[OFFCPU_COMM]; /* the task with most of the time */
	uint64_t lead;		/* ns; by how much that task leads, see vote_for_task() */
};

/* Of one recording, or of several added one after the other */
struct offcpu {			/* { 0 } is an empty one */
	struct offcpu_stack *v; /* by stack id; owned */
	size_t n;
	uint64_t ns; /* total */
	/* switch-outs whose end was not seen: the task's next record was another switch-out */
	uint64_t lost;
	struct away *away;	       /* the last time off CPU of each task; owned */
	const struct time_range *skip; /* ranges that do not count, sorted by start; borrowed */
	size_t n_skip;
};

/* Offsets of the fields in the raw data of the event */
struct switch_fields {
	struct format_field prev_pid, prev_state, prev_comm, next_pid;
};

/* Is it offcpu-time, an event whose samples have the stack and the length of a wait? */
bool offcpu__samples_waits(const struct file_event *fe);

/* Parse the format of sched_switch. False: the text is not that of sched_switch. */
bool switch_fields__find(const char *format, size_t len, struct switch_fields *ret);

struct task_switch {
	uint64_t time;	     /* ns */
	uint32_t prev, next; /* tids in the event, as the kernel counts them */
	uint32_t tid;	     /* prev in the recorder's pid namespace */
	uint32_t state;
	char comm[OFFCPU_COMM];
};

/* False: the raw data lack the fields. */
bool switch_fields__read(const struct switch_fields *f, const struct sample *s,
			 struct task_switch *ret);
/* "R", "R+" (it was preempted), "S", "D" ... */
const char *offcpu__state_name(uint32_t state);
/* Is it the state of a task that will not run again? */
bool offcpu__is_end(uint32_t state);

/* Note a switch; @stack: id of the stack of prev. Call in the order of time. 0 or -ENOMEM. */
int offcpu__switch(struct offcpu *o, const struct task_switch *s, uint32_t stack);
/* Note that the task runs at @time, as a sample of another event or another record shows. */
void offcpu__ran(struct offcpu *o, uint32_t tid, uint64_t time);
/*
 * Find the switch-out that began the wait of @ns that a sample of offcpu-time at @time reports.
 * Returns its stack id, which the caller may set, and its state in *ret_state. NULL: there is none.
 */
uint32_t *offcpu__stack_of_wait(const struct offcpu *o, uint32_t tid, uint64_t time, uint64_t ns,
				uint32_t *ret_state);
/* The recording ends at @time: count tasks that are still away until then. 0 or -ENOMEM. */
int offcpu__end(struct offcpu *o, uint64_t time);
void offcpu__free(struct offcpu *o);

#endif
