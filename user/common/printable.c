// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <string.h>

#include "common/printable.h"

/* Length of a UTF-8 sequence by its first byte, and the bits of the code point in that byte. */
static size_t utf8_length(unsigned char c, uint32_t *ret_bits)
{
	if (c >= 0xc2 && c < 0xe0) {
		*ret_bits = c & 0x1f;
		return 2;
	}
	if (c >= 0xe0 && c < 0xf0) {
		*ret_bits = c & 0x0f;
		return 3;
	}
	if (c >= 0xf0 && c < 0xf5) {
		*ret_bits = c & 0x07;
		return 4;
	}
	return 0;
}

size_t printable__char(const char *s, size_t len, bool *ret_printable)
{
	static const uint32_t smallest[] = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 };
	unsigned char c = *s;
	uint32_t point = 0;
	size_t n;

	*ret_printable = false;
	if (c < 0x80) {
		*ret_printable = c >= 0x20 && c != 0x7f;
		return 1;
	}
	n = utf8_length(c, &point);
	if (!n || n > len)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 1;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < smallest[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 1;
	/* C1 controls; marks that change the writing direction, or are invisible */
	*ret_printable = point >= 0xa0 && !(point >= 0x200b && point <= 0x200f) &&
			 !(point >= 0x2028 && point <= 0x202e) &&
			 !(point >= 0x2066 && point <= 0x2069) && point != 0x61c && point != 0xfeff;
	return n;
}

char *make_printable(char *s)
{
	size_t left = strlen(s), n;
	bool printable;

	for (char *c = s; left; c += n, left -= n) {
		n = printable__char(c, left, &printable);
		if (!printable)
			memset(c, '?', n);
	}
	return s;
}
