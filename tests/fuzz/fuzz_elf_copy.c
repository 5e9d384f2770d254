// SPDX-License-Identifier: GPL-2.0-only
/* The ELF files that are copied are untrusted. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/elf_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), copy = -1;
	struct stat st;

	assert(fd >= 0);
	assert(write(fd, data, size) == (ssize_t)size);
	if (!elf_copy__make(fd, size ? data[size - 1] : 0, &copy)) {
		assert(!fstat(copy, &st) && st.st_size == (off_t)size);
		close(copy);
	}
	close(fd);
	return 0;
}
