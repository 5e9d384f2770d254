/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's text, and the code that it made at run time.
 *
 * Only /proc/kallsyms tells where both are. The code made at run time is BPF trampolines,
 * dispatchers and struct_ops functions, ftrace trampolines and kprobe pages; bpf_info.h reads BPF
 * programs. KSYMBOL records exist only for code made after recording began. kallsyms has no sizes.
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
