// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/engine/learners.h"
#include "detect/inject/listener.h"
#include "rules/units.h"

/* The values of a tenth of the `learn` period. */
struct slice {
	uint64_t n[FRBPF_LEARN_BUCKETS];
};

struct learner {
	uint64_t id; /* rule_conf.learn_id */
	struct when_learn conf;
	uint64_t least;		   /* ns: the limit is not lower */
	int map;		   /* the programs count here; owned */
	struct frbpf_learned *cpu; /* buffer for a read of the map: for each possible CPU */
	struct slice seen;	   /* the counts of all CPUs when the present slice began */
	struct slice slices[PAST_SLICES];
	uint32_t at;	     /* index of the present slice; it is filled when it ends */
	uint64_t due;	     /* ns: when the present slice ends */
	uint64_t percentile; /* ns; 0: unknown */
	uint64_t time;	     /* ns: when `percentile` was calculated; 0: before this process */
};

struct learners {
	struct listener *listener;	 /* borrowed */
	struct frbpf_rule_state *states; /* mapped; borrowed */
	int outer;			 /* borrowed */
	int n_cpus;
	int timer; /* timerfd; -1: no rule learnt yet */
	bool listens;
	pthread_mutex_t lock; /* for all that follows */
	struct learner *of[FRBPF_MAX_SLOTS];
	uint64_t changes;
};

static int learned_map(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "frbpf_learned", sizeof(uint32_t),
				sizeof(struct frbpf_learned), 1, NULL);

	return fd < 0 ? -errno : fd;
}

int learners__new(struct listener *listener, struct frbpf_rule_state *states, int *ret_fd,
		  struct learners **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	_cleanup_close_ int inner = learned_map();
	struct learners *l;
	int outer;

	if (inner < 0)
		return inner;
	opts.inner_map_fd = inner;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "frbpf_learned", sizeof(uint32_t),
			       sizeof(uint32_t), FRBPF_MAX_SLOTS, &opts);
	if (outer < 0)
		return -errno;
	*ret_fd = outer;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->outer = outer;
	l->listener = listener;
	l->states = states;
	l->n_cpus = libbpf_num_possible_cpus();
	l->timer = -1;
	pthread_mutex_init(&l->lock, NULL);
	*ret = l;
	return 0;
}

/* ---- learnt thresholds ---- */

static uint64_t learner__slice(const struct learner *w)
{
	return w->conf.time / PAST_SLICES;
}

/*
 * The lowest value of a bucket. A double, since the value for the last bucket + 1 exceeds 64 bits.
 */
static double learn_bucket_begin(uint32_t bucket)
{
	uint32_t shift = bucket >> FRBPF_LEARN_BITS, eighth = bucket % (1 << FRBPF_LEARN_BITS);

	if (!shift)
		return eighth;
	shift--;
	return (double)(eighth + (1 << FRBPF_LEARN_BITS)) * (double)(1ULL << shift);
}

/*
 * The percentile of the @n values, in hundredths of a percent. Values in a bucket are taken to be
 * spread evenly.
 */
static uint64_t slice__percentile(const struct slice *s, uint64_t n, uint32_t hundredths)
{
	double rank = (double)n * hundredths / 10000, below = 0;

	for (uint32_t b = 0; b < FRBPF_LEARN_BUCKETS; b++) {
		double from = learn_bucket_begin(b), width = learn_bucket_begin(b + 1) - from,
		       value;

		if (!s->n[b])
			continue;
		if (below + (double)s->n[b] < rank) {
			below += (double)s->n[b];
			continue;
		}
		value = from + width * (rank - below) / (double)s->n[b];
		return value < (double)(1ULL << 62) ? (uint64_t)value : 1ULL << 62;
	}
	return 0;
}

/* Sum all slices in @ret. Returns the number of values. */
static uint64_t learner__sum(const struct learner *w, struct slice *ret)
{
	uint64_t n = 0;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < PAST_SLICES; i++) {
		for (uint32_t b = 0; b < FRBPF_LEARN_BUCKETS; b++) {
			ret->n[b] += w->slices[i].n[b];
			n += w->slices[i].n[b];
		}
	}
	return n;
}

/* Get the counts since the slice began. */
static int learner__read(struct learner *w, int n_cpus, struct slice *ret)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(w->map, &zero, w->cpu))
		return -errno;
	memset(ret, 0, sizeof(*ret));
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		for (uint32_t b = 0; b < FRBPF_LEARN_BUCKETS; b++)
			ret->n[b] += w->cpu[cpu].n[b];
	}
	for (uint32_t b = 0; b < FRBPF_LEARN_BUCKETS; b++)
		ret->n[b] -= w->seen.n[b];
	return 0;
}

