/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The encoders in host_topology.c that host_info uses. Each appends the body of one section. An error other than
 * -ENOMEM means that this machine lacks the source: the caller drops the partial body and leaves
 * the section out.
 */
#ifndef FRBPF_PERFDATA_HOST_SECTIONS_H
#define FRBPF_PERFDATA_HOST_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "common/buf.h"
#include "perfdata/host_info.h"

struct host_env {
	const char *root; /* prefix of /proc and /sys; "" except in tests */
	struct utsname uts;
	uint32_t cpus_avail; /* highest present CPU + 1 */
	uint32_t cpus_online;
};

/* host_info__collect() for the machine whose /proc and /sys are below @root. */
int host_info__collect_from(const char *root, struct err *err, struct host_info **ret);

int host_topology__cpus(const struct host_env *env, struct buf *b);
int host_topology__caches(const struct host_env *env, struct buf *b);

int host_memory__total(const struct host_env *env, struct buf *b);
int host_memory__numa(const struct host_env *env, struct buf *b);
int host_memory__blocks(const struct host_env *env, struct buf *b);

#endif
