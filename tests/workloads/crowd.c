// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many processes that do nothing, until standard input ends.
 *
 *	crowd N
 *
 * Prints one line of JSON when all are there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;
	pid_t self = getpid();
	char c;

	if (n < 1) {
		fprintf(stderr, "usage: crowd N\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("crowd: fork");
			return 1;
		}
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (getppid() == self)
				pause();
			_exit(0);
		}
	}
	printf("{\"pid\":%d,\"tid\":%d,\"processes\":%d}\n", self, self, n);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
