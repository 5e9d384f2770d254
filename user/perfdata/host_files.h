/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading procfs and sysfs as the host sections need it: small files, "key : value" lines, lists of
 * numbers. */
#ifndef FRBPF_PERFDATA_HOST_FILES_H
#define FRBPF_PERFDATA_HOST_FILES_H

#include <stdint.h>

#include "common/buf.h"

/* Paths below are printf formats of an absolute path; @root is put in front ("" but in tests). All
 * return 0 or negative errno; -EINVAL is a content that is not of the form expected. */

/* Append the whole file (64 KiB at most) without blanks at its end. */
int host_files__text(const char *root, struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The file's one number in @base. */
int host_files__u64(const char *root, int base, uint64_t *ret, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Append the value of the first line "KEY : VALUE" of @path, runs of blanks squeezed. -ENOENT: no
 * such line. */
int host_files__field(const char *root, const char *path, const char *key, struct buf *b);
/* The number that value begins with. */
int host_files__field_u64(const char *root, const char *path, const char *key, uint64_t *ret);

/* The next range of a list such as "0-3,5": 1 and *ret_lo, *ret_hi with *s moved behind it, 0 at
 * the end, -EINVAL. */
int host_files__next_range(const char **s, uint32_t *ret_lo, uint32_t *ret_hi);

#endif
