// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process with many maps of its own program's text, until standard input ends.
 *
 * many_maps N
 *
 * Every second page of an area is mapped, so that the kernel merges none of them. Prints one line
 * of JSON when all are mapped; "maps" is less than N if vm.max_map_count allows no more.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    made;
	size_t page = sysconf(_SC_PAGESIZE);
	char *area, c;

	if (n < 1 || fd < 0) {
		fprintf(stderr, "usage: many_maps N\n");
		return 2;
	}
	area = mmap(NULL, 2 * n * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (area == MAP_FAILED) {
		perror("many_maps: mmap");
		return 1;
	}
	/* each replaces one page; the rest before and after it are areas, too */
	for (made = 0; made < n; made++) {
		if (mmap(area + 2 * made * page, page, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			break;
	}
	if (made < n) /* the limit is reached: make room for maps of the C library */
		munmap(area + (2 * made + 1) * page, page);
	printf("{\"pid\":%d,\"tid\":%d,\"maps\":%d}\n", getpid(), getpid(), made);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
