// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "rules/units.h"
#include "run/measure.h"

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
