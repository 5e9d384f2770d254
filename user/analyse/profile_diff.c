// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "analyse/profile_diff.h"

/* Smaller changes are due to rounding, and would be printed as 0. */
#define PERCENT_MIN 0.005
#define RATE_MIN    0.005

/* in standard errors: chance differences of two shares almost never exceed this */
#define NOISE_ERRORS 3.0

static double change_magnitude(const struct change *c)
{
	return c->a < c->b ? c->b - c->a : c->a - c->b;
}

static double share_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static double per_second(double n, const struct profile *p)
{
	return p->ns ? n * 1e9 / (double)p->ns : 0;
}

/* Can chance explain the difference of two shares, given the number of samples? */
static bool is_noise(uint64_t hits_a, uint64_t all_a, uint64_t hits_b, uint64_t all_b)
{
	double p, d, variance;

	if (!all_a || !all_b)
		return false;
	p = ((double)hits_a + (double)hits_b) / ((double)all_a + (double)all_b);
	d = (double)hits_a / (double)all_a - (double)hits_b / (double)all_b;
	if (100 * d > -PERCENT_MIN && 100 * d < PERCENT_MIN)
		return false;
	variance = p * (1 - p) * (1 / (double)all_a + 1 / (double)all_b);
	return d * d <= NOISE_ERRORS * NOISE_ERRORS * variance;
}

static double event_rate(const struct event_profile *e, const struct profile *p, double weight,
			 uint64_t samples)
{
	return per_second(e && e->clock ? weight / 1e6 : (double)samples, p);
}

static void compare_function_shares(const struct profile *pa, const struct profile *pb,
				    const struct event_change *e, uint32_t id,
				    struct function_change *ret)
{
	struct weight a = event_profile__weight(e->a, id), b = event_profile__weight(e->b, id);
	double whole_a = e->a ? e->a->weight : 0, whole_b = e->b ? e->b->weight : 0;
	uint64_t n_a = e->a ? e->a->samples : 0, n_b = e->b ? e->b->samples : 0;

	*ret = (struct function_change){
		.function = id,
		.self = { share_percent(a.self, whole_a), share_percent(b.self, whole_b) },
		.total = { share_percent(a.total, whole_a), share_percent(b.total, whole_b) },
		.self_rate = { event_rate(e->a, pa, a.self, a.self_samples),
			       event_rate(e->b, pb, b.self, b.self_samples) },
		.total_rate = { event_rate(e->a, pa, a.total, a.total_samples),
				event_rate(e->b, pb, b.total, b.total_samples) },
		.self_noise = is_noise(a.self_samples, n_a, b.self_samples, n_b),
		.total_noise = is_noise(a.total_samples, n_a, b.total_samples, n_b),
	};
}

struct ordering {
	enum change_order order;
	const struct functions *functions;
};

static int compare_function_names(const struct functions *f, uint32_t a, uint32_t b)
{
	const struct function *x = functions__get(f, a), *y = functions__get(f, b);

	return strcmp(x->symbol ?: "", y->symbol ?: "") ?: strcmp(x->module, y->module) ?:
	       (a > b) - (a < b);
}

