/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMUs of this machine, as sysfs describes them (Documentation/ABI/testing/
 * sysfs-bus-event_source-devices-{format,events} of the kernel). */
#ifndef FRBPF_RECORD_PMU_H
#define FRBPF_RECORD_PMU_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "common/err.h"

#define PMU_NAME_MAX 64

struct pmu {
	char name[PMU_NAME_MAX];
	uint32_t type; /* attr.type */
};

/* -ENOENT: no such PMU. */
int pmu__find(const char *name, size_t len, struct pmu *ret);

/* The first PMU, by name, that has an event alias @name: "mem-loads" for cpu/mem-loads/. -ENOENT:
 * none. */
int pmu__find_alias(const char *name, size_t len, struct pmu *ret);

/* Call @fn for every event that a PMU names: "cpu", "mem-loads", "event=0xcd,umask=0x1"; sorted. 0
 * or negative errno. */
int pmu__each_event(void (*fn)(const char *pmu, const char *event, const char *terms, void *arg),
		    void *arg);

/* Put one term ("umask=0x10", "inv", or an alias from events/) into @attr. @value is NULL for a
 * term without one. -ENOENT: the PMU does not know it; -EINVAL or -ERANGE: the value; all with
 * words in @err. */
int pmu__term(const struct pmu *pmu, const char *term, const char *value,
	      struct perf_event_attr *attr, struct err *err);

#endif
