/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the living processes from /proc. */
#ifndef FRBPF_SIDEBAND_PROC_SCAN_H
#define FRBPF_SIDEBAND_PROC_SCAN_H

#include "common/err.h"
#include "symbols/task_model.h"

/*
 * Add every process to @m: comm of its threads, executable maps (and with @data the others), namespaces. @n_readers threads
 * read, the caller among them. Processes that end meanwhile are left out; a zombie counts as exited
 * now. 0, -ENOMEM, or the errno of opening /proc.
 */
int proc_scan__tasks(struct task_model *m, bool data, unsigned int n_readers, struct err *err);

/* Add one process to @m, with its executable maps. 0, also if it is gone, or -ENOMEM. */
int proc_scan__process(struct task_model *m, uint32_t pid);

#endif
