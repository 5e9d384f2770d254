// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>

#include "common/clock.h"

const char *utc__date(uint64_t realtime_ns, char buf[UTC_DATE_SIZE])
{
	time_t sec = realtime_ns / 1000000000;
	struct tm tm;

	if (!gmtime_r(&sec, &tm) || !strftime(buf, UTC_DATE_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
		buf[0] = '\0';
	return buf;
}
