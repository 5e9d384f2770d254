// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "common/cpu_pulse.h"

const struct perf_event_attr cpu_pulse_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.size = PERF_ATTR_SIZE_VER7,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
};

static bool read_enabled(int fd, uint64_t *ret)
{
	uint64_t v[2]; /* value, time enabled */

	if (fd < 0 || read(fd, v, sizeof(v)) != sizeof(v))
		return false;
	*ret = v[1];
	return true;
}

bool cpu_pulse__beats(int fd, uint64_t *seen)
{
	uint64_t now, before = *seen;

	if (!read_enabled(fd, &now))
		return true;
	*seen = now;
	return now > before;
}

bool cpu_pulse__is_alive(int fd, uint64_t *ret_ns)
{
	uint64_t before, after;

	if (!read_enabled(fd, &before) || !read_enabled(fd, &after) || after > before)
		return true;
	*ret_ns = after;
	return false;
}
