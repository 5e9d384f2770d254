// SPDX-License-Identifier: GPL-2.0-only
/* fuzz-sources: user/detect/probe/sdt_file.c user/detect/probe/sdt_arg.c user/detect/probe/usdt_note.c */
/* Programs of anybody are looked at for static probes. */
#define _GNU_SOURCE
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "detect/probe/sdt_arg.h"
#include "detect/probe/sdt_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(const struct sdt_place *p, void *arg)
{
	size_t *n = arg;

	assert(p->name[0]);
	assert(p->offset <= INT64_MAX);
	return ++*n > 100;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char text[64] = "";
	uint64_t cookie;
	size_t n = 0;

	assert(fd >= 0);
	assert(write(fd, data, size) == (ssize_t)size);
	sdt_file__each(fd, "frbpf", look, &n);
	close(fd);
	memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
	sdt_arg__parse(text, &cookie);
	return 0;
}
