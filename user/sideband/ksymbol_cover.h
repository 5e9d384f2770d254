/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_SIDEBAND_KSYMBOL_COVER_H
#define FRBPF_SIDEBAND_KSYMBOL_COVER_H

#include "common/buf.h"

/*
 * Keeps perf from losing the symbols of kernel modules when a BPF program comes or goes in the window.
 *
 * On the machine that was recorded, perf takes /proc/kcore for the kernel's image as soon as it needs a
 * symbol of it: one map over all modules and all BPF programs, from which it leaves out the programs that
 * it knows by then (dso__load_kcore() in tools/perf/util/symbol.c). A KSYMBOL record of a later program
 * finds that map, gets none of its own, and the record of its end removes what it finds: the symbols of
 * all modules (machine__process_ksymbol_unregister() in machine.c; perf 6.1 does). So where
 * a program of the window is going to be, there is a symbol of nothing before it comes, and between two
 * that overlap: RECORD_KSYMBOL_NONE.
 *
 * Appends to @base, records of before the window, and replaces @window, both of this kind: whole records
 * with trailers. 0 or -ENOMEM.
 */
int ksymbol_cover(struct buf *base, struct buf *window);

#endif
