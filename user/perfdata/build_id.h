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

/*
 * Read the build id from the notes of an open ELF file. -ENOENT: the file has none, or is not a
 * regular ELF file. Other errors are those of elf_copy__make().
 */
int build_id__read_fd(int fd, struct build_id *ret);
/* Read the build id of the running kernel, from /sys/kernel/notes. 0 or negative errno. */
int build_id__read_kernel(struct build_id *ret);
/*
 * Find the build id (NT_GNU_BUILD_ID of owner GNU) in notes in memory. Checks every length. 0 or
 * -ENOENT.
 */
int build_id__from_notes(const void *notes, size_t len, struct build_id *ret);

#endif
