/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What files a process or thread may reach from now on, for good (Landlock). What it has open stays so. Wants
 * no_new_privs. A thread that is in a domain cannot look at processes that are not: their maps, links and namespaces.
 */
#ifndef FRBPF_COMMON_LANDLOCK_H
#define FRBPF_COMMON_LANDLOCK_H

/* It opens, makes and removes no file, and executes none. Does nothing where the kernel has no Landlock. Negative errno. */
int landlock__no_files(void);

/* It reads what it could; it writes, makes and removes no file, and executes none. Does nothing where the kernel has no
 * Landlock. Negative errno. */
int landlock__no_writes(void);

/*
 * It writes, makes and removes files and directories only in the open directory @dir and below, and executes none; it reads what it
 * could. The domain comes as a descriptor that is the caller's. -ENOSYS: the kernel has no Landlock, or one that is older
 * than Linux 5.19, which would refuse renames; or another negative errno.
 */
int landlock__only_below(int dir);
/* Enter it: this thread, and what it starts. 0 or negative errno. */
int landlock__enter(int domain);

#endif
