/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits what the recorder may do: see docs/SECURITY.md. */
#ifndef FRBPF_DAEMON_CONFINE_H
#define FRBPF_DAEMON_CONFINE_H

/*
 * Refuse system calls that recording does not need, in all threads and for good. They fail with
 * ENOSYS, as on a kernel that lacks them. Each is logged by name, once. Needs no_new_privs, and no
 * thread may block SIGSYS. 0 or negative errno; -ENOSYS: the kernel has no seccomp filters.
 */
int confine__calls(void);

/*
 * Prepare confine__writer(): threads that call it write, make and remove files only below the open
 * directory @base, and execute none. Call it before such threads start. 0 or negative errno; 0 also
 * if the kernel has no Landlock.
 */
int confine__set_base(int base);
/*
 * Confine the calling thread to the base. For threads that inspect no other process: they call it
 * first. Does nothing unless a base is set. A failure is logged.
 */
void confine__writer(void);

#endif
