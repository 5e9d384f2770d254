/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that starts the processes of sessions. The daemon forks it before it has threads,
 * real-time priorities or much memory, and before it gives up the right to start programs. The
 * processes are children of the daemon itself, as under `perf daemon`. None has capabilities.
 */
#ifndef FRBPF_PROXY_SPAWNER_H
#define FRBPF_PROXY_SPAWNER_H

#include <sys/types.h>

/*
 * Fork it. @ret_sock takes struct proxy_request, each with two descriptors. Closing it ends the
 * process. Negative errno.
 */
int spawner__fork(pid_t *ret_pid, int *ret_sock);

#endif
