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

/* Read it from the notes of an open ELF file. -ENOENT: the file has none, or is no regular ELF
 * file; other errors of elf_copy__make(). */
int build_id__read_fd(int fd, struct build_id *ret);
/* Read that of the running kernel, from /sys/kernel/notes. 0 or negative errno. */
int build_id__read_kernel(struct build_id *ret);
/* Find it in notes in memory (NT_GNU_BUILD_ID of owner GNU). Checks every length. 0 or -ENOENT. */
int build_id__from_notes(const void *notes, size_t len, struct build_id *ret);

#endif
