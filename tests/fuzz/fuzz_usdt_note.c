// SPDX-License-Identifier: GPL-2.0-only
/* Notes of static probes come from untrusted files. */
#include <assert.h>
#include <string.h>

#include "examine/probe/usdt_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(const struct elf_usdt *p, void *arg)
{
	struct frbpf_usdt_place place;
	size_t *n = arg;
	const char *bad;

	assert(p->name[0]);
	if (usdt_args__parse(p->args, &place, &bad))
		assert(bad >= p->args && bad < p->args + strlen(p->args));
	*n += strlen(p->provider) + strlen(p->name) + strlen(p->args);
	return *n > 1 << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frbpf_usdt_place place;
	char text[64] = "";
	const char *bad;
	size_t n = 0;

	memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
	if (usdt_args__parse(text, &place, &bad))
		assert(bad >= text && bad < text + sizeof(text));
	usdt_notes__each(data, size, look, &n);
	assert(n <= size);
	return 0;
}
