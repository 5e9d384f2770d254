/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sums up recordings: the weight of every function per event, with and without its callees, and the
 * time off CPU by stack. Profiles to be compared share functions, stacks and symbols. Life: init,
 * add files, look, free.
 */
#ifndef FRBPF_ANALYSE_PROFILE_H
#define FRBPF_ANALYSE_PROFILE_H

#include "analyse/offcpu_profile.h"
#include "analyse/stacks.h"

struct profile_tables { /* { 0 } before init */
	struct symbols *symbols;
	struct functions *functions;
	struct stacks *stacks;
};

int profile_tables__init(struct profile_tables *t); /* -ENOMEM */
void profile_tables__free(struct profile_tables *t);
/* The index of the innermost function of @s that is not of the scheduler; s->n: there is none. */
size_t profile_tables__skip_scheduler(const struct profile_tables *t, const struct stack *s);

struct weight {
	double self, total; /* sums of periods; total: with callees */
	uint64_t self_samples, total_samples;
};

struct event_profile {
	char *name; /* owned */
	bool clock; /* periods are ns of CPU time */
	bool callchains;
	bool tracepoint;
	uint64_t samples;
	double weight;
	struct weight *functions; /* by id; owned */
	size_t n_functions;
	bool on_cpu;		     /* its samples show where CPU time goes */
	struct stack_weight *stacks; /* by id; only for on_cpu events and with keep_stacks; owned */
	size_t n_stacks;
};

struct stack_weight {
	double weight; /* sum of periods */
	uint64_t samples;
};

struct profile {
	struct profile_tables *tables; /* borrowed */
	uint64_t ns;		       /* first to last sample, summed over all files */
	size_t n_files;
	struct event_profile *events; /* owned */
	size_t n_events;
	bool keep_stacks; /* also keep the stacks of samples on a CPU; set after init */
	/*
	 * Events in these ranges do not count. Sorted by start, set before a file is added,
	 * borrowed.
	 */
	const struct time_range *skip;
	size_t n_skip;
	bool switches; /* sched:sched_switch was recorded, with all that offcpu needs */
	struct offcpu offcpu;
	/* used while one sample is processed */
	uint32_t *seen; /* by function: number of the last sample that contained it; owned */
	size_t n_seen;
	uint32_t sample;
};

void profile__init(struct profile *p, struct profile_tables *tables);
/* Add a recording. 0 or negative errno, message in @err; what was added before an error stays. */
int profile__add_file(struct profile *p, const char *path, struct err *err);
/* Find an event by name. NULL: no file has it. */
const struct event_profile *profile__event(const struct profile *p, const char *name);
void profile__free(struct profile *p);

/* The weight of a function, { 0 } if it has none. @e may be NULL. */
struct weight event_profile__weight(const struct event_profile *e, uint32_t function);

#endif
