/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts that anybody may choose (names of tasks, reasons) before a terminal or a log sees them. */
#ifndef FRBPF_COMMON_PRINTABLE_H
#define FRBPF_COMMON_PRINTABLE_H

/* Replace what would move a terminal's cursor or begin a line of its own by '?', in place. Returns @s. */
static inline char *make_printable(char *s)
{
	for (char *c = s; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return s;
}

#endif
