// SPDX-License-Identifier: GPL-2.0-only
#include "sideband/proc_text.h"

const char *parse_dec(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9')
		v = v * 10 + (*s++ - '0');
	*ret = v;
	return s;
}

const char *parse_hex(const char *s, uint64_t *ret)
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

const char *next_field(const char *s)
{
	while (*s && *s != ' ' && *s != '\n')
		s++;
	while (*s == ' ')
		s++;
	return s;
}
