// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

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

/* Cut off "(int, char) const", but not "operator()" and "(anonymous namespace)". */
static void cut_parameters(char *name)
{
	char *end = strrchr(name, ')');
	int depth = 0;

	for (char *p = end; p && p > name; p--) {
		depth += (*p == ')') - (*p == '(');
		if (depth)
			continue;
		if (p[-1] != ':' && p[-1] != ' ') /* not "a::(anonymous namespace)" */
			*p = '\0';
		return;
	}
}

static struct demangler *demangler;
static bool looked;

void demangle__prepare(void)
{
	if (!looked)
		demangler = demangler__new();
	looked = true;
}

char *demangle(const char *symbol)
{
	char *name;

	if (!strncmp(symbol, "_Z", 2))
		demangle__prepare();
	name = demangler ? demangler__run(demangler, symbol) : NULL;
	if (name)
		cut_parameters(name);
	return name;
}
