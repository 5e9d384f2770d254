/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PMUs of this machine, from sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices-format
 * and -events of the kernel).
 */
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

/* Find a PMU. 0 or -ENOENT. */
int pmu__find(const char *name, size_t len, struct pmu *ret);

/*
 * Find the first PMU, by name, that has an event alias @name: "mem-loads" for cpu/mem-loads/. 0 or
 * -ENOENT.
 */
int pmu__find_alias(const char *name, size_t len, struct pmu *ret);

/*
 * Call @fn for all events that PMUs name, sorted: "cpu", "mem-loads", "event=0xcd,umask=0x1". 0 or
 * negative errno.
 */
int pmu__each_event(void (*fn)(const char *pmu, const char *event, const char *terms, void *arg),
		    void *arg);

/*
 * Put one term ("umask=0x10", "inv", or an alias from events/) into @attr. @value is NULL for a
 * term without one. 0; -ENOENT: the PMU does not know it; -EINVAL or -ERANGE: bad value. All have a
 * message in @err.
 */
int pmu__term(const struct pmu *pmu, const char *term, const char *value,
	      struct perf_event_attr *attr, struct err *err);

#endif
