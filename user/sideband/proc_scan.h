/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the living processes from /proc: names of their threads, maps, namespaces. */
#ifndef FRBPF_SIDEBAND_PROC_SCAN_H
#define FRBPF_SIDEBAND_PROC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "symbols/task_model.h"

/* ---- kernel threads: since Linux 6.4, no record has the name of a new one ---- */

#define KERNEL_THREAD_MAKER 2 /* kthreadd's pid */
#define KERNEL_THREAD_COMM  16

/*
 * Get the current name of thread @tid, in the form that records have. False: @tid is not a kernel
 * thread, has ended, or still has kthreadd's name.
 */
bool kernel_thread__name(uint32_t tid, char ret[static KERNEL_THREAD_COMM]);

/*
 * Length of a kernel thread's name in @comm, a text of procfs. To a kworker's name procfs appends
 * the name of the work ("kworker/0:1-events").
 */
size_t kernel_thread__comm_len(const char *comm, size_t len);

/* ---- all processes ---- */

/*
 * Add every process to @m: comm of its threads, executable maps (and with @data the others),
 * namespaces. @n_readers threads read, the caller among them. Processes that end meanwhile are left
 * out; a zombie counts as exited now. 0, -ENOMEM, or the errno of opening /proc.
 */
int proc_scan__tasks(struct task_model *m, bool data, unsigned int n_readers, struct err *err);

/* Add one process to @m, with its executable maps. 0, also if it is gone, or -ENOMEM. */
int proc_scan__process(struct task_model *m, uint32_t pid);

#endif
