// SPDX-License-Identifier: GPL-2.0-only
/* Hits the probe of configs/include/frbpf.h: app_probe [TIMES [MS]] */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../configs/include/frbpf.h"

int main(int argc, char **argv)
{
	long times = argc > 1 ? atol(argv[1]) : 1, ms = argc > 2 ? atol(argv[2]) : 0;

	for (long i = 0; i < times; i++) {
		FRBPF_TRIGGER(slow_request, ms * 1000000);
		FRBPF_TRIGGER(constant, 812000000UL);
	}
	printf("{\"pid\": %d}\n", (int)getpid());
	return 0;
}
