/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies the needed parts of an ELF file, with holes for the rest. The owner of the file may
 * change or truncate it at any moment. Libraries that map a file, or read it twice, are safe on
 * the copy.
 */
#ifndef FRBPF_COMMON_ELF_COPY_H
#define FRBPF_COMMON_ELF_COPY_H

#define ELF_COPY_NOTES	   0x1 /* sections and segments of notes */
#define ELF_COPY_SYMBOLS   0x2 /* symbols and their names, dynamic section, .plt */
#define ELF_COPY_DEBUGDATA 0x4 /* .gnu_debugdata: compressed, and may decompress to much more */
#define ELF_COPY_UNWIND	   0x8 /* .eh_frame: how to get from a frame to its caller */

#define ELF_COPY_MAX	  (512LL << 20) /* bytes copied of one file */
#define ELF_COPY_FILE_MAX (64LL << 30)	/* bytes of the file itself */
#define ELF_COPY_SECTIONS (1 << 18)

/*
 * Copy the headers of the file @fd, and the parts @what, into a memfd of the same length. *ret is
 * its descriptor, which the caller closes. -ENOEXEC: not an ELF file; -EFBIG: above the limits;
 * -ENOENT: not a regular file; or the errno of the read. Truncated or damaged parts become holes.
 */
int elf_copy__make(int fd, unsigned int what, int *ret);

#endif
