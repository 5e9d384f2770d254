// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small service, as an example for frbpf run: workers look prices up in a catalog under a lock,
 * and a thread refreshes the catalog now and then from a slow upstream. It fetches first and locks
 * to swap; with --convoy it fetches with the lock held, and every worker queues behind it.
 *
 *	lock_service [--convoy] [--rounds N] [--fetch-ms N]
 *
 * Ends after N refreshes and prints {"requests": n, "slowest_us": n}.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define ITEMS	1024

struct service {
	pthread_mutex_t lock; /* of prices */
	long prices[ITEMS];
	bool convoy;
	long rounds, fetch_ns;
	atomic_bool stop;
	atomic_long requests, slowest;
};

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000L + ts.tv_nsec / 1000;
}

/*
 * The bare system call, because the C library's function may not keep the frame pointer, and the
 * stack would end there. Not a tail call, for the same reason.
 */
static __attribute__((noinline)) void wait_for_reply(long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (syscall(SYS_nanosleep, &ts, &ts) < 0 && errno == EINTR)
		;
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void fetch_prices(struct service *s, long *ret)
{
	wait_for_reply(s->fetch_ns);
	for (int i = 0; i < ITEMS; i++)
		ret[i] = i * 100 + 99;
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void refresh_catalog(struct service *s)
{
	static long fetched[ITEMS];

	if (!s->convoy)
		fetch_prices(s, fetched);
	pthread_mutex_lock(&s->lock);
	if (s->convoy)
		fetch_prices(s, fetched);
	memcpy(s->prices, fetched, sizeof(s->prices));
	pthread_mutex_unlock(&s->lock);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) long serve_price(struct service *s, long item)
{
	long price;

	pthread_mutex_lock(&s->lock);
	price = s->prices[item % ITEMS];
	pthread_mutex_unlock(&s->lock);
	return price;
}

static void *worker(void *arg)
{
	struct service *s = arg;
	long begin, took, slowest, item = 0;

	pthread_setname_np(pthread_self(), "worker");
	while (!atomic_load(&s->stop)) {
		begin = now_us();
		serve_price(s, item++);
		took = now_us() - begin;
		slowest = atomic_load(&s->slowest);
		while (took > slowest && !atomic_compare_exchange_weak(&s->slowest, &slowest, took))
			;
		atomic_fetch_add(&s->requests, 1);
		usleep(1000); /* until the next request comes */
	}
	return NULL;
}

static void *refresher(void *arg)
{
	struct service *s = arg;

	pthread_setname_np(pthread_self(), "refresher");
	for (long i = 0; i < s->rounds; i++) {
		usleep(50000);
		refresh_catalog(s);
	}
	atomic_store(&s->stop, true);
	return NULL;
}

static bool read_options(struct service *s, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--convoy"))
			s->convoy = true;
		else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
			s->rounds = atol(argv[++i]);
		else if (!strcmp(argv[i], "--fetch-ms") && i + 1 < argc)
			s->fetch_ns = atol(argv[++i]) * 1000000;
		else
			return false;
	}
	return s->rounds > 0 && s->fetch_ns > 0;
}

int main(int argc, char **argv)
{
	static struct service s = { .lock = PTHREAD_MUTEX_INITIALIZER,
				    .rounds = 3,
				    .fetch_ns = 300000000 };
	pthread_t threads[WORKERS + 1];
	int i;

	if (!read_options(&s, argc, argv)) {
		fprintf(stderr, "usage: lock_service [--convoy] [--rounds N] [--fetch-ms N]\n");
		return 2;
	}
	for (i = 0; i <= WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, i < WORKERS ? worker : refresher, &s)) {
			perror("pthread_create");
			return 1;
		}
	}
	for (i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"requests\": %ld, \"slowest_us\": %ld}\n", atomic_load(&s.requests),
	       atomic_load(&s.slowest));
	return 0;
}
