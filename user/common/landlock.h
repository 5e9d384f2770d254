/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits the files that a process or thread can reach, for good (Landlock). Open files stay open.
 * Needs no_new_privs. A thread in a domain cannot read maps, links and namespaces of processes
 * outside.
 */
#ifndef FRBPF_COMMON_LANDLOCK_H
#define FRBPF_COMMON_LANDLOCK_H

/* Get the version of Landlock's interface; 0: this kernel has no Landlock, or it is off. */
int landlock__version(void);

/*
 * Allow no file to be opened, made, removed or executed. Does nothing on kernels without Landlock.
 * 0 or negative errno.
 */
int landlock__no_files(void);

/*
 * Make a domain that allows writing, making and removing files and directories only in @dir and
 * below. It allows no executing, and does not limit reading. Returns a descriptor that the caller
 * closes. -ENOSYS: no Landlock, or one before Linux 5.19, which refuses renames; or another
 * negative errno.
 */
int landlock__only_below(int dir);
/* Enter a domain, for this thread and what it starts. 0 or negative errno. */
int landlock__enter(int domain);

#endif
