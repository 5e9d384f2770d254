/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of kernel threads. Since Linux 6.4, no record has the name of a new kernel thread. */
#ifndef FRBPF_SIDEBAND_KERNEL_THREAD_H
#define FRBPF_SIDEBAND_KERNEL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_THREAD_MAKER 2 /* kthreadd's pid */
#define KERNEL_THREAD_COMM  16

/* Get the current name of thread @tid, in the form that records have. False: it is no kernel
 * thread, has ended, or still bears kthreadd's name. */
bool kernel_thread__name(uint32_t tid, char ret[static KERNEL_THREAD_COMM]);

/* Length of a kernel thread's name in its text in procfs: procfs appends to a kworker's name what
 * it works on ("kworker/0:1-events"). */
size_t kernel_thread__comm_len(const char *comm, size_t len);

#endif
