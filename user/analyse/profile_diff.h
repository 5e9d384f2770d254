/* SPDX-License-Identifier: GPL-2.0-only */
/* What changed between two profiles, A and B, that share their tables. */
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
	struct change self_rate, total_rate; /* a second of window: see event_change */
	bool self_noise, total_noise;	     /* so many samples differ by that much by chance */
};

enum change_order { CHANGE_BY_SELF, CHANGE_BY_TOTAL };

/* One event. Rates are ms of CPU time a second for clocks, else samples a second; 0 where the window
 * has no length. */
struct event_change {
	const char *name;
	const struct event_profile *a, *b; /* NULL: no sample there */
	bool clock, callchains;
	bool tracepoint;	   /* self is the same place for all of its samples */
	struct change rate;	   /* samples a second, whatever the event */
	struct function_change *v; /* the greatest change first; what did not change is left out */
	size_t n;
};

/* 0 or -ENOMEM. @name: of an event that one of the two has. */
int event_change__make(const struct profile *a, const struct profile *b, const char *name,
		       enum change_order order, struct event_change *ret);
void event_change__free(struct event_change *c);

struct stack_change {
	uint32_t stack;
	struct change rate;  /* ms off CPU a second of window */
	struct change share; /* percent of all time off CPU */
	struct change times; /* a second of window */
	struct change open;  /* percent of the stack's time that had not ended with the recording */
	const char *comm;    /* who had most of it, in the recording where it is longer */
};

struct offcpu_change {
	struct change rate;	/* of all but idle, ms a second of window */
	uint64_t ns_a, ns_b;	/* all but idle */
	struct change idle;	/* the same of the kernel's threads that wait for work: left out */
	struct stack_change *v; /* the greatest change of the rate first; as above */
	size_t n;
};

/* Stacks of samples of one event, of profiles that keep them: share is percent of its weight. The
 * greatest change of the share first; what did not change is there, too. */
struct cpu_stack_change {
	uint32_t stack;
	struct change share, samples;
	bool noise; /* so many samples differ by that much by chance */
};

struct cpu_change {
	uint64_t samples_a, samples_b;
	struct cpu_stack_change *v;
	size_t n;
};

/* 0 or -ENOMEM. @name: as of event_change__make(). */
int cpu_change__make(const struct profile *a, const struct profile *b, const char *name,
		     struct cpu_change *ret);
void cpu_change__free(struct cpu_change *c);

/* Of profiles that both have switches. 0 or -ENOMEM. */
int offcpu_change__make(const struct profile *a, const struct profile *b,
			struct offcpu_change *ret);
void offcpu_change__free(struct offcpu_change *c);

#endif
