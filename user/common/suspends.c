// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "common/realtime.h"
#include "common/suspends.h"

#define LENGTH_LEAST                                                                               \
	100000000ULL /* ns; smaller differences come from reading two clocks one after the other */

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* has priority inheritance, because real-time threads use it */
static pthread_mutex_t lock;
static struct suspend list[SUSPENDS_MAX];
static size_t n_list;
static uint64_t ahead_before;
static bool looked;

static void init_list_lock(void)
{
	thread__init_lock(&lock);
}

static void lock_list(void)
{
	pthread_once(&once, init_list_lock);
	pthread_mutex_lock(&lock);
}

/* Under the lock. */
static void add_suspend(uint64_t seen, uint64_t length)
{
	if (n_list == SUSPENDS_MAX) {
		list[1].length += list[0].length;
		memmove(&list[0], &list[1], --n_list * sizeof(list[0]));
	}
	list[n_list++] = (struct suspend){ seen, length };
}

bool suspends__note(uint64_t monotonic, uint64_t ahead)
{
	bool longer;

	lock_list();
	longer = looked && ahead > ahead_before + LENGTH_LEAST;
	if (longer)
		add_suspend(monotonic, ahead - ahead_before);
	if (longer || !looked)
		ahead_before = ahead;
	looked = true;
	pthread_mutex_unlock(&lock);
	return longer;
}

bool suspends__look(void)
{
	uint64_t before = now_ns(), boot = clock_ns(CLOCK_BOOTTIME);

	return suspends__note(now_ns(), boot > before ? boot - before : 0);
}

size_t suspends__list(uint64_t from, uint64_t to, struct suspend ret[static SUSPENDS_MAX])
{
	size_t n = 0;

	lock_list();
	for (size_t i = 0; i < n_list; i++) {
		if (list[i].seen > from && list[i].seen <= to)
			ret[n++] = list[i];
	}
	pthread_mutex_unlock(&lock);
	return n;
}

uint64_t suspends__between(uint64_t from, uint64_t to)
{
	struct suspend v[SUSPENDS_MAX];
	size_t n = suspends__list(from, to, v);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i].length;
	return sum;
}
