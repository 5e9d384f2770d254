/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads procfs and sysfs for the host sections: small files, "key : value" lines. */
#ifndef FRBPF_PERFDATA_HOST_FILES_H
#define FRBPF_PERFDATA_HOST_FILES_H

#include <stdint.h>

#include "common/buf.h"

/*
 * @fmt below is a printf format of an absolute path. It is prefixed with @root, which is "" except
 * in tests. All return 0 or negative errno; -EINVAL: malformed contents.
 */

/* Append the whole file, at most 64 KiB, without trailing blanks. */
int host_files__text(const char *root, struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Read a file that has one number, in @base. */
int host_files__u64(const char *root, int base, uint64_t *ret, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Append the value of the first line "KEY : VALUE" of @path, with runs of blanks squeezed.
 * -ENOENT: no such line. */
int host_files__field(const char *root, const char *path, const char *key, struct buf *b);
/* Get the decimal number at the start of that value. */
int host_files__field_u64(const char *root, const char *path, const char *key, uint64_t *ret);

#endif
