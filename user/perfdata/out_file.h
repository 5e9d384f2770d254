/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An append-only file with a buffer. Write-back is started early, so that the final fsync is short.
 * Life: create, write, flush, (write_at,) sync, close. A failed call leaves a message in @err; the
 * file is then useless, and the caller removes it.
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
	size_t len;	  /* bytes used in buf */
	uint64_t flushed; /* bytes passed to the kernel */
	uint64_t paced;	  /* bytes whose write-back was started */
};

/* Create @dirfd/@name with mode 0600. -EEXIST: the name is taken; -ENOMEM; or the errno of open. */
int out_file__create(int dirfd, const char *name, struct err *err, struct out_file *ret);

/* The same for the new file @fd, which is duplicated. @name: for messages. */
int out_file__use(int fd, const char *name, struct err *err, struct out_file *ret);

int out_file__flush(struct out_file *f, struct err *err);
/* Write data that does not fit into the rest of the buffer. */
int out_file__write_large(struct out_file *f, const void *data, size_t len, struct err *err);
/* Overwrite data that was flushed before. Later writes still go to the end of the file. */
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
