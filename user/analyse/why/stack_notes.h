/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept of the stacks of a few events: their files are read a second time, and only those
 * stacks get names, by the maps of their time. Life: { 0 }, want, read, look, free.
 */
#ifndef FRBPF_ANALYSE_WHY_STACK_NOTES_H
#define FRBPF_ANALYSE_WHY_STACK_NOTES_H

#include "analyse/why/sched_events.h"
#include "analyse/why/wait_kind.h"

struct stack_note {
	enum wait_kind kind;	   /* of a switch */
	enum wake_context context; /* of a waking */
	const char *function;	   /* the innermost function of the program itself; NULL: unknown */
	const char *call; /* the system call, or the kernel's function behind an exception; NULL */
	const char *leaf; /* the innermost function, or that of a timer; NULL: unknown */
	bool limits_io;	  /* of a waking: a cgroup's limit of requests to a device made them wait */
	bool spins;	  /* of a sample: it tries to get a mutex or rwsem whose owner runs */
	bool named;	  /* the kernel's part has names, or there is none */
};

struct stack_notes {
	struct sched_events *events; /* borrowed */
	struct stack_note *v;	     /* owned; 0 is what is said of an event without a stack */
	size_t n, cap;
	uint32_t *wanted; /* events; owned */
	size_t n_wanted, wanted_cap;
	bool failed;		 /* out of memory */
	struct symbols *symbols; /* owned: has the names */
};

/* Event @i's stack will be needed. */
void stack_notes__want(struct stack_notes *s, uint32_t i);
/* 0 or negative errno with words in @err. */
int stack_notes__read(struct stack_notes *s, struct err *err);
/* Of event @i: says WAIT_UNKNOWN and nothing else if it has no stack or was not wanted. */
const struct stack_note *stack_notes__of(const struct stack_notes *s, uint32_t i);
void stack_notes__free(struct stack_notes *s);

#endif
