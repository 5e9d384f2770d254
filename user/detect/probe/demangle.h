/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of C++ functions as they stand in its source. The run-time library of C++ knows how; it is
 * loaded while it is needed, and need not be there. */
#ifndef FRBPF_DETECT_DEMANGLE_H
#define FRBPF_DETECT_DEMANGLE_H

struct demangler;

/* NULL: there is no libstdc++.so.6 here. */
struct demangler *demangler__new(void);
/* "ns::f(int)", owned by the caller; NULL: @name is not mangled. */
char *demangler__run(const struct demangler *d, const char *name);
void demangler__free(struct demangler *d);

#endif
