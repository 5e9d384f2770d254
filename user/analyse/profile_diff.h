/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares two profiles, A and B, that share their tables. */
#ifndef FRBPF_ANALYSE_PROFILE_DIFF_H
#define FRBPF_ANALYSE_PROFILE_DIFF_H

#include "analyse/profile.h"

struct change {
	double a, b;
};

static inline double change__by(const struct change *c)
{
	return c->b - c->a;
}

struct function_change {
	uint32_t function;
	struct change self, total;	     /* percent of the event's weight */
	struct change self_rate, total_rate; /* per second of window, see event_change */
	bool self_noise, total_noise;	     /* no more than chance */
};

enum change_order { CHANGE_BY_SELF, CHANGE_BY_TOTAL };

/*
 * The changes of one event. Rates are ms of CPU time per second for clocks, otherwise samples per
 * second; 0 if the window has no length.
 */
struct event_change {
	const char *name;
	const struct event_profile *a, *b; /* NULL: no sample in this profile */
	bool clock, callchains;
	bool tracepoint;	   /* all samples have the same self: the tracepoint */
	struct change rate;	   /* samples per second, for any event */
	struct function_change *v; /* owned; largest change first, without unchanged ones */
	size_t n;
};

/* Compare event @name, which A or B has. 0 or -ENOMEM. */
int event_change__make(const struct profile *a, const struct profile *b, const char *name,
		       enum change_order order, struct event_change *ret);
void event_change__free(struct event_change *c);

struct stack_change {
	uint32_t stack;
	struct change rate;  /* ms off CPU per second of window */
	struct change share; /* percent of all time off CPU */
	struct change times; /* times off CPU, per second of window */
	struct change open;  /* percent of the stack's time still open when the recording ended */
	const char *comm;    /* the task with most time, in the recording with the longer time */
};

struct offcpu_change {
	struct change rate;  /* all but idle, ms per second of window */
	uint64_t ns_a, ns_b; /* ns, all but idle */
	struct change idle;  /* the same for idle kernel threads, which are left out of the rest */
	struct stack_change *v; /* the largest change of the rate first; owned */
	size_t n;
};

/*
 * A stack of the samples of one event, of profiles with keep_stacks. Share is the percentage of the
 * event's weight. The largest change of the share comes first; unchanged stacks are included.
 */
struct cpu_stack_change {
	uint32_t stack;
	struct change share, samples;
	bool noise; /* chance explains the difference, given the number of samples */
};

struct cpu_change {
	uint64_t samples_a, samples_b;
	struct cpu_stack_change *v;
	size_t n;
};

/* Compare the stacks of event @name, which A or B has. 0 or -ENOMEM. */
int cpu_change__make(const struct profile *a, const struct profile *b, const char *name,
		     struct cpu_change *ret);
void cpu_change__free(struct cpu_change *c);

/* Compare the time off CPU of two profiles that have switches. 0 or -ENOMEM. */
int offcpu_change__make(const struct profile *a, const struct profile *b,
			struct offcpu_change *ret);
void offcpu_change__free(struct offcpu_change *c);

#endif
