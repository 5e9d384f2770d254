/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts that anybody may choose (names of tasks, reasons) before a terminal or a log sees them. */
#ifndef FRBPF_COMMON_PRINTABLE_H
#define FRBPF_COMMON_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the character at @s, which has @len bytes, at least one. Not printable are control
 * characters (C0, C1), marks that change the direction of what follows or that nobody sees, and what
 * is no UTF-8 (RFC 3629): that is one byte long.
 */
size_t printable__char(const char *s, size_t len, bool *ret_printable);

/* Replace each byte of what is not printable by '?', in place. Returns @s. */
char *make_printable(char *s);

#endif
