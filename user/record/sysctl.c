// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "record/sysctl.h"

long sysctl__kernel(const char *name, long missing)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[PATH_MAX];
	long n;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%ld", &n) != 1)
		return missing;
	return n;
}
