/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers and fields in files of /proc. */
#ifndef FRBPF_SIDEBAND_PROC_TEXT_H
#define FRBPF_SIDEBAND_PROC_TEXT_H

#include <stdint.h>

/* Parse the digits at @s, possibly none (0). Return what follows them. */
const char *parse_dec(const char *s, uint64_t *ret);
const char *parse_hex(const char *s, uint64_t *ret);
/* The field behind the next blanks; the end of the line or text when there is none. */
const char *next_field(const char *s);

#endif
