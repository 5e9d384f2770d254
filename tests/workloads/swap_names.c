// SPDX-License-Identifier: GPL-2.0-only
/*
 * swap_names A B: exchanges the names A and B again and again, until standard input ends. Prints
 * "swapping" when it has begun.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	if (argc != 3)
		return 2;
	for (unsigned int i = 0; i % 64 || poll(&in, 1, 0) == 0; i++) {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE)) {
			perror("swap_names");
			return 1;
		}
		if (i == 64)
			(void)!write(STDOUT_FILENO, "swapping\n", 9);
	}
	return 0;
}
