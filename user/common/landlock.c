// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/landlock.h"

/* Number of access rights by ABI version. The versions came with Linux 6.10, 6.2, 5.19 and 5.13. */
static const struct {
	int version, n_rights;
} abis[] = { { 5, 16 }, { 3, 15 }, { 2, 14 }, { 1, 13 } };

#define RENAMES_SINCE 2 /* ABI that can allow renames between directories; older ones refuse them */

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Older headers lack these. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

/* For regular files and directories; no nodes, sockets, fifos or links. */
#define WRITING                                                                                    \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                             \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |                               \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                          \
	 LANDLOCK_ACCESS_FS_REFER)

int landlock__version(void)
{
	int version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version < 0 ? 0 : version;
}

/* All rights that the kernel knows; 0: its ABI is older than @since, or there is no Landlock. */
static uint64_t landlock_rights(int since)
{
	int version = landlock__version();

	for (size_t i = 0; i < ARRAY_SIZE(abis) && version >= since; i++)
		if (version >= abis[i].version)
			return (1ULL << abis[i].n_rights) - 1;
	return 0;
}

/* A domain in which no path has any of @rights. */
static int create_domain(uint64_t rights)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = rights };
	int fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);

	return fd < 0 ? -errno : fd;
}

int landlock__enter(int domain)
{
	return syscall(SYS_landlock_restrict_self, domain, 0) ? -errno : 0;
}

int landlock__no_files(void)
{
	uint64_t rights = landlock_rights(1);
	_cleanup_close_ int domain = rights ? create_domain(rights) : -1;

	if (!rights)
		return 0;
	return domain < 0 ? domain : landlock__enter(domain);
}

int landlock__only_below(int dir)
{
	uint64_t rights = landlock_rights(RENAMES_SINCE) & ~(uint64_t)READING;
	const struct landlock_path_beneath_attr below = {
		.allowed_access = rights & WRITING,
		.parent_fd = dir,
	};
	int domain = rights ? create_domain(rights) : -ENOSYS;

	if (domain >= 0 &&
	    syscall(SYS_landlock_add_rule, domain, LANDLOCK_RULE_PATH_BENEATH, &below, 0)) {
		int err = -errno;

		close(domain);
		return err;
	}
	return domain;
}
