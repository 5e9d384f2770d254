/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that stands for a session: what a `perf record` under `perf daemon` shows to the
 * outside. It has a pid to signal, serves the session's control and ack fifos, writes its output,
 * and is the parent of its command. It records nothing and decides nothing: the daemon is told.
 */
#ifndef FRBPF_PROXY_PROXY_PROCESS_H
#define FRBPF_PROXY_PROXY_PROCESS_H

#include "proxy/proxy_message.h"

/* In the new process, which has nothing else open: @sock to the daemon, @dir the session's. */
_Noreturn void proxy_process__run(const struct proxy_request *r, int sock, int dir);

#endif
