// SPDX-License-Identifier: GPL-2.0-only
/*
 * frameless: sleeps 60 ms in frameless_hold(), called by frameless_outer(). As in programs of
 * distributions, neither has a frame pointer; its register holds other data.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__aarch64__)
#define FRAME_POINTER "x29"
#else
#define FRAME_POINTER "rbp"
#endif

#pragma GCC optimize("omit-frame-pointer")

__attribute__((noinline, noclone)) int frameless_hold(const char *text)
{
	const struct timespec ts = { .tv_nsec = 60000000 };
	char local[200];

	memset(local, text[0], sizeof(local));
	nanosleep(&ts, NULL);
	return local[text[1] % 100];
}

__attribute__((noinline, noclone)) int frameless_outer(const char *text)
{
	register long other asm(FRAME_POINTER) = 12345;

	asm volatile("" : "+r"(other));
	return frameless_hold(text) + (int)other;
}

int main(void)
{
	int got;

	usleep(1000); /* let the switches of the loader come first */
	got = frameless_outer("text");
	printf("%d\n", getpid());
	return got == 0;
}
