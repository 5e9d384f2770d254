/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes that describe the static probes of a program: section .note.stapsdt, written by sys/sdt.h
 * of SystemTap.
 */
#ifndef FRBPF_EXAMINE_USDT_NOTE_H
#define FRBPF_EXAMINE_USDT_NOTE_H

#include "examine/probe/elf_file.h"
#include "abi.h"

/*
 * Call @fn with each probe in the bytes of a section. Damaged notes are skipped. If @fn returns
 * non-zero, this stops and returns it.
 */
int usdt_notes__each(const void *notes, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg);

/*
 * Parse the argument string of a note, at most FRBPF_MAX_ARGS arguments: "8@%rax", "-4@-8(%rbp)",
 * "8@$812" on x86-64; "8@x0", "4@[sp, 8]", "8@812" on arm64. -EINVAL: an operand is unknown;
 * *ret_bad is where it begins.
 */
int usdt_args__parse(const char *args, struct frbpf_usdt_place *ret, const char **ret_bad);

/* Can @place be a result of usdt_args__parse()? BPF programs read the registers that it names. */
bool usdt_place__is_valid(const struct frbpf_usdt_place *place);

#endif
