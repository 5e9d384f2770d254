// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes code into anonymous memory and runs it, as a JIT does. It names the code in
 * /tmp/perf-PID.map under the name jitted_loop, and maps a jit-PID.dump as `perf inject --jit`
 * expects.
 *
 *	jit SECONDS DIRECTORY
 *
 * DIRECTORY takes the dump. Prints one line of JSON.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ran.h"

/* void jitted_loop(uint64_t n): count down to 0 */
static const unsigned char code[] = {
#if defined(__x86_64__)
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /*    jnz 1b */
	0xc3,		  /*    ret */
#elif defined(__aarch64__)
	0x00, 0x04, 0x00, 0xf1, /* 1: subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /*    b.ne 1b */
	0xc0, 0x03, 0x5f, 0xd6, /*    ret */
#endif
};

static void *map(int fd, int prot)
{
	void *p = mmap(NULL, 4096, prot, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

	if (p == MAP_FAILED) {
		perror("jit: mmap");
		exit(1);
	}
	return p;
}

static void map_dump(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, getpid());
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096)) {
		perror(path);
		exit(1);
	}
	map(fd, PROT_READ | PROT_EXEC);
	close(fd);
}

int main(int argc, char **argv)
{
	void (*loop)(uint64_t n);
	struct ran ran = { 0 };
	char path[64];
	void *text;
	FILE *f;

	if (argc != 3 || !sizeof(code)) {
		fprintf(stderr, "usage: jit SECONDS DIRECTORY\n");
		return 2;
	}
	map_dump(argv[2]);
	text = map(-1, PROT_READ | PROT_WRITE);
	memcpy(text, code, sizeof(code));
	if (mprotect(text, 4096, PROT_READ | PROT_EXEC)) {
		perror("jit: mprotect");
		return 1;
	}
	*(void **)&loop = text;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "we");
	if (!f) {
		perror(path);
		return 1;
	}
	fprintf(f, "%lx %zx jitted_loop\n", (unsigned long)text, sizeof(code));
	fclose(f);
	while (ran__less(&ran, atof(argv[1]) * 1e9))
		loop(100000);
	printf("{\"pid\":%d,\"tid\":%d}\n", getpid(), getpid());
	return 0;
}
