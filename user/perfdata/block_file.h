/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random reads of a file that may be larger than memory, through a cache of blocks. It is read, not
 * mapped: a file that somebody cuts meanwhile would be a SIGBUS. Not locked.
 */
#ifndef FRBPF_PERFDATA_BLOCK_FILE_H
#define FRBPF_PERFDATA_BLOCK_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct block_file;

/* -EINVAL: not a regular file; else the errno of open. Words in @err. */
int block_file__open(const char *path, struct err *err, struct block_file **ret);
/* The same of a file that is open; @fd is taken over, also after an error. @path is its name in messages. */
int block_file__from_fd(int fd, const char *path, struct err *err, struct block_file **ret);
/* NULL is legal. */
void block_file__free(struct block_file *f);

/* Bytes, when it was opened. */
uint64_t block_file__size(const struct block_file *f);

/* From now on it is read from front to back: blocks that were passed are not kept. */
void block_file__read_one_way(struct block_file *f);

/* Copy @len bytes at @off. -EINVAL: they are not there; -ENOMEM, or the errno of read. Words, with
 * the offset, in @err. */
int block_file__read(struct block_file *f, uint64_t off, void *to, size_t len, struct err *err);

#endif