static int compare_descending(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_function_changes(const void *a, const void *b, void *arg)
{
	const struct function_change *x = a, *y = b;
	const struct ordering *o = arg;
	int self = compare_descending(change_magnitude(&x->self), change_magnitude(&y->self));
	int total = compare_descending(change_magnitude(&x->total), change_magnitude(&y->total));
	int first = o->order == CHANGE_BY_SELF ? self : total;
	int second = o->order == CHANGE_BY_SELF ? total : self;

	return first ?: second ?: compare_function_names(o->functions, x->function, y->function);
}

/* Find an event by name. NULL: @p has no samples of it. */
static const struct event_profile *with_samples(const struct profile *p, const char *name)
{
	const struct event_profile *e = profile__event(p, name);

	return e && e->samples ? e : NULL;
}

int event_change__make(const struct profile *a, const struct profile *b, const char *name,
		       enum change_order order, struct event_change *ret)
{
	struct event_change c = { .name = name,
				  .a = with_samples(a, name),
				  .b = with_samples(b, name) };
	size_t n_a = c.a ? c.a->n_functions : 0, n_b = c.b ? c.b->n_functions : 0;
	size_t n = n_a > n_b ? n_a : n_b;
	struct ordering o = { order, a->tables->functions };

	c.clock = (c.a && c.a->clock) || (c.b && c.b->clock);
	c.tracepoint = (c.a && c.a->tracepoint) || (c.b && c.b->tracepoint);
	c.callchains = (c.a && c.a->callchains) || (c.b && c.b->callchains);
	c.rate.a = c.a ? per_second(c.a->samples, a) : 0;
	c.rate.b = c.b ? per_second(c.b->samples, b) : 0;
	c.v = calloc(n ? n : 1, sizeof(*c.v));
	if (!c.v)
		return -ENOMEM;
	for (uint32_t id = 0; id < n; id++) {
		compare_function_shares(a, b, &c, id, &c.v[c.n]);
		c.n += change_magnitude(&c.v[c.n].self) >= PERCENT_MIN ||
		       change_magnitude(&c.v[c.n].total) >= PERCENT_MIN;
	}
	if (c.n)
		qsort_r(c.v, c.n, sizeof(*c.v), compare_function_changes, &o);
	*ret = c;
	return 0;
}

void event_change__free(struct event_change *c)
{
	free(c->v);
	*c = (struct event_change){ 0 };
}

static int by_rate(const void *a, const void *b)
{
	const struct stack_change *x = a, *y = b;

	return compare_descending(change_magnitude(&x->rate), change_magnitude(&y->rate)) ?:
	       compare_descending(change_magnitude(&x->share), change_magnitude(&y->share)) ?:
	       (x->stack > y->stack) - (x->stack < y->stack);
}

static struct offcpu_stack stack_of(const struct offcpu *o, uint32_t id)
{
	return id < o->n ? o->v[id] : (struct offcpu_stack){ 0 };
}

/*
 * Is it the stack of a kernel thread that waits for work? Its state says so, or it sleeps directly
 * in the thread's main function.
 */
static bool is_idle(const struct profile_tables *t, uint32_t id)
{
	const struct stack *s = stacks__get(t->stacks, id);
	bool sleeps = !strcmp(offcpu__state_name(s->state), "S");
	size_t i = profile_tables__skip_scheduler(t, s), k;

	if (!strcmp(offcpu__state_name(s->state), "I"))
		return true;
	if (!sleeps || i + 1 >= s->n)
		return false;
	for (k = i; k < i + 2; k++) {
		const struct function *f = functions__get(t->functions, s->functions[k]);

		if (f->kernel && f->symbol && (!strcmp(f->symbol, k == i ? "kthreadd" : "kthread")))
			return true;
	}
	return false;
}

/* Idle time off CPU, ns. */
static uint64_t idle_of(const struct profile *p)
{
	uint64_t ns = 0;

	for (uint32_t id = 0; id < p->offcpu.n; id++) {
		if (p->offcpu.v[id].ns && is_idle(p->tables, id))
			ns += p->offcpu.v[id].ns;
	}
	return ns < p->offcpu.ns ? ns : p->offcpu.ns;
}

int offcpu_change__make(const struct profile *a, const struct profile *b, struct offcpu_change *ret)
{
	const struct offcpu *oa = &a->offcpu, *ob = &b->offcpu;
	size_t n = oa->n > ob->n ? oa->n : ob->n;
	uint64_t idle_a = idle_of(a), idle_b = idle_of(b);
	uint64_t all_a = oa->ns - idle_a, all_b = ob->ns - idle_b;
	struct offcpu_change c = {
		.ns_a = all_a,
		.ns_b = all_b,
		.rate = { per_second((double)all_a / 1e6, a), per_second((double)all_b / 1e6, b) },
		.idle = { per_second((double)idle_a / 1e6, a),
			  per_second((double)idle_b / 1e6, b) },
		.v = calloc(n ? n : 1, sizeof(*c.v)),
	};

	if (!c.v)
		return -ENOMEM;
	for (uint32_t id = 0; id < n; id++) {
		struct offcpu_stack x = stack_of(oa, id), y = stack_of(ob, id);
		struct stack_change *v = &c.v[c.n];

		if ((!x.ns && !y.ns) || is_idle(a->tables, id))
			continue;
		*v = (struct stack_change){
			.stack = id,
			.rate = { per_second((double)x.ns / 1e6, a),
				  per_second((double)y.ns / 1e6, b) },
			.open = { share_percent(x.open_ns, x.ns), share_percent(y.open_ns, y.ns) },
			.share = { share_percent(x.ns, all_a), share_percent(y.ns, all_b) },
			.times = { per_second(x.times, a), per_second(y.times, b) },
			.comm = x.ns > y.ns  ? oa->v[id].comm
				: id < ob->n ? ob->v[id].comm
					     : "",
		};
		c.n += change_magnitude(&v->rate) >= RATE_MIN ||
		       change_magnitude(&v->share) >= PERCENT_MIN;
	}
	if (c.n)
		qsort(c.v, c.n, sizeof(*c.v), by_rate);
	*ret = c;
	return 0;
}

void offcpu_change__free(struct offcpu_change *c)
{
	free(c->v);
	*c = (struct offcpu_change){ 0 };
}

static int compare_changed_shares(const void *a, const void *b)
{
	const struct cpu_stack_change *x = a, *y = b;

	return compare_descending(change_magnitude(&x->share), change_magnitude(&y->share))
		       ?: (x->stack > y->stack) - (x->stack < y->stack);
}

static struct stack_weight cpu_stack_of(const struct event_profile *e, uint32_t id)
{
	return e && id < e->n_stacks ? e->stacks[id] : (struct stack_weight){ 0 };
}

int cpu_change__make(const struct profile *a, const struct profile *b, const char *name,
		     struct cpu_change *ret)
{
	const struct event_profile *ea = with_samples(a, name), *eb = with_samples(b, name);
	size_t n_a = ea ? ea->n_stacks : 0, n_b = eb ? eb->n_stacks : 0, n = n_a > n_b ? n_a : n_b;
	struct cpu_change c = { .samples_a = ea ? ea->samples : 0,
				.samples_b = eb ? eb->samples : 0,
				.v = calloc(n ? n : 1, sizeof(*c.v)) };

	if (!c.v)
		return -ENOMEM;
	for (uint32_t id = 0; id < n; id++) {
		struct stack_weight x = cpu_stack_of(ea, id), y = cpu_stack_of(eb, id);

		if (!x.samples && !y.samples)
			continue;
		c.v[c.n++] = (struct cpu_stack_change){
			.stack = id,
			.share = { share_percent(x.weight, ea ? ea->weight : 0),
				   share_percent(y.weight, eb ? eb->weight : 0) },
			.samples = { x.samples, y.samples },
			.noise = is_noise(x.samples, c.samples_a, y.samples, c.samples_b),
		};
	}
	if (c.n)
		qsort(c.v, c.n, sizeof(*c.v), compare_changed_shares);
	*ret = c;
	return 0;
}

void cpu_change__free(struct cpu_change *c)
{
	free(c->v);
	*c = (struct cpu_change){ 0 };
}
