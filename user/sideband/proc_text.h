/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers and fields in the texts that files of /proc contain. */
#ifndef FRBPF_SIDEBAND_PROC_TEXT_H
#define FRBPF_SIDEBAND_PROC_TEXT_H

#include <stdint.h>

/* Parse the digits at @s; no digits give 0. Returns a pointer to the end of the digits. */
static inline const char *proc_text__dec(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9')
		v = v * 10 + (*s++ - '0');
	*ret = v;
	return s;
}

/* The same for hexadecimal digits, in lower case. */
static inline const char *proc_text__hex(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			v = v << 4 | (*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			v = v << 4 | (*s - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return s;
}

/* Returns the field after the next blanks; the end of the line or text if there is none. */
static inline const char *proc_text__next_field(const char *s)
{
	while (*s && *s != ' ' && *s != '\n')
		s++;
	while (*s == ' ')
		s++;
	return s;
}

#endif
