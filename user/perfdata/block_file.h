/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random access to a file that may be larger than memory, through a cache of blocks. The file is
 * not mapped, because truncating a mapped file would raise SIGBUS. Not locked.
 */
#ifndef FRBPF_PERFDATA_BLOCK_FILE_H
#define FRBPF_PERFDATA_BLOCK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct block_file;

/*
 * Open a file; the caller frees *ret. -EINVAL: not a regular file; -ENOMEM; or the errno of open. A
 * message is in @err.
 */
int block_file__open(const char *path, struct err *err, struct block_file **ret);
/* The same for an open file. Takes over @fd, also after an error. @path: its name in messages. */
int block_file__from_fd(int fd, const char *path, struct err *err, struct block_file **ret);
/* NULL is legal. */
void block_file__free(struct block_file *f);

/* Size in bytes at the time of opening. */
uint64_t block_file__size(const struct block_file *f);

/*
 * True: from now on the file is read from front to back. Only the current block is kept in memory,
 * which saves a page fault for each page of the file. False, as after opening: it is read anywhere.
 */
void block_file__read_one_way(struct block_file *f, bool one_way);

/* Copy @len bytes at @off. -EINVAL: beyond the end of the file; -ENOMEM, or the errno of the read.
 * @err has a message with the offset. */
int block_file__read(struct block_file *f, uint64_t off, void *to, size_t len, struct err *err);

#endif
