/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that are there now, read from /proc. */
#ifndef FRBPF_SIDEBAND_PROC_SCAN_H
#define FRBPF_SIDEBAND_PROC_SCAN_H

#include "common/err.h"
#include "symbols/task_model.h"

/* Read every process with @n_readers threads (at least 1): threads' comm, executable maps,
 * namespaces. What vanishes meanwhile is left out; a zombie counts as exited now. 0, -ENOMEM, or the
 * errno of opening /proc. */
int proc_scan__tasks(struct task_model *m, unsigned int n_readers, struct err *err);

/* Read one process. 0 (also when it is gone) or -ENOMEM. */
int proc_scan__process(struct task_model *m, uint32_t pid);

#endif
