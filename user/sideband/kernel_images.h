/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What /proc/kallsyms alone tells. Where the kernel's text is; and code that the kernel has made at run time and that is no BPF program: trampolines and dispatchers
 * of BPF, functions of its struct_ops, trampolines of ftrace, pages of kprobes. Of what is made later
 * the kernel writes KSYMBOL records; of what is there already this is all, without sizes.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_IMAGES_H
#define FRBPF_SIDEBAND_KERNEL_IMAGES_H

#include "sideband/kernel_maps.h"
#include "symbols/kernel_state.h"

/* Add the symbols in @path (NULL: /proc/kallsyms) to @k, each as long as one page or up to the next one,
 * and the text to @text, unless that is NULL. None where there is no such file or addresses are hidden
 * (kernel.kptr_restrict). 0 or -ENOMEM. */
int kernel_images__read(const char *path, struct kernel_state *k, struct kernel_maps *text);

#endif
