// SPDX-License-Identifier: GPL-2.0-only
/*
 * unwinds: threads that are cancelled, or call pthread_exit(), inside of watched functions. Prints
 * how many clean-ups ran, and how often a function found a return address outside of this program:
 * a return probe replaces it, and unwinding ends there.
 */
/* without exceptions, pthread_cleanup_push() expands to code that causes this warning */
#pragma GCC diagnostic ignored "-Wclobbered"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

extern char __executable_start[], etext[];
static int cleaned, strange;

static void clean(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static void look(char *at)
{
	if (at < __executable_start || at >= etext)
		__atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
}

#define FUNC(name, body)                                                                           \
	__attribute__((noinline, noclone)) int name(int leave)                                     \
	{                                                                                          \
		look(__builtin_return_address(0));                                                 \
		body;                                                                              \
		return leave + 1;                                                                  \
	}

static void halt(int leave)
{
	if (leave)
		pthread_exit(NULL);
	pause();
}

FUNC(plain, halt(leave))
FUNC(attribute, __attribute__((cleanup(clean))) int x = 0; halt(leave))
FUNC(pushes, pthread_cleanup_push(clean, NULL); halt(leave); pthread_cleanup_pop(0))
FUNC(returns, usleep(30000))

static int (*const funcs[])(int) = { plain, attribute, pushes };

static void *run(void *which)
{
	__attribute__((cleanup(clean))) int x = 0;
	long i = (long)which;

	return (void *)(long)funcs[i / 2](i % 2);
}

int main(void)
{
	for (int round = 0; round < 5; round++) {
		for (long i = 0; i < 6; i++) {
			pthread_t t;

			pthread_create(&t, NULL, run, (void *)i);
			if (!(i % 2))
				pthread_cancel(t);
			pthread_join(t, NULL);
		}
	}
	returns(1);
	printf("cleaned %d, strange %d\n", cleaned, strange);
	return 0;
}
