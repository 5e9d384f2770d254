/* SPDX-License-Identifier: GPL-2.0-only */
/* Header of a perf.data file in file mode (tools/perf/util/header.h: perf_file_header). */
#ifndef FRBPF_PERFDATA_FILE_LAYOUT_H
#define FRBPF_PERFDATA_FILE_LAYOUT_H

#include <stdint.h>

#include "perfdata/features.h"

#define FILE_MAGIC "PERFILE2"

struct file_section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct file_section attrs, data, event_types;
	uint64_t features[4]; /* bit n: feature n */
};

struct file_attr_entry {
	uint8_t attr[FEATURES_ATTR_SIZE];
	struct file_section ids;
};

_Static_assert(sizeof(struct file_header) == 104, "header layout");
_Static_assert(sizeof(struct file_attr_entry) == 144, "attr entry layout");

#endif
