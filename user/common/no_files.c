// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/no_files.h"

/* Bits of access rights, by the version of the ABI: since Linux 5.13, 5.19, 6.2, and 6.10. */
static const struct {
	int version, n_rights;
} abis[] = { { 5, 16 }, { 3, 15 }, { 2, 14 }, { 1, 13 } };

static int create_ruleset(const struct landlock_ruleset_attr *attr, size_t size, unsigned int flags)
{
	int ret = syscall(SYS_landlock_create_ruleset, attr, size, flags);

	return ret < 0 ? -errno : ret;
}

int no_files__begin(void)
{
	int version = create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = { 0 };
	_cleanup_close_ int ruleset = -1;

	for (size_t i = 0; i < ARRAY_SIZE(abis) && !attr.handled_access_fs; i++)
		if (version >= abis[i].version)
			attr.handled_access_fs = (1ULL << abis[i].n_rights) - 1;
	if (!attr.handled_access_fs) /* not built, or switched off */
		return 0;
	/* of all these rights no place gets any */
	ruleset = create_ruleset(&attr, sizeof(attr.handled_access_fs), 0);
	if (ruleset < 0)
		return ruleset;
	return syscall(SYS_landlock_restrict_self, ruleset, 0) ? -errno : 0;
}
