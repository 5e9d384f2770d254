/* SPDX-License-Identifier: GPL-2.0-only */
/* GNU build ids of ELF files and of the running kernel. */
#ifndef FRBPF_PERFDATA_BUILD_ID_H
#define FRBPF_PERFDATA_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX 20

struct build_id {
	uint8_t size; /* bytes; 0: none */
	uint8_t data[BUILD_ID_MAX];
};

/* From the notes of an open ELF file (libelf; only regular files are read). -ENOENT: it has none or
 * is no ELF. */
int build_id__read_fd(int fd, struct build_id *ret);
/* From /sys/kernel/notes. */
int build_id__read_kernel(struct build_id *ret);
/* From a memory image of notes (NT_GNU_BUILD_ID of owner GNU); every length is checked. */
int build_id__from_notes(const void *notes, size_t len, struct build_id *ret);

#endif
