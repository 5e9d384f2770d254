/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the kernel's own threads: since Linux 6.4 no record tells the name of one that is made. */
#ifndef FRBPF_SIDEBAND_KERNEL_THREAD_H
#define FRBPF_SIDEBAND_KERNEL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_THREAD_MAKER 2 /* kthreadd's pid */
#define KERNEL_THREAD_COMM  16

/* The name that thread @tid has now, as records tell names. False: it is none of the kernel's, or
 * has ended. */
bool kernel_thread__name(uint32_t tid, char ret[static KERNEL_THREAD_COMM]);

/* Of a kernel thread's name in procfs, how much is its name: procfs appends to a kworker's what it
 * works on ("kworker/0:1-events"). */
size_t kernel_thread__comm_len(const char *comm, size_t len);

#endif
