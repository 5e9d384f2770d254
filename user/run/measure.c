// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_file.h"
#include "detect/engine/cgroups.h"
#include "rules/units.h"
#include "run/measure.h"

#define FILE_MAX (8 << 20)

struct machine {
	uint64_t ticks; /* clock ticks per second, as in /proc/stat */
	char **limits;	/* cpu.stat of the own cgroup and its parents; owned */
	size_t n_limits;
};

/* ---- the machine: parsers ---- */

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

void machine__parse_stat(const char *text, uint64_t ticks, struct machine_sample *ret)
{
	uint64_t idle, iowait, steal, ns = NSEC_PER_SEC / ticks;
	uint32_t cpus = 0;

	for (const char *line = text; line; line = next_line(line)) {
		if (strncmp(line, "cpu", 3) != 0)
			continue;
		if (line[3] != ' ') {
			cpus++;
		} else if (sscanf(line, "cpu %*u %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64,
				  &idle, &iowait, &steal) == 3) {
			ret->idle = (idle + iowait) * ns;
			ret->steal = steal * ns;
		}
	}
	if (cpus)
		ret->cpus = cpus;
}

uint64_t machine__parse_throttled(const char *text)
{
	uint64_t us = 0;

	return proc_file__number(text, "throttled_usec", &us) ? us * 1000 : 0;
}

uint64_t machine__parse_pressure(const char *text)
{
	uint64_t us;

	return proc_file__pressure(text, "some", &us) ? 0 : us * 1000;
}

/* ---- the machine: reading ---- */

static const char *read_text_file(struct buf *b, const char *path)
{
	b->len = 0;
	return buf__read_file(b, path, FILE_MAX) == 0 && b->data ? b->data : "";
}

static int add_limit(struct machine *m, const char *dir)
{
	char **v = reallocarray(m->limits, m->n_limits + 1, sizeof(*v)), *path;

	if (!v)
		return -ENOMEM;
	m->limits = v;
	if (asprintf(&path, "%s/cpu.stat", dir) < 0)
		return -ENOMEM;
	v[m->n_limits++] = path;
	return 0;
}

/* Find our cgroup, and all of its visible parents. */
static int find_limits(struct machine *m)
{
	char mount[PATH_MAX], dir[2 * PATH_MAX];
	struct buf b = { 0 };
	const char *line = read_text_file(&b, "/proc/self/cgroup");
	size_t root;
	int err = 0;

	while (line && strncmp(line, "0::/", 4) != 0)
		line = next_line(line);
	if (line && !cgroup__mount_point(mount, sizeof(mount))) {
		root = strlen(mount);
		snprintf(dir, sizeof(dir), "%s%.*s", mount, (int)strcspn(line + 3, "\n"), line + 3);
		while (!err && strlen(dir) >= root) {
			char *slash = strrchr(dir, '/');

			err = add_limit(m, dir);
			if (!slash)
				break;
			*slash = '\0';
		}
	}
	buf__free(&b);
	return err;
}

struct machine *machine__open(void)
{
	struct machine *m = calloc(1, sizeof(*m));
	long ticks = sysconf(_SC_CLK_TCK);

	if (!m)
		return NULL;
	m->ticks = ticks > 0 ? ticks : 100;
	if (find_limits(m)) {
		machine__free(m);
		return NULL;
	}
	return m;
}

/*
 * Sum the files of all CPUs. Each CPU of a package has the count of the package, so only
 * differences of the sum are useful.
 */
static uint64_t read_hot(struct buf *b, uint32_t cpus)
{
	static const char *const names[] = { "core_throttle_count", "package_throttle_count" };
	uint64_t sum = 0;
	char path[128];

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			snprintf(path, sizeof(path),
				 "/sys/devices/system/cpu/cpu%u/thermal_throttle/%s", cpu,
				 names[i]);
			if (access(path, R_OK))
				return sum;
			sum += strtoull(read_text_file(b, path), NULL, 10);
		}
	}
	return sum;
}

void machine__read(const struct machine *m, struct machine_sample *ret)
{
	struct machine_sample s = { .cpus = 1 };
	struct buf b = { 0 };

	for (size_t i = 0; i < m->n_limits; i++)
		s.throttled += machine__parse_throttled(read_text_file(&b, m->limits[i]));
	s.pressure_cpu = machine__parse_pressure(read_text_file(&b, "/proc/pressure/cpu"));
	s.pressure_io = machine__parse_pressure(read_text_file(&b, "/proc/pressure/io"));
	s.pressure_memory = machine__parse_pressure(read_text_file(&b, "/proc/pressure/memory"));
	machine__parse_stat(read_text_file(&b, "/proc/stat"), m->ticks, &s);
	s.time = now_ns();
	s.hot = read_hot(&b, s.cpus);
	buf__free(&b);
	*ret = s;
}

void machine__free(struct machine *m)
{
	for (size_t i = 0; m && i < m->n_limits; i++)
		free(m->limits[i]);
	if (m)
		free(m->limits);
	free(m);
}

/* ---- the machine: differences ---- */

static uint64_t less_or_zero(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct machine_use machine__between(const struct machine_sample *before,
				    const struct machine_sample *after, uint64_t own)
{
	struct machine_use u = {
		.capacity = less_or_zero(after->time, before->time) * after->cpus,
		.steal = less_or_zero(after->steal, before->steal),
		.throttled = less_or_zero(after->throttled, before->throttled),
		.hot = less_or_zero(after->hot, before->hot),
		.pressure_cpu = less_or_zero(after->pressure_cpu, before->pressure_cpu),
		.pressure_io = less_or_zero(after->pressure_io, before->pressure_io),
		.pressure_memory = less_or_zero(after->pressure_memory, before->pressure_memory),
	};

	/* derived from idle time, which the kernel counts exactly: busy time is sampled by ticks */
	u.others =
		less_or_zero(u.capacity, less_or_zero(after->idle, before->idle) + u.steal + own);
	return u;
}

/* ---- the cost of a command ---- */

static uint64_t cpu_time(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * NSEC_PER_SEC +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000ULL;
}

int measure__begin(struct measure *m)
{
	struct rusage own, children;

	m->machine = machine__open();
	if (!m->machine)
		return -ENOMEM;
	machine__read(m->machine, &m->began);
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	m->own = cpu_time(&own);
	m->children = cpu_time(&children);
	m->switches = children.ru_nvcsw;
	m->preempted = children.ru_nivcsw;
	m->start = now_ns();
	return 0;
}

void measure__end(struct measure *m, const struct child *child, struct run_cost *ret)
{
	struct machine_sample ended;
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	machine__read(m->machine, &ended);
	ret->wall = child->ended_at - m->start;
	ret->cpu = cpu_time(&children) - m->children;
	ret->switches = children.ru_nvcsw - m->switches;
	ret->preempted = children.ru_nivcsw - m->preempted;
	ret->machine = machine__between(&m->began, &ended, ret->cpu + cpu_time(&own) - m->own);
}

void measure__free(struct measure *m)
{
	machine__free(m->machine);
	m->machine = NULL;
}
