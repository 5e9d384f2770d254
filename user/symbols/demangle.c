// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

#define MANGLED_MAX 4096 /* bytes; what a name can become grows faster than it */

typedef char *(*cxa_demangle_fn)(const char *name, char *buf, size_t *len, int *status);

/* Of libstdc++, if it is there: nothing else of it is needed. */
static cxa_demangle_fn find_demangler(void)
{
	static cxa_demangle_fn fn;
	static bool looked;
	void *lib;

	if (!looked) {
		looked = true;
		lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (lib)
			fn = (cxa_demangle_fn)dlsym(lib, "__cxa_demangle");
	}
	return fn;
}

/* Cut "(int, char) const" off; "operator()" and "(anonymous namespace)" stay. */
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

char *demangle(const char *symbol)
{
	cxa_demangle_fn fn;
	int status = -1;
	char *name;

	if (strncmp(symbol, "_Z", 2) || strlen(symbol) > MANGLED_MAX)
		return NULL;
	fn = find_demangler();
	name = fn ? fn(symbol, NULL, NULL, &status) : NULL;
	if (!name || status) {
		free(name);
		return NULL;
	}
	cut_parameters(name);
	return name;
}
