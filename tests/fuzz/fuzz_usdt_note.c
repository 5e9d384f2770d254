// SPDX-License-Identifier: GPL-2.0-only
/* fuzz-sources: user/detect/probe/usdt_note.c */
/* Notes of static probes come from files that anybody can make. */
#include <assert.h>
#include <string.h>

#include "detect/probe/usdt_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(const struct elf_usdt *p, void *arg)
{
	size_t *n = arg;

	assert(p->name[0]);
	*n += strlen(p->provider) + strlen(p->name) + strlen(p->args);
	return *n > 1 << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = 0;

	usdt_notes__each(data, size, look, &n);
	assert(n <= size);
	return 0;
}
