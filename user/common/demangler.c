// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangler.h"

#define LIBRARY	 "libstdc++.so.6"
#define FUNCTION "__cxa_demangle" /* of the Itanium C++ ABI */

#define MANGLED_MAX 4096 /* bytes; a demangled name can be much longer */

struct demangler {
	void *library;
	char *(*demangle)(const char *name, char *buf, size_t *size, int *ret_status);
};

struct demangler *demangler__new(void)
{
	struct demangler *d = calloc(1, sizeof(*d));

	if (d)
		d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (d && d->library)
		*(void **)&d->demangle = dlsym(d->library, FUNCTION);
	if (d && d->demangle)
		return d;
	demangler__free(d);
	return NULL;
}

char *demangler__run(const struct demangler *d, const char *name)
{
	int status = -1;

	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MANGLED_MAX)
		return NULL;
	return d->demangle(name, NULL, NULL, &status);
}

void demangler__free(struct demangler *d)
{
	if (!d)
		return;
	if (d->library)
		dlclose(d->library);
	free(d);
}
