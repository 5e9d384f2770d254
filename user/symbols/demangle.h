/* SPDX-License-Identifier: GPL-2.0-only */
/* Demangles names of C++ and older Rust functions. */
#ifndef FRBPF_SYMBOLS_DEMANGLE_H
#define FRBPF_SYMBOLS_DEMANGLE_H

/* Load libstdc++ now, in a process that can open no files later. */
void demangle__prepare(void);

/* Returns the name without parameters; the caller frees it. NULL: @symbol is not mangled, libstdc++
 * is not installed, or out of memory. Not locked. */
char *demangle(const char *symbol);

#endif
