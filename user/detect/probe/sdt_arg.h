/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a static probe has its first argument, as its note says it in the assembler's words. */
#ifndef FRBPF_DETECT_SDT_ARG_H
#define FRBPF_DETECT_SDT_ARG_H

#include <stdint.h>

/*
 * Read the first of @args: "8@%rax", "-4@-8(%rbp)", "8@$812" on x86-64; "8@x0", "4@[sp, 8]", "8@812"
 * on arm64; "": FRBPF_SDT_NONE. Returns the cookie of bpf/frbpf.h in *@ret. -EINVAL: something else.
 */
int sdt_arg__parse(const char *args, uint64_t *ret);

#endif
