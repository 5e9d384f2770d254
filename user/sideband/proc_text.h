/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses numbers and fields in files of /proc. */
#ifndef FRBPF_SIDEBAND_PROC_TEXT_H
#define FRBPF_SIDEBAND_PROC_TEXT_H

#include <stdint.h>

/* Parse the digits at @s; no digits give 0. Returns a pointer to the end of the digits. */
const char *parse_dec(const char *s, uint64_t *ret);
const char *parse_hex(const char *s, uint64_t *ret);
/* Returns the field after the next blanks; the end of the line or text if there is none. */
const char *next_field(const char *s);

#endif
