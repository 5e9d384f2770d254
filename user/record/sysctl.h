/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of the kernel that decide what may be recorded. */
#ifndef FRBPF_RECORD_SYSCTL_H
#define FRBPF_RECORD_SYSCTL_H

/* The number in /proc/sys/kernel/@name, or @missing when it cannot be read. */
long sysctl__kernel(const char *name, long missing);

#endif
