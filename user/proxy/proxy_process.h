/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that stands for a session, as `perf record` does under `perf daemon`. It has a pid
 * to signal, serves the control and ack fifos of the session, writes its output, and is the parent
 * of its command. It reports to the daemon, which records and decides.
 */
#ifndef FRBPF_PROXY_PROXY_PROCESS_H
#define FRBPF_PROXY_PROXY_PROCESS_H

#include "proxy/proxy_message.h"

/*
 * Run in the new process, which has no other descriptors. @sock: to the daemon; @dir: of the
 * session.
 */
_Noreturn void proxy_process__run(const struct proxy_request *r, int sock, int dir);

#endif
