/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel functions that are on a stack only because of tracing: between a tracepoint or probe and
 * its perf event or BPF program.
 */
#ifndef FRBPF_SYMBOLS_TRACING_FRAMES_H
#define FRBPF_SYMBOLS_TRACING_FRAMES_H

#include <stdbool.h>

/* @symbol: NULL: unknown, which gives false. */
bool is_tracing_frame(const char *symbol);

#endif
