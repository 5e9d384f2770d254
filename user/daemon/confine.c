// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

#include "common/landlock.h"
#include "common/log.h"
#include "confine/allowed_calls.h"
#include "daemon/confine.h"

int confine__calls(void)
{
	struct call_filter f;
	int err = allowed_calls__watch_refused();

	if (err)
		return err;
	allowed_calls__begin(&f);
	allowed_calls__add_recorder(&f);
	return call_filter__install(&f, SECCOMP_RET_TRAP);
}

/* ---- files ---- */

static int writers_domain = -1; /* fd of Landlock; never closed: threads may start late */

int confine__set_base(int base)
{
	int domain = landlock__only_below(base);

	if (domain < 0)
		return domain == -ENOSYS ? 0 : domain;
	writers_domain = domain;
	return 0;
}

void confine__writer(void)
{
	int err = writers_domain < 0 ? 0 : landlock__enter(writers_domain);

	if (err)
		log_error("cannot limit where a thread writes (Landlock): %s", strerror(-err));
}
