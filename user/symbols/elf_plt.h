/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for the PLT stubs through which a module calls others: "strcmp@plt". No symbol table has
 * them. */
#ifndef FRBPF_SYMBOLS_ELF_PLT_H
#define FRBPF_SYMBOLS_ELF_PLT_H

#include <libelf.h>

#include "symbols/symbol_table.h"

/* Add the names of the stubs of an x86-64 or arm64 file; of other machines none. 0 or -ENOMEM. */
int elf_plt__read(Elf *elf, struct symbol_table *t);

#endif
