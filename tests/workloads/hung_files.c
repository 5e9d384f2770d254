// SPDX-License-Identifier: GPL-2.0-only
/*
 * hung_files: a program that runs from a file system that stops answering. Mounts a FUSE file
 * system with this program, runs it from there as "frbpf-hung", and prints {"path": ..., "pid":
 * ...}. Then it obeys the lines of its standard input: "hang" - no request is answered any more;
 * "close" - the program calls close(-1), deep in its own functions. At the end of the input it
 * unmounts, and the program ends. Status 77: no FUSE here.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "../unit/fuse_fixture.h"

__attribute__((noipa)) static int hung_inner(int fd)
{
	int r = close(fd);

	__asm__ volatile("" ::: "memory");
	return r;
}

__attribute__((noipa)) static int hung_outer(int fd)
{
	int r = hung_inner(fd);

	__asm__ volatile("" ::: "memory");
	return r;
}

/* Lock all pages into memory, so that no fault needs the file system. */
static int run_program(void)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "frbpf-hung");
	if (mlockall(MCL_CURRENT) || write(STDOUT_FILENO, "", 1) != 1)
		return 1;
	while (read(STDIN_FILENO, &c, 1) == 1)
		hung_outer(-1);
	return 0;
}

static pid_t start_program(const char *path, int *ret_to)
{
	int to[2], from[2];
	pid_t pid;
	char c;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execl(path, path, "--program", NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	*ret_to = to[1];
	return read(from[0], &c, 1) == 1 ? pid : -1;
}

int main(int argc, char **argv)
{
	struct fuse_fixture fuse;
	char line[32];
	int to = -1;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "--program"))
		return run_program();
	if (!fuse_fixture__mount(&fuse, "/proc/self/exe")) {
		fprintf(stderr, "hung_files: no FUSE here\n");
		return 77;
	}
	pid = start_program(fuse.path, &to);
	if (pid > 0)
		printf("{\"path\":\"%s\",\"pid\":%d}\n", fuse.path, pid);
	fflush(stdout);
	while (pid > 0 && fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "hang\n"))
			fuse_fixture__hang(&fuse);
		else if (write(to, "", 1) != 1)
			break;
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	fuse_fixture__unmount(&fuse);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid > 0 ? 0 : 1;
}
