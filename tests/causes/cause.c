// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a thread wait for a known reason. Prints one line of JSON: the subject, the culprit, and
 * the time by CLOCK_MONOTONIC. Tests compare that with the answer of `frbpf why`.
 *
 * cause [--ms N] NAME
 * cause [--ms N] on-slow-disk PREPARE COMMAND	see slow_disk.h; a request takes N ms
 * cause --list
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slow_disk.h"
#include "stage.h"

static const struct cause_case *const tables[] = { thread_cases, memory_cases, storage_cases };

#define TABLES (sizeof(tables) / sizeof(tables[0]))

/* The case after @c in all tables. NULL: the first one. */
static const struct cause_case *next_case(const struct cause_case *c, size_t *table)
{
	if (!c)
		c = tables[ *table = 0];
	else
		c++;
	while (!c->name && *table + 1 < TABLES)
		c = tables[++*table];
	return c->name ? c : NULL;
}

static int last_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	return last;
}

/* Make a stage in memory that the processes of the case share. */
static struct stage *make_stage(long ms)
{
	struct stage *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		die("mmap");
	s->ns = ms * 1000000;
	s->cpu = last_cpu();
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->second, NULL);
	pthread_rwlock_init(&s->rwlock, NULL);
	pthread_barrier_init(&s->ready, NULL, 2);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s->pair) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, s->other) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, s->third))
		die("socketpair");
	snprintf(s->path, sizeof(s->path), "/tmp/cause-%d", getpid());
	return s;
}

static int run(const struct cause_case *c, long ms)
{
	struct stage *s = make_stage(ms);

	c->run(s);
	printf("{\"name\": \"%s\", \"cause\": \"%s\", \"subject\": %d, \"culprits\": [%d", c->name,
	       c->cause, s->subject, s->culprit);
	for (int k = 1; k < EQUALS && s->culprits[k]; k++)
		printf(", %d", s->culprits[k]);
	printf("]%s, \"from\": %llu.%09llu, "
	       "\"to\": %llu.%09llu}\n",
	       s->others_idle ? ", \"others_idle\": true" : "",
	       (unsigned long long)s->from / 1000000000, (unsigned long long)s->from % 1000000000,
	       (unsigned long long)s->to / 1000000000, (unsigned long long)s->to % 1000000000);
	fflush(stdout);
	while (getenv("CAUSE_STAYS") && getchar() != EOF) /* until the test has read our state */
		;
	return 0;
}

int main(int argc, char **argv)
{
	long ms = 60;
	int arg = 1;
	const struct cause_case *c = NULL;
	size_t table = 0;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		while ((c = next_case(c, &table)))
			puts(c->name);
		return 0;
	}
	if (argc >= 4 && !strcmp(argv[1], "--ms")) {
		ms = atol(argv[2]);
		arg = 3;
	}
	if (arg == argc - 3 && !strcmp(argv[arg], "on-slow-disk"))
		return on_slow_disk(ms * 1000000, argv[arg + 1], argv[arg + 2]);
	while (arg == argc - 1 && (c = next_case(c, &table)))
		if (!strcmp(c->name, argv[arg]))
			return run(c, ms);
	fprintf(stderr,
		"usage: cause [--ms N] NAME | on-slow-disk PREPARE COMMAND; cause --list\n");
	return 2;
}
