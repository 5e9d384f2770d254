// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads libraries one after the other, calls library_burn() of each and unloads it again, so that
 * each library takes the addresses of the previous one.
 *
 *	reload SECONDS LIBRARY...
 *
 * Prints one line of JSON; "same" says whether all had the same address.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Load @path, burn @ns in its library_burn() and unload it. Returns the address of the function. */
static void *burn_in(const char *path, uint64_t ns)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*burn)(uint64_t ns);

	*(void **)&burn = lib ? dlsym(lib, "library_burn") : NULL;
	if (!burn) {
		fprintf(stderr, "reload: %s\n", dlerror());
		exit(1);
	}
	burn(ns);
	dlclose(lib);
	return (void *)burn;
}

int main(int argc, char **argv)
{
	void *first = NULL, *at;
	bool same = true;

	if (argc < 3) {
		fprintf(stderr, "usage: reload SECONDS LIBRARY...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		at = burn_in(argv[i], atof(argv[1]) * 1e9);
		first = first ? first : at;
		same &= at == first;
	}
	printf("{\"pid\":%d,\"tid\":%d,\"same\":%s}\n", getpid(), getpid(),
	       same ? "true" : "false");
	return 0;
}
