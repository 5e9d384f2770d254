// SPDX-License-Identifier: GPL-2.0-only
/*
 * A short program whose runs differ like those of real programs, to measure how often a comparison
 * of runs is wrong.
 *
 *	noisy [--slower PERCENT] [--jitter PERCENT] [--work N]
 *
 *	--slower PERCENT	do that much more of everything, the sleeps too (0)
 *	--jitter PERCENT	each part is up to that much more or less each time, and the whole
 *				of a run up to half of that; the kernel gives the seed (10)
 *	--work N		how many rounds (60)
 *
 * A round: arithmetic, a pointer chase through memory that is not in the cache, pages that are
 * touched for the first time, a line to a child through a pipe and back. Every tenth has a sleep of
 * 1 ms.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHASE	(1 << 20) /* elements: 4 MB */
#define PAGE	4096
#define PAGES	64
#define KEEP(x) __asm__ volatile("" : "+r"(x))

static uint64_t seed;
static double factor = 1, jitter = 10;
static uint32_t *chase;

static double uniform(void) /* from -1 to 1 */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / (1ULL << 52) - 1;
}

static uint64_t amount(double n)
{
	return n * factor * (1 + jitter / 100 * uniform());
}

static void calculate(void)
{
	uint64_t sum = 0;

	for (uint64_t i = amount(600000); i; i--) {
		sum += i * i;
		KEEP(sum);
	}
}

static void fill_chase(void)
{
	chase = malloc(CHASE * sizeof(*chase));
	if (!chase)
		exit(1);
	/* full period: odd increment, multiplier 1 modulo 4 */
	for (uint32_t i = 0; i < CHASE; i++)
		chase[i] = (i * 1664525u + 1013904223u) % CHASE;
}

static void follow(void)
{
	uint32_t at = seed % CHASE;

	for (uint64_t i = amount(15000); i; i--)
		at = chase[at];
	KEEP(at);
}

static void touch(void)
{
	size_t len = amount(PAGES) * PAGE;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < len; i += PAGE)
		p[i] = 1;
	munmap(p, len);
}

static void rest_a_while(void)
{
	struct timespec ts = { 0, amount(1000000) };

	nanosleep(&ts, NULL);
}

/* The child: sends back what it reads. */
static void echo(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(0);
}

static void talk(int out, int in)
{
	char byte = 'x';

	for (uint64_t i = amount(10); i; i--) {
		if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
			exit(1);
	}
}

static void work(int n, int out, int in)
{
	for (int i = 0; i < n; i++) {
		calculate();
		follow();
		touch();
		talk(out, in);
		if (i % 10 == 9)
			rest_a_while();
	}
}

int main(int argc, char **argv)
{
	static const struct option opts[] = { { "slower", required_argument, NULL, 's' },
					      { "jitter", required_argument, NULL, 'j' },
					      { "work", required_argument, NULL, 'w' },
					      { 0 } };
	int there[2], back[2], opt, n = 60;
	double slower = 0;
	pid_t child;

	while ((opt = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (opt == 's')
			slower = atof(optarg);
		else if (opt == 'j')
			jitter = atof(optarg);
		else if (opt == 'w')
			n = atoi(optarg);
		else
			return 1;
	}
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed) || pipe(there) || pipe(back))
		return 1;
	seed |= 1;
	factor = (1 + slower / 100) * (1 + jitter / 200 * uniform());
	child = fork();
	if (child == 0) {
		close(there[1]);
		echo(there[0], back[1]);
	}
	fill_chase();
	work(n, there[1], back[0]);
	close(there[1]);
	return child > 0 && waitpid(child, NULL, 0) == child ? 0 : 1;
}
