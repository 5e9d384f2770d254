/* SPDX-License-Identifier: GPL-2.0-only */
/* What the recorder may still do once it records, and who reads recordings: see docs/SECURITY.md. */
#ifndef FRBPF_DAEMON_CONFINE_H
#define FRBPF_DAEMON_CONFINE_H

/*
 * From now on, in all threads and for good, system calls that recording does not need fail with
 * ENOSYS, as on a kernel that lacks them. Each of them is logged by its name, once. Wants
 * no_new_privs. -ENOSYS: the kernel has no seccomp filters; or another negative errno.
 * No thread may block SIGSYS.
 */
int confine__calls(void);

/*
 * For commands that read recordings, and with them programs and libraries of anybody, once they know
 * where these are. From now on they can read files and write to open ones, and nothing else: no file
 * is made or changed, nothing executed, nobody talked to. Few capabilities stay, for reading. As
 * above; 0 also where the kernel has no seccomp filters.
 */
int confine__reader(void);

/*
 * Threads that call confine__writer() from now on write, make and remove files only in the open directory @base and below,
 * and execute none. Before there are such threads. 0 also where the kernel has no Landlock; or negative errno.
 */
int confine__set_base(int base);
/* In a thread that looks at no other process, at its beginning. Without a base it does nothing; failure is logged. */
void confine__writer(void);

#endif
