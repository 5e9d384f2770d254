// SPDX-License-Identifier: GPL-2.0-only
/* Names of functions come from untrusted programs. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t offsets[] = { 0, 0x1000, 0x1234 };
	const struct elf_wanted wanted = { .offsets = offsets, .n = 3 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	assert(fd >= 0);
	assert(write(fd, data, size) == (ssize_t)size);
	for (int i = 0; i < 2; i++) {
		struct elf_symbols e = { .wanted = i ? &wanted : NULL };
		uint64_t vaddr;

		if (elf_symbols__read(fd, &e))
			continue;
		if (elf_symbols__vaddr(&e, 0x1234, &vaddr))
			elf_symbols__find(&e, vaddr);
		elf_symbols__free(&e);
	}
	close(fd);
	return 0;
}