static uint64_t learner__limit(const struct learner *w)
{
	double limit = (double)w->percentile * w->conf.factor / 100;
	uint64_t ns = limit < (double)(1ULL << 62) ? (uint64_t)limit : 1ULL << 62;

	if (!w->percentile)
		return FRBPF_LEARN_NOT_YET;
	return ns > w->least ? ns : w->least;
}

static void learners__set_limit(struct learners *l, uint32_t slot)
{
	__atomic_store_n(&l->states[slot].limit, learner__limit(l->of[slot]), __ATOMIC_RELAXED);
}

/* End a slice, and set a new limit if there are enough values. */
static void learners__step(struct learners *l, uint32_t slot, uint64_t now)
{
	struct learner *w = l->of[slot];
	struct slice sum, *fresh = &w->slices[w->at];
	uint64_t n;

	if (learner__read(w, l->n_cpus, fresh)) {
		memset(fresh, 0, sizeof(*fresh));
		return;
	}
	for (uint32_t b = 0; b < FRBPF_LEARN_BUCKETS; b++)
		w->seen.n[b] += fresh->n[b];
	n = learner__sum(w, &sum);
	w->at = (w->at + 1) % PAST_SLICES;
	memset(&w->slices[w->at], 0, sizeof(w->slices[0]));
	if (n < when_learn__least(&w->conf))
		return;
	w->percentile = slice__percentile(&sum, n, w->conf.percentile) ?: 1;
	w->time = now;
	learners__set_limit(l, slot);
	l->changes++;
}

/* ---- timer ---- */

static void learners__set_timer(struct learners *l)
{
	struct itimerspec its = { 0 };
	uint64_t first = UINT64_MAX;

	for (uint32_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		if (l->of[slot] && l->of[slot]->due < first)
			first = l->of[slot]->due;
	}
	if (first != UINT64_MAX) {
		its.it_value.tv_sec = first / NSEC_PER_SEC;
		its.it_value.tv_nsec = first % NSEC_PER_SEC;
	}
	timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &its, NULL);
}

void learners__advance(struct learners *l, uint64_t now)
{
	pthread_mutex_lock(&l->lock);
	for (uint32_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		struct learner *w = l->of[slot];

		if (!w || now < w->due)
			continue;
		learners__step(l, slot, now);
		w->due = now + learner__slice(w);
	}
	learners__set_timer(l);
	pthread_mutex_unlock(&l->lock);
}

static void learners__on_timer(void *arg, uint32_t events)
{
	struct learners *l = arg;
	uint64_t expired;

	(void)events;
	if (read(l->timer, &expired, sizeof(expired)) > 0) /* else the timer was rearmed */
		learners__advance(l, now_ns());
}

/* Start the timer, with the first rule that learns. */
static int learners__listen(struct learners *l)
{
	int err;

	if (l->timer < 0)
		l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer < 0)
		return -errno;
	if (l->listens)
		return 0;
	err = listener__add(l->listener, l->timer, EPOLLIN, learners__on_timer, l);
	l->listens = !err;
	return err;
}

/* ---- rules come and go ---- */

static void learner__free(struct learner *w)
{
	if (!w)
		return;
	if (w->map >= 0)
		close(w->map);
	free(w->cpu);
	free(w);
}

static struct learner *learner__new(const struct rule_conf *r, int n_cpus)
{
	struct learner *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->id = r->learn_id;
	w->conf = r->when.learn;
	w->least = r->when.threshold;
	w->map = learned_map();
	w->cpu = calloc(n_cpus, sizeof(*w->cpu));
	w->due = now_ns() + learner__slice(w);
	if (w->map >= 0 && w->cpu)
		return w;
	learner__free(w);
	return NULL;
}

/* Recalculate the percentile: the rule may use another one than before. */
static void learner__begin_with(struct learner *w)
{
	struct slice sum;
	uint64_t n = learner__sum(w, &sum);

	if (n >= when_learn__least(&w->conf))
		w->percentile = slice__percentile(&sum, n, w->conf.percentile) ?: 1;
}

/* Copy what another slot has learnt from the same values. */
static bool learner__inherit(struct learner *w, const struct learners *l)
{
	for (uint32_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		const struct learner *of = l->of[slot];

		if (!of || of->id != w->id)
			continue;
		memcpy(w->slices, of->slices, sizeof(w->slices));
		w->at = of->at;
		w->time = of->time;
		if (of->conf.percentile == w->conf.percentile)
			w->percentile = of->percentile;
		learner__begin_with(w);
		return true;
	}
	return false;
}

