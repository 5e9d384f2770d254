/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The feature sections of a perf.data file that describe the machine, not the recording. They are
 * made once, when the daemon starts, so that a dump does not read sysfs.
 */
#ifndef FRBPF_PERFDATA_HOST_INFO_H
#define FRBPF_PERFDATA_HOST_INFO_H

#include "common/buf.h"
#include "common/err.h"

struct host_info;
struct perf_file;

/*
 * Collect HOSTNAME OSRELEASE VERSION ARCH NRCPUS CPUDESC CPUID TOTAL_MEM CPU_TOPOLOGY NUMA_TOPOLOGY
 * PMU_MAPPINGS CACHE MEM_TOPOLOGY (and PMU_CAPS where it is valid). A section without a source on
 * this machine is left out, except those that readers require: these always exist.
 */
int host_info__collect(struct err *err, struct host_info **ret);

/* Copy the same sections from @f: those of the machine that was recorded. -EINVAL, with a message:
 * the file lacks one that readers require. */
int host_info__of_file(struct perf_file *f, struct err *err, struct host_info **ret);

/* The encoded body of feature @bit (HEADER_*); NULL: none. Borrowed. */
const struct buf *host_info__section(const struct host_info *h, unsigned int bit);

const char *host_info__hostname(const struct host_info *h);
void host_info__free(struct host_info *h);

#endif
