// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "common/limit.h"

int limit__set(int resource, rlim_t max)
{
	struct rlimit is, to = { max, max + 1 };

	if (getrlimit(resource, &is))
		return -errno;
	/* without privileges the hard limit can only be lowered */
	if (to.rlim_max > is.rlim_max)
		to.rlim_max = is.rlim_max;
	if (to.rlim_cur > is.rlim_cur)
		to.rlim_cur = is.rlim_cur;
	if (to.rlim_cur >= to.rlim_max && to.rlim_max)
		to.rlim_cur = to.rlim_max - 1;
	return setrlimit(resource, &to) ? -errno : 0;
}
