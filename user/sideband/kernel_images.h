/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads what only /proc/kallsyms has: where the kernel's text is, and code that the kernel made at
 * run time, other than BPF programs. This is trampolines and dispatchers of BPF, functions of its
 * struct_ops, trampolines of ftrace, pages of kprobes. The kernel writes KSYMBOL records only for
 * code made later. For existing code, kallsyms is the only source; it has no sizes.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_IMAGES_H
#define FRBPF_SIDEBAND_KERNEL_IMAGES_H

#include "sideband/kernel_maps.h"
#include "symbols/kernel_state.h"

/*
 * Add the symbols in @path (NULL: /proc/kallsyms) to @k, and the kernel's text to @text, unless
 * that is NULL. A symbol's length is one page, or less if the next one is nearer. Adds nothing if
 * there is no such file, or addresses are hidden (kernel.kptr_restrict). 0 or -ENOMEM.
 */
int kernel_images__read(const char *path, struct kernel_state *k, struct kernel_maps *text);

#endif
