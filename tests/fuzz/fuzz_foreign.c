// SPDX-License-Identifier: GPL-2.0-only
/* Links of other users lead to a regular file or nowhere; following them opens nothing. */
#include <stdio.h>
#include <string.h>

#include "common/foreign.h"
#include "fuzz_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned int flags[] = { 0, FOREIGN_TRUSTED };
	char target[4096], path[64];
	int dir = fuzz_dir__open();
	struct stat st;

	if (!size || size >= sizeof(target) || memchr(data, 0, size))
		return 0;
	memcpy(target, data, size);
	target[size] = '\0';
	fuzz_dir__write("file", "x", 1);
	unlinkat(dir, "link", 0);
	if (symlinkat(target, dir, "link"))
		return 0;
	snprintf(path, sizeof(path), "%s/link", fuzz_dir);
	for (size_t i = 0; i < 2; i++) {
		int fd = foreign__find(path, flags[i], &st);

		assert(fd < 0 || (S_ISREG(st.st_mode) && fcntl(fd, F_GETFL) & O_PATH));
		if (fd >= 0)
			close(fd);
		fd = foreign__find_of(getpid(), target, &st);
		assert(fd < 0 || (S_ISREG(st.st_mode) && fcntl(fd, F_GETFL) & O_PATH));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}
