/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The encoders behind host_info. Each appends the body of one section; an error other than -ENOMEM
 * means that this machine lacks the source, and the section is left out whole (what was appended is
 * dropped).
 */
#ifndef FRBPF_PERFDATA_HOST_SECTIONS_H
#define FRBPF_PERFDATA_HOST_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "common/buf.h"
#include "perfdata/host_info.h"

struct host_env {
	const char *root; /* in front of /proc and /sys: "" but in tests */
	struct utsname uts;
	uint32_t cpus_avail; /* highest present CPU + 1 */
	uint32_t cpus_online;
};

/* host_info__collect() of the machine whose /proc and /sys lie below @root. */
int host_info__collect_from(const char *root, struct err *err, struct host_info **ret);

/* host_topology.c */
int host_topology__cpus(const struct host_env *env, struct buf *b);
int host_topology__caches(const struct host_env *env, struct buf *b);

/* host_memory.c */
int host_memory__total(const struct host_env *env, struct buf *b);
int host_memory__numa(const struct host_env *env, struct buf *b);
int host_memory__blocks(const struct host_env *env, struct buf *b);

/* host_pmu.c */
int host_pmu__mappings(const struct host_env *env, struct buf *b);
int host_pmu__cpu_caps(const struct host_env *env, struct buf *b);
int host_pmu__other_caps(const struct host_env *env, struct buf *b);

#endif
