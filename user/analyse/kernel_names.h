/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the kernel functions in recordings, as lines of kallsyms: "ADDRESS t NAME [MODULE]".
 * They are kept in the manifest, so that stacks have the same names on other machines, without
 * root, and after the kernel was replaced. They cover only the functions that these recordings
 * contain: any other address gets a wrong name. Life: new, add files, take the lines, free.
 */
#ifndef FRBPF_ANALYSE_KERNEL_NAMES_H
#define FRBPF_ANALYSE_KERNEL_NAMES_H

#include <jansson.h>

#include "common/err.h"
#include "symbols/symbols.h"

#define KERNEL_NAMES_MAX (120 << 10) /* bytes of all lines */

struct kernel_names;

int kernel_names__new(struct kernel_names **ret); /* -ENOMEM */
void kernel_names__free(struct kernel_names *n);  /* NULL is legal */

/*
 * With the symbols of this machine, look up all kernel addresses in the stacks of the recording
 * @path. Also look up the addresses of functions of timers. 0 or negative errno, message in @err.
 */
int kernel_names__add_file(struct kernel_names *n, const char *path, struct err *err);
/*
 * All lines: an array of strings, owned by the caller. NULL: there are none, they take more than
 * KERNEL_NAMES_MAX, or out of memory.
 */
json_t *kernel_names__lines(const struct kernel_names *n);

/*
 * Make @s take the kernel's names from the @lines of kernel_names__lines(). Call it before anything
 * is resolved. 0 or -ENOMEM.
 */
int kernel_names__use(const json_t *lines, struct symbols *s);

#endif