static void learner__recall(struct learner *w, const struct past *past)
{
	for (size_t i = 0; past && i < past->n_learnt; i++) {
		const struct past_learnt *p = &past->learnt[i];

		if (p->id != w->id)
			continue;
		for (size_t k = 0; k < p->n_buckets; k++) {
			const struct past_bucket *b = &p->buckets[k];

			w->slices[b->slice % PAST_SLICES].n[b->bucket % FRBPF_LEARN_BUCKETS] = b->n;
		}
		w->at = PAST_SLICES - 1; /* past.h: this slice is still empty */
		if (p->percentile_of == w->conf.percentile)
			w->percentile = p->percentile;
		learner__begin_with(w);
		return;
	}
}

int learners__give(struct learners *l, uint32_t slot, const struct rule_conf *r,
		   const struct past *past)
{
	struct learner *w;
	int err;

	learners__take_back(l, slot);
	if (!r->when.learn.percentile)
		return 0;
	w = learner__new(r, l->n_cpus);
	if (!w)
		return -ENOMEM;
	err = bpf_map_update_elem(l->outer, &slot, &w->map, BPF_ANY) ? -errno : learners__listen(l);
	if (err) {
		learner__free(w);
		return err;
	}
	pthread_mutex_lock(&l->lock);
	if (!learner__inherit(w, l))
		learner__recall(w, past);
	l->of[slot] = w;
	learners__set_limit(l, slot);
	learners__set_timer(l);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

void learners__take_back(struct learners *l, uint32_t slot)
{
	if (!l->of[slot])
		return;
	bpf_map_delete_elem(l->outer, &slot);
	pthread_mutex_lock(&l->lock);
	learner__free(l->of[slot]);
	l->of[slot] = NULL;
	learners__set_timer(l);
	pthread_mutex_unlock(&l->lock);
}

/* ---- for other modules ---- */

bool learners__get(struct learners *l, uint32_t slot, struct learnt *ret)
{
	struct learner *w;
	struct slice sum;

	pthread_mutex_lock(&l->lock);
	w = l->of[slot];
	if (w) {
		if (learner__read(w, l->n_cpus, &w->slices[w->at]))
			memset(&w->slices[w->at], 0, sizeof(w->slices[0]));
		*ret = (struct learnt){ .values = learner__sum(w, &sum),
					.percentile = w->percentile,
					.limit = w->percentile ? learner__limit(w) : 0,
					.time = w->time };
		memset(&w->slices[w->at], 0, sizeof(w->slices[0]));
	}
	pthread_mutex_unlock(&l->lock);
	return w;
}

/* List the buckets of all slices, the oldest slice first. */
static size_t learner__buckets(const struct learner *w, struct past_bucket *ret)
{
	size_t n = 0;

	for (uint32_t i = 0; i < PAST_SLICES; i++) {
		const struct slice *s = &w->slices[(w->at + 1 + i) % PAST_SLICES];

		for (uint32_t b = 0; b < FRBPF_LEARN_BUCKETS; b++) {
			if (s->n[b])
				ret[n++] = (struct past_bucket){ i, b, s->n[b] };
		}
	}
	return n;
}

int learners__each(struct learners *l, void (*fn)(const struct past_learnt *p, void *arg),
		   void *arg)
{
	_cleanup_free_ struct past_bucket *buckets =
		calloc(PAST_SLICES * FRBPF_LEARN_BUCKETS, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	pthread_mutex_lock(&l->lock);
	for (uint32_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++) {
		const struct learner *w = l->of[slot];
		struct past_learnt p;

		if (!w)
			continue;
		p = (struct past_learnt){ .id = w->id,
					  .percentile_of = w->conf.percentile,
					  .percentile = w->percentile,
					  .buckets = buckets,
					  .n_buckets = learner__buckets(w, buckets) };
		fn(&p, arg);
	}
	pthread_mutex_unlock(&l->lock);
	return 0;
}

uint64_t learners__changes(struct learners *l)
{
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = l->changes;
	pthread_mutex_unlock(&l->lock);
	return n;
}

void learners__free(struct learners *l)
{
	if (!l)
		return;
	if (l->listens)
		listener__remove(l->listener, l->timer);
	if (l->timer >= 0)
		close(l->timer);
	for (uint32_t slot = 0; slot < FRBPF_MAX_SLOTS; slot++)
		learner__free(l->of[slot]);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
