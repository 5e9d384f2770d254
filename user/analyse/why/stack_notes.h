/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes on the stacks of selected events. The files of these events are read a second time. Only
 * the selected stacks are resolved, with the maps of that time. Life: { 0 }, want, read, look,
 * free.
 */
#ifndef FRBPF_ANALYSE_WHY_STACK_NOTES_H
#define FRBPF_ANALYSE_WHY_STACK_NOTES_H

#include "analyse/why/sched_events.h"
#include "analyse/why/wait_kind.h"

struct stack_note {
	enum wait_kind kind; /* for a switch */
	enum wait_kind
		kind_in_lock;	   /* the same, if an event says that it waits for a kernel lock */
	enum wake_context context; /* for a waking */
	const char *function;	   /* the innermost function of the program itself; NULL: unknown */
	const char *call; /* the system call, or the kernel function of an exception; NULL: none */
	const char *leaf; /* the innermost function, or the function of a timer; NULL: unknown */
	bool limits_io;	  /* for a waking: a cgroup's I/O limit made the requests wait */
	bool spins;	  /* for a sample: it spins for a mutex or rwsem whose owner runs */
	bool named;	  /* the kernel part of the stack has names, or is empty */
};

struct stack_notes {
	struct sched_events *events; /* borrowed */
	struct stack_note *v;	     /* owned; entry 0 is for events without a stack */
	size_t n, cap;
	uint32_t *wanted; /* indexes of events; owned */
	size_t n_wanted, wanted_cap;
	bool failed;		 /* out of memory */
	struct symbols *symbols; /* owned; holds the names */
};

/* Ask for the stack of event @i. */
void stack_notes__want(struct stack_notes *s, uint32_t i);
/* Read the wanted stacks. 0 or negative errno, message in @err. */
int stack_notes__read(struct stack_notes *s, struct err *err);
/*
 * The note of event @i. An event without a stack, or not wanted, has a note with WAIT_UNKNOWN and
 * nothing else.
 */
const struct stack_note *stack_notes__of(const struct stack_notes *s, uint32_t i);
void stack_notes__free(struct stack_notes *s);

#endif
