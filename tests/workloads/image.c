// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program image whose function has its own name, to identify the image in a profile. Tests build
 * it several times: cc -DIMAGE=alpha makes burn_alpha(), with -DLIBRARY -shared a library of it.
 *
 * image [--wait] SECONDS [PROGRAM ARGUMENTS...]
 *
 * Burns SECONDS of CPU time in burn_IMAGE(), then becomes PROGRAM. --wait: first waits for a byte,
 * or the end, of standard input. Prints one line of JSON when it begins to burn.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ran.h"
#include "workload.h"

#ifndef IMAGE
#define IMAGE image
#endif
#define PASTE(a, b)  a##b
#define PASTE2(a, b) PASTE(a, b)
#define BURN	     PASTE2(burn_, IMAGE)

void BURN(uint64_t ns);
__attribute__((noinline, noclone)) void BURN(uint64_t ns)
{
	struct ran ran = { 0 };
	uint64_t sum = 0;

	while (ran__less(&ran, ns))
		for (unsigned int i = 0; i < 100000; i++) {
			sum += i * i;
			__asm__ volatile("" : "+r"(sum));
		}
}

#ifdef LIBRARY
void library_burn(uint64_t ns);
void library_burn(uint64_t ns)
{
	BURN(ns);
}
#else
int main(int argc, char **argv)
{
	int first = argc > 1 && !strcmp(argv[1], "--wait") ? 2 : 1;
	char c;

	if (argc <= first) {
		fprintf(stderr, "usage: image [--wait] SECONDS [PROGRAM ARGUMENTS...]\n");
		return 2;
	}
	if (first == 2 && read(0, &c, 1) < 0)
		return 1;
	printf("{\"pid\":%d,\"tid\":%d,\"begin_ns\":%llu}\n", getpid(), getpid(),
	       (unsigned long long)now_ns());
	fflush(stdout);
	BURN(atof(argv[first]) * NSEC_PER_SEC);
	if (argc > first + 1) {
		execv(argv[first + 1], argv + first + 1);
		perror(argv[first + 1]);
		return 1;
	}
	return 0;
}
#endif
