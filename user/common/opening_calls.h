/* SPDX-License-Identifier: GPL-2.0-only */
/* The system calls of a process that opens files of others for somebody else, and no more. */
#ifndef FRBPF_COMMON_OPENING_CALLS_H
#define FRBPF_COMMON_OPENING_CALLS_H

/*
 * Allow only calls to find and open files, to read the beginning of one, and to receive and send
 * requests and descriptors: no other file is made or changed. Any other call raises SIGSYS. Needs
 * no_new_privs. 0, also if the kernel has no seccomp filters, or negative errno.
 */
int opening_calls__limit(void);

#endif
