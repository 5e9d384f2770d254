// SPDX-License-Identifier: GPL-2.0-only
/* Call frame information comes from untrusted programs. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/cfi.h"

#define STEPS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cfi_stack stack = { .data = data, .start = 0x7000, .size = size };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct cfi *c;

	assert(fd >= 0);
	assert(write(fd, data, size) == (ssize_t)size);
	for (uint64_t at = 0; !cfi__open(fd, &c); at += 0x40) {
		struct cfi_frame f = { .pc = at, .known = UINT64_MAX };

		for (int r = 0; r < CFI_REGISTERS; r++)
			f.regs[r] = 0x7000 + 8 * r;
		for (int n = 0; n < STEPS && !cfi__step(c, at + n, &stack, &f); n++)
			;
		cfi__free(c);
		if (at >= 0x400)
			break;
	}
	close(fd);
	return 0;
}
