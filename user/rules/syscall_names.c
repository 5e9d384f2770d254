// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/syscall_newer.h"
#include "rules/when.h"

/*
 * The Makefile makes syscall_table.h: a sorted SYSCALL(name) for each call that syscall_newer.h
 * knows.
 */
#define SYSCALL(name) #name,
const char *const syscall_names[] = {
#include "syscall_table.h"
	NULL,
};
#undef SYSCALL

#define SYSCALL(name) __NR_##name,
static const int numbers[] = {
#include "syscall_table.h"
};
#undef SYSCALL

_Static_assert(ARRAY_SIZE(syscall_names) == ARRAY_SIZE(numbers) + 1, "one number per name");

int syscall__number(const char *name, size_t len)
{
	size_t low = 0, high = ARRAY_SIZE(numbers);

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(name, syscall_names[mid], len);

		if (!order && !syscall_names[mid][len])
			return numbers[mid];
		if (order > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return -ENOENT;
}

const char *syscall__name(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i] == nr)
			return syscall_names[i];
	}
	return NULL;
}
