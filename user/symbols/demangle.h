/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Demangles names of C++ and older Rust functions. Uses the C++ run-time library, loaded on
 * demand, if it is installed.
 */
#ifndef FRBPF_SYMBOLS_DEMANGLE_H
#define FRBPF_SYMBOLS_DEMANGLE_H

struct demangler;

/* NULL: libstdc++.so.6 is not installed. */
struct demangler *demangler__new(void);
/* "ns::f(int)", owned by the caller; NULL: @name is not mangled, or too long. */
char *demangler__run(const struct demangler *d, const char *name);
void demangler__free(struct demangler *d);

/* ---- one for the whole process ---- */

/* Load libstdc++ now, in a process that can open no files later. */
void demangle__prepare(void);

/* Returns the name without parameters; the caller frees it. NULL: @symbol is not mangled, libstdc++
 * is not installed, or out of memory. Not locked. */
char *demangle(const char *symbol);

#endif
