/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that the kernel has made at run time and that is no BPF program: trampolines and dispatchers
 * of BPF, functions of its struct_ops, trampolines of ftrace, pages of kprobes. Of what is made later
 * the kernel writes KSYMBOL records; what is there already only /proc/kallsyms tells, without sizes.
 */
#ifndef FRBPF_SIDEBAND_KERNEL_IMAGES_H
#define FRBPF_SIDEBAND_KERNEL_IMAGES_H

#include "sideband/kernel_state.h"

/* Add the symbols in @path (NULL: /proc/kallsyms), each as long as one page or up to the next one.
 * None where there is no such file or addresses are hidden (kernel.kptr_restrict). 0 or -ENOMEM. */
int kernel_images__read(const char *path, struct kernel_state *k);

#endif
