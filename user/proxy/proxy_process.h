/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that stands for a session, as `perf record` does under `perf daemon`. It has a pid
 * to signal, serves the control and ack fifos of the session, writes its output, and is the parent
 * of its command. It reports to the daemon, which records and decides.
 *
 * The process that starts these: the daemon forks it before it has threads, real-time priorities or
 * much memory, and before it gives up the right to start programs. The processes are children of the
 * daemon itself, as under `perf daemon`. None has capabilities.
 */
#ifndef FRBPF_PROXY_PROXY_PROCESS_H
#define FRBPF_PROXY_PROXY_PROCESS_H

#include <sys/types.h>

#include "proxy/proxy_message.h"

/*
 * Fork the process that starts the others. @ret_sock takes struct proxy_request, each with two descriptors. Closing it ends the
 * process. Negative errno.
 */
int spawner__fork(pid_t *ret_pid, int *ret_sock);

#endif
