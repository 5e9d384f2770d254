/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time that tasks were off their CPUs, from sched:sched_switch: from a task's switch-out to its
 * switch-in, by the stack (stacks.h) at the switch-out and the state it left in. A task whose
 * switch-in was not recorded (the recording is of tasks, not of CPUs) is back with its next sample or
 * other record; one that is still away when the recording ends was away until then. Tasks that ended do not
 * count, nor does the idle task.
 */
#ifndef FRBPF_ANALYSE_OFFCPU_TIME_H
#define FRBPF_ANALYSE_OFFCPU_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata/format_field.h"
#include "perfdata/sample.h"

#define OFFCPU_EVENT "sched:sched_switch"
#define OFFCPU_COMM  16 /* bytes */

/* A piece of time, ns; both ends belong to it. */
struct time_range {
	uint64_t start, end;
};

struct offcpu_stack {
	uint64_t ns;
	uint64_t open_ns;	/* of it: had not ended when the recording did */
	uint64_t times;		/* how often */
	char comm[OFFCPU_COMM]; /* of the task that has most of it */
	uint64_t lead;		/* ns; how sure that is: see offcpu.c */
};

/* Of one recording or of several, one after the other. */
struct offcpu {			/* { 0 } is an empty one */
	struct offcpu_stack *v; /* by id of the stack; owned */
	size_t n;
	uint64_t ns; /* all */
	uint64_t
		lost; /* switch-outs without an end: the task's next sign was its next switch-out */
	struct away *away;	       /* tasks that are off their CPU now */
	const struct time_range *skip; /* times that do not count, by start; borrowed */
	size_t n_skip;
};

/* Fields of the event in raw data. */
struct switch_fields {
	struct format_field prev_pid, prev_state, prev_comm, next_pid;
};

/* False: the text is not that of sched_switch. */
bool switch_fields__find(const char *format, size_t len, struct switch_fields *ret);

struct task_switch {
	uint64_t time;	     /* ns */
	uint32_t prev, next; /* tids as the event tells them */
	uint32_t tid;	     /* prev, as the recorder's pid namespace has it */
	uint32_t state;
	char comm[OFFCPU_COMM];
};

/* False: the raw data do not have the fields. */
bool switch_fields__read(const struct switch_fields *f, const struct sample *s,
			 struct task_switch *ret);
/* "R", "R+" (it was preempted), "S", "D" ... */
const char *offcpu__state_name(uint32_t state);
/* Is it the state of a task that will not run again? */
bool offcpu__is_end(uint32_t state);

/* A switch; @stack: id of prev's. Must come in the order of time. 0 or -ENOMEM. */
int offcpu__switch(struct offcpu *o, const struct task_switch *s, uint32_t stack);
/* A sample of any other event, or a record of its own, shows that the task runs. 0 or -ENOMEM. */
int offcpu__ran(struct offcpu *o, uint32_t tid, uint64_t time);
/* The recording ends: who is away was so until @time. 0 or -ENOMEM. */
int offcpu__end(struct offcpu *o, uint64_t time);
void offcpu__free(struct offcpu *o);

#endif
