/* SPDX-License-Identifier: GPL-2.0-only */
/* The header of a perf.data file in file mode, and the numbers of its feature sections
 * (tools/perf/util/header.h: perf_file_header). */
#ifndef FRBPF_PERFDATA_FILE_LAYOUT_H
#define FRBPF_PERFDATA_FILE_LAYOUT_H

#include <stdint.h>

#define FILE_MAGIC    "PERFILE2"
#define FILE_FEATURES 256 /* numbers that the header has room for */
/* Bytes of a perf_event_attr in a file: PERF_ATTR_SIZE_VER7, the most that perf 6.1 reads. */
#define FILE_ATTR_SIZE 128

struct file_range {
	uint64_t offset, size; /* bytes */
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct file_range attrs, data, event_types;
	uint64_t features[FILE_FEATURES / 64]; /* bit n: feature n */
};

struct file_attr_entry {
	uint8_t attr[FILE_ATTR_SIZE];
	struct file_range ids;
};

_Static_assert(sizeof(struct file_header) == 104, "header layout");
_Static_assert(sizeof(struct file_attr_entry) == 144, "attr entry layout");

/* The features that we write. */
enum header_bit {
	HEADER_TRACING_DATA = 1,
	HEADER_BUILD_ID = 2,
	HEADER_HOSTNAME = 3,
	HEADER_OSRELEASE = 4,
	HEADER_VERSION = 5,
	HEADER_ARCH = 6,
	HEADER_NRCPUS = 7,
	HEADER_CPUDESC = 8,
	HEADER_CPUID = 9,
	HEADER_TOTAL_MEM = 10,
	HEADER_CMDLINE = 11,
	HEADER_EVENT_DESC = 12,
	HEADER_CPU_TOPOLOGY = 13,
	HEADER_NUMA_TOPOLOGY = 14,
	HEADER_PMU_MAPPINGS = 16,
	HEADER_GROUP_DESC = 17,
	HEADER_CACHE = 20,
	HEADER_SAMPLE_TIME = 21,
	HEADER_MEM_TOPOLOGY = 22,
	HEADER_CLOCKID = 23,
	HEADER_BPF_PROG_INFO = 25,
	HEADER_BPF_BTF = 26,
	HEADER_COMPRESSED = 27,
	HEADER_CPU_PMU_CAPS = 28,
	HEADER_CLOCK_DATA = 29,
	HEADER_PMU_CAPS = 31,
	HEADER_BITS = 32, /* one more than the highest that we write */
};

#endif
