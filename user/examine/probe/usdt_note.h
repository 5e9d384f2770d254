/* SPDX-License-Identifier: GPL-2.0-only */
/* The notes in which a program tells its static probes: section .note.stapsdt, as sys/sdt.h of
 * SystemTap writes it. */
#ifndef FRBPF_EXAMINE_USDT_NOTE_H
#define FRBPF_EXAMINE_USDT_NOTE_H

#include "examine/probe/elf_file.h"
#include "frbpf.h"

/* Call @fn with each probe in a section's bytes. Damaged notes are skipped; every length is checked. If @fn
 * returns something other than 0, the walk ends and returns it. */
int usdt_notes__each(const void *notes, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg);

/*
 * Parse @args, the argument string of a note, up to FRBPF_MAX_ARGS of them: "8@%rax", "-4@-8(%rbp)", "8@$812" on
 * x86-64; "8@x0", "4@[sp, 8]", "8@812" on arm64. -EINVAL: *@ret_bad is where an unknown operand begins.
 */
int usdt_args__parse(const char *args, struct frbpf_usdt_place *ret, const char **ret_bad);

/* Could usdt_args__parse() have made it? Programs in the kernel read the registers that it says. */
bool usdt_place__is_valid(const struct frbpf_usdt_place *place);

#endif
