// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "common/demangler.h"
#include "symbols/demangle.h"

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

char *demangle(const char *symbol)
{
	static struct demangler *demangler;
	static bool looked;
	char *name;

	if (!looked && !strncmp(symbol, "_Z", 2)) {
		looked = true;
		demangler = demangler__new();
	}
	name = demangler ? demangler__run(demangler, symbol) : NULL;
	if (name)
		cut_parameters(name);
	return name;
}
