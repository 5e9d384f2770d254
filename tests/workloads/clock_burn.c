// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks for the time without a pause, which is code of the vdso where there is one.
 *
 *	clock_burn SECONDS
 *
 * Prints one line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end;

	if (argc != 2) {
		fprintf(stderr, "usage: clock_burn SECONDS\n");
		return 2;
	}
	for (end = now() + atof(argv[1]); now() < end;)
		;
	printf("{\"pid\":%d}\n", getpid());
	return 0;
}
