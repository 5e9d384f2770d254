// SPDX-License-Identifier: GPL-2.0-only
/*
 * sleeps N LONG_MS SHORT_MS: N times, long_sleep() sleeps LONG_MS and short_sleep() SHORT_MS.
 * Prints the time that both took, in ns: "long SUM short SUM". The system call is made in these
 * functions themselves, so that they are the innermost ones of user space.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static inline __attribute__((always_inline)) uint64_t sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	uint64_t begun = now_ns();
	long ret = SYS_nanosleep;

#if defined(__x86_64__)
	asm volatile("syscall" : "+a"(ret) : "D"(&t), "S"(0) : "rcx", "r11", "memory");
#else
	ret = syscall(SYS_nanosleep, &t, NULL);
#endif
	if (ret)
		abort();
	return now_ns() - begun;
}

__attribute__((noinline)) uint64_t long_sleep(long ms)
{
	return sleep_ms(ms);
}

__attribute__((noinline)) uint64_t short_sleep(long ms)
{
	return sleep_ms(ms);
}

int main(int argc, char **argv)
{
	uint64_t sums[2] = { 0 };

	if (argc != 4)
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++) {
		sums[0] += long_sleep(atol(argv[2]));
		sums[1] += short_sleep(atol(argv[3]));
	}
	printf("long %llu short %llu\n", (unsigned long long)sums[0], (unsigned long long)sums[1]);
	return 0;
}
