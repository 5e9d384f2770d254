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
#include "common/hash.h"
#include "detect/engine/look.h"
#include "detect/engine/source.h"
#include "detect/inject/listener.h"
#include "rules/units.h"

#define LOOKS_PER_THRESHOLD 10
#define LOOK_LEAST                                                                                 \
	(10 * NSEC_PER_MSEC) /* minimum time between two looks, however low
						  * the threshold */

struct look {
	struct source *source;
	struct listener *listener;
	pthread_mutex_t lock; /* protects the rules against a running look */
	int timer;	      /* timerfd */
	bool listens;
	uint64_t failed; /* number of failed looks; read by any thread */
};

/* Have the next look at @when, ns; 0: never. */
static void look__set_timer(struct look *l, uint64_t when)
{
	const struct itimerspec its = {
		.it_value = { .tv_sec = when / NSEC_PER_SEC, .tv_nsec = when % NSEC_PER_SEC },
	};

	timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &its, NULL);
}

static const struct frbpf_bank *look_bank(const struct source *s)
{
	return &s->control->bank[s->control->bank_flips & 1];
}

/* The lowest threshold of rules that need looks; UINT64_MAX: there is no such rule. */
static uint64_t lowest_limit(const struct source *s)
{
	const struct frbpf_bank *bank = look_bank(s);

	return bank->min_pending < bank->min_silence ? bank->min_pending : bank->min_silence;
}

/* The time of the next look, ns: when an event that is pending now, or a new one, may match. */
static uint64_t next_look(const struct frbpf_look *done, uint64_t lowest)
{
	uint64_t pause = lowest / LOOKS_PER_THRESHOLD, next = done->next;

	if (pause < LOOK_LEAST)
		pause = LOOK_LEAST;
	if (next > done->now + lowest)
		next = done->now + lowest;
	return next < done->now + pause ? done->now + pause : next;
}

/* Identify the looker: the same source with another target looks at other events. */
static uint64_t looker_of(const struct source *s)
{
	const char *target = s->target ?: "";
	uint64_t hash = hash_fnv1a(HASH_FNV1A_BEGIN, target, strlen(target));

	return hash_fnv1a(hash, &s->ops->source, sizeof(s->ops->source));
}

static int look__make(struct source *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	s->looking->now = now_ns();
	s->looking->next = UINT64_MAX;
	s->looking->bank = s->control->bank_flips & 1;
	s->looking->source = s->ops->source;
	s->looking->looker = looker_of(s);
	err = look_bank(s)->min_pending == UINT64_MAX ? 0 : s->ops->look(s);
	return err ?: bpf_prog_test_run_opts(s->look_end_fd, &opts);
}

static void on_look_timer(void *arg, uint32_t events)
{
	struct look *l = arg;
	struct source *s = l->source;
	uint64_t expired, lowest;

	(void)events;
	if (read(l->timer, &expired, sizeof(expired)) < 0)
		return; /* the timer was rearmed meanwhile */
	pthread_mutex_lock(&l->lock);
	lowest = lowest_limit(s);
	if (lowest != UINT64_MAX) {
		if (look__make(s))
			__atomic_fetch_add(&l->failed, 1, __ATOMIC_RELAXED);
		look__set_timer(l, next_look(s->looking, lowest));
	}
	pthread_mutex_unlock(&l->lock);
}

int look__prepare(struct source *s)
{
	struct look *l = s->look;
	int err;

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		l->source = s;
		l->listener = s->listener;
		pthread_mutex_init(&l->lock, NULL);
		l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		s->look = l;
		if (l->timer < 0)
			return -errno;
	}
	if (l->listens)
		return 0;
	err = listener__add(l->listener, l->timer, EPOLLIN, on_look_timer, l);
	l->listens = !err;
	return err;
}

void look__pause(struct look *l)
{
	if (l)
		pthread_mutex_lock(&l->lock);
}

void look__resume(struct look *l)
{
	if (!l)
		return;
	/* look now: events that a new rule is about may be pending already */
	look__set_timer(l, lowest_limit(l->source) == UINT64_MAX ? 0 : now_ns());
	pthread_mutex_unlock(&l->lock);
}

uint64_t look__failed(const struct look *l)
{
	return l ? __atomic_load_n(&l->failed, __ATOMIC_RELAXED) : 0;
}

void look__free(struct look *l)
{
	if (!l)
		return;
	if (l->listens)
		listener__remove(l->listener, l->timer);
	if (l->timer >= 0)
		close(l->timer);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

#define KEY_MAX 64 /* bytes */

static void empty_map(const struct bpf_map *map)
{
	int fd = bpf_map__fd(map);
	char key[KEY_MAX];

	if (bpf_map__key_size(map) > sizeof(key))
		return;
	while (!bpf_map_get_next_key(fd, NULL, key) && !bpf_map_delete_elem(fd, key))
		;
}

int due_look__make(const struct due_look *l)
{
	int err;

	*l->n_due = 0;
	err = source__iterate(l->collect);
	if (err || !*l->n_due)
		return err;
	err = source__iterate(l->tasks);
	if (!err && bpf_program__autoload(l->rest))
		err = source__iterate(l->rest);
	empty_map(l->due_tasks);
	return err;
}
