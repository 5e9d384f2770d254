/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy of what is wanted of an ELF file, with holes for the rest, so that libraries can read it that map
 * files, read them twice or trust their numbers. The file may be anybody's, who may write to it or cut
 * it short at any moment.
 */
#ifndef FRBPF_COMMON_ELF_COPY_H
#define FRBPF_COMMON_ELF_COPY_H

#define ELF_COPY_NOTES	   0x1 /* sections and segments of notes */
#define ELF_COPY_SYMBOLS   0x2 /* symbols, their names, what is needed at run time, .plt */
#define ELF_COPY_DEBUGDATA 0x4 /* .gnu_debugdata: compressed, and may become very large */
#define ELF_COPY_UNWIND	   0x8 /* .eh_frame: how to get from a frame to its caller */

#define ELF_COPY_MAX	  (512LL << 20) /* bytes that are copied of one file */
#define ELF_COPY_FILE_MAX (64LL << 30)	/* of the file itself */
#define ELF_COPY_SECTIONS (1 << 18)

/*
 * Copy the headers of the file @fd, and @what of the above; the descriptor of the copy, which is as long
 * and is not in any file system, comes in *@ret and is the caller's. -ENOEXEC: no ELF file; -EFBIG: more than the
 * numbers above; -ENOENT: not a regular file; or the errno of reading it. What is cut off or damaged has holes.
 */
int elf_copy__make(int fd, unsigned int what, int *ret);

#endif
