/* SPDX-License-Identifier: GPL-2.0-only */
/* write(2) until everything is written. */
#ifndef FRBPF_COMMON_WRITE_ALL_H
#define FRBPF_COMMON_WRITE_ALL_H

#include <stddef.h>

/*
 * Write the @len bytes at @data to @fd, in several calls if needed. 0 or negative errno of
 * write(2); -EIO: it wrote nothing. Bytes written before an error stay written.
 */
int write_all(int fd, const void *data, size_t len);

#endif
