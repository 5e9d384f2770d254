/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for the stubs through which a module calls others: "strcmp@plt". No symbol table has them. */
#ifndef FRBPF_SYMBOLS_ELF_PLT_H
#define FRBPF_SYMBOLS_ELF_PLT_H

#include <libelf.h>

#include "symbols/symbol_table.h"

/* Add those of a file for x86-64 or arm64; of others none. 0 or -ENOMEM. */
int elf_plt__read(Elf *elf, struct symbol_table *t);

#endif
