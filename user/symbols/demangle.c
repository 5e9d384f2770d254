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
