/* SPDX-License-Identifier: GPL-2.0-only */
/* The notes in which a program tells its static probes: section .note.stapsdt, as sys/sdt.h of
 * SystemTap writes it. */
#ifndef FRBPF_DETECT_USDT_NOTE_H
#define FRBPF_DETECT_USDT_NOTE_H

#include "detect/probe/elf_file.h"

/* Call @fn with each probe in a section's bytes; what is damaged is passed over, every length is
 * checked. Not 0 from @fn ends it and is returned. */
int usdt_notes__each(const void *notes, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg);

#endif
