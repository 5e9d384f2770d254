/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that grows at its end, buffered, its write-back paced so that the last fsync is short.
 * Life: create, write, flush, (write at a place,) sync, close. Failed calls leave words in @err;
 * the file is of no use afterwards and the caller removes it.
 */
#ifndef FRBPF_PERFDATA_OUT_FILE_H
#define FRBPF_PERFDATA_OUT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/err.h"

#define OUT_FILE_BUFFER (256 << 10)

struct out_file {
	int fd;		  /* -1: not open */
	const char *name; /* for messages; borrowed */
	char *buf;	  /* OUT_FILE_BUFFER bytes, owned */
	size_t len;	  /* of them in use */
	uint64_t flushed; /* bytes handed to the kernel */
	uint64_t paced;	  /* bytes whose write-back was begun */
};

/* Create @dirfd/@name, mode 0600; -EEXIST when there is one, whatever it is. */
int out_file__create(int dirfd, const char *name, struct err *err, struct out_file *ret);

int out_file__flush(struct out_file *f, struct err *err);
/* For what may be larger than the buffer. */
int out_file__write_large(struct out_file *f, const void *data, size_t len, struct err *err);
/* Overwrite what was flushed before; the end of the file stays where it is. */
int out_file__write_at(struct out_file *f, uint64_t off, const void *data, size_t len,
		       struct err *err);
int out_file__sync(struct out_file *f, struct err *err);
void out_file__close(struct out_file *f);

static inline uint64_t out_file__size(const struct out_file *f)
{
	return f->flushed + f->len;
}

static inline int out_file__write(struct out_file *f, const void *data, size_t len, struct err *err)
{
	if (len > OUT_FILE_BUFFER - f->len)
		return out_file__write_large(f, data, len, err);
	memcpy(f->buf + f->len, data, len);
	f->len += len;
	return 0;
}

#endif
