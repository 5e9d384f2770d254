/* SPDX-License-Identifier: GPL-2.0-only */
/* Settings of the kernel that limit recording. */
#ifndef FRBPF_RECORD_SYSCTL_H
#define FRBPF_RECORD_SYSCTL_H

/* Read the number in /proc/sys/kernel/@name; @missing if that fails. */
long sysctl__kernel(const char *name, long missing);

#endif
