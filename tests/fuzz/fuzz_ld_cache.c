// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <string.h>

#include "detect/probe/probe_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(const char *name, const char *path, void *arg)
{
	*(size_t *)arg += strlen(name) + strlen(path);
	return *(size_t *)arg > 1 << 20;
}

/* Half of the inputs get a valid beginning. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[20] = "glibc-ld.so.cache1.1";
	static uint8_t buf[1 << 16];
	size_t n = 0;

	if (size < 1 || size > sizeof(buf) - sizeof(magic))
		return 0;
	memcpy(buf, magic, sizeof(magic));
	memcpy(buf + sizeof(magic), data + 1, size - 1);
	if (data[0] & 1)
		ld_cache__each(buf, sizeof(magic) + size - 1, look, &n);
	else
		ld_cache__each(data, size, look, &n);
	return 0;
}
