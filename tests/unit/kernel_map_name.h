/* SPDX-License-Identifier: GPL-2.0-only */
/* The name that perf, and so a dump, gives to the map of the kernel's text. */
#ifndef FRBPF_TESTS_KERNEL_MAP_NAME_H
#define FRBPF_TESTS_KERNEL_MAP_NAME_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The first of _text and _stext in kallsyms: the text of arm64 begins with the second. */
static inline const char *kernel_map_name(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], *name;
	bool has_text = false;

	assert_non_null(f);
	while (!has_text && fgets(line, sizeof(line), f)) {
		name = strrchr(line, ' ');
		has_text = name && !strcmp(name, " _text\n");
	}
	fclose(f);
	return has_text ? "[kernel.kallsyms]_text" : "[kernel.kallsyms]_stext";
}

#endif
