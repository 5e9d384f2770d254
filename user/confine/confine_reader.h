/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits what a process that reads recordings may do: see docs/SECURITY.md. */
#ifndef FRBPF_CONFINE_CONFINE_READER_H
#define FRBPF_CONFINE_CONFINE_READER_H

#include <stddef.h>

/*
 * Confine a process that reads recordings, and so untrusted programs and libraries. It starts an
 * opener, which finds and opens the files: see opening.h. Afterwards the process can only read and
 * write open files, and ask the opener. It has no capability, and cannot open, create or change
 * files, execute programs or connect to anything. Refused system calls fail with ENOSYS, as on a
 * kernel that lacks them, and are logged by name, once. Only the standard descriptors and the @n in
 * @keep, READER_FDS_MAX at most, stay open. Call it when there are no other threads, with
 * no_new_privs, and with SIGSYS not blocked. 0, also if the kernel has no seccomp filters; or
 * negative errno.
 */
#define READER_FDS_MAX 4
int confine__reader(const int *keep, size_t n);

#endif
