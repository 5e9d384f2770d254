/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of C++ (and older Rust) functions as people write them. */
#ifndef FRBPF_SYMBOLS_DEMANGLE_H
#define FRBPF_SYMBOLS_DEMANGLE_H

/* The name without its parameters; the caller frees it. NULL: it is not mangled, there is no
 * libstdc++ on this machine to ask, or no memory. Not locked. */
char *demangle(const char *symbol);

#endif
