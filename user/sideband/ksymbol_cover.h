/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_SIDEBAND_KSYMBOL_COVER_H
#define FRBPF_SIDEBAND_KSYMBOL_COVER_H

#include "common/buf.h"

/*
 * Keeps perf from losing the symbols of kernel modules if a BPF program is loaded or unloaded
 * in the window.
 *
 * On the machine that was recorded, perf uses /proc/kcore as the kernel's image as soon as it needs
 * a kernel symbol. That gives one map over all modules and BPF programs, except the programs that
 * perf knows by then (dso__load_kcore() in tools/perf/util/symbol.c). A KSYMBOL record of a later
 * program finds that map, so perf makes none for the program. The record of its end then removes
 * the map, and with it the symbols of all modules (machine__process_ksymbol_unregister() in
 * machine.c; perf 6.1 does this). So a placeholder, RECORD_KSYMBOL_NONE, covers the addresses of a
 * program of the window before it is loaded, and between two programs that overlap. Seen with perf
 * 6.1 on Linux 6.1, when files were read from 9p and programs were loaded: without this, perf had
 * no name for 4,010 of 6,747 addresses in modules; with it, it had one for each of 4,017.
 *
 * Appends to @base, the records before the window, and replaces @window. Both are whole records
 * with trailers. 0 or -ENOMEM.
 */
int ksymbol_cover(struct buf *base, struct buf *window);

#endif
