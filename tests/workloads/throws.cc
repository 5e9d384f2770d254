// SPDX-License-Identifier: GPL-2.0-only
/*
 * Throws exceptions through functions that are there to be watched: demo::outer() calls demo::inner(int),
 * which throws T times and then sleeps and returns.
 *
 *	throws [TIMES [MS]]
 *
 * Prints one line of JSON: how many it has caught, and how long the call that returned took.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <stdexcept>

static uint64_t now_ns()
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

namespace demo
{
__attribute__((noinline)) int inner(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	if (ms < 0)
		throw std::runtime_error("no time");
	nanosleep(&ts, NULL);
	return ms + 1;
}

/* Two functions with one name. */
__attribute__((noinline)) int outer(int ms)
{
	return 2 * inner(ms);
}

__attribute__((noinline)) int outer(long ms, int more)
{
	return inner(ms) + more;
}
} // namespace demo

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 3, ms = argc > 2 ? atoi(argv[2]) : 50, caught = 0,
	    ret;
	uint64_t begin, end;

	for (int i = 0; i < times; i++) {
		try {
			demo::outer(-1);
		} catch (const std::exception &e) {
			caught++;
		}
	}
	begin = now_ns();
	ret = demo::outer(ms);
	end = now_ns();
	printf("{\"caught\":%d,\"took_ns\":%llu,\"ret\":%d}\n", caught,
	       (unsigned long long)(end - begin), ret + demo::outer(0L, 0) - 1);
	return 0;
}
