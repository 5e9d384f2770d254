// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the clock without a pause. That is code of the vdso, where one exists.
 *
 *	clock_burn SECONDS
 *
 * Prints one line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ran.h"

int main(int argc, char **argv)
{
	struct ran ran = { 0 };
	struct timespec ts;

	if (argc != 2) {
		fprintf(stderr, "usage: clock_burn SECONDS\n");
		return 2;
	}
	while (ran__less(&ran, atof(argv[1]) * 1e9))
		for (int i = 0; i < 1000; i++)
			clock_gettime(CLOCK_MONOTONIC, &ts);
	printf("{\"pid\":%d}\n", getpid());
	return 0;
}
