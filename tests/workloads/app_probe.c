// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits the probe of configs/include/frbpf.h: app_probe [TIMES [MS [--until FILE]]]
 *
 * --until: waits until FILE exists before the first hit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../configs/include/frbpf.h"
#include "workload.h"

static void await(const char *file)
{
	while (access(file, F_OK))
		usleep(10000);
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 0, begin;

	if (argc > 4 && !strcmp(argv[3], "--until"))
		await(argv[4]);
	begin = now_ns();
	for (long i = 0; i < times; i++) {
		FRBPF_TRIGGER(slow_request, ms * 1000000);
		FRBPF_TRIGGER(constant, 812000000UL);
	}
	printf("{\"pid\": %d, \"begin_ns\": %ld, \"end_ns\": %ld}\n", (int)getpid(), begin,
	       (long)now_ns());
	return 0;
}
