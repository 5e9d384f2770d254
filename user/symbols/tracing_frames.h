/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the kernel that are on a stack only because somebody looks: on tracepoints and probes,
 * between the place that is looked at and the perf event or BPF program. */
#ifndef FRBPF_SYMBOLS_TRACING_FRAMES_H
#define FRBPF_SYMBOLS_TRACING_FRAMES_H

#include <stdbool.h>

/* @symbol NULL, a name that is not known: no. */
bool is_tracing_frame(const char *symbol);

#endif
