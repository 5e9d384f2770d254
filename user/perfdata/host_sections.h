/* SPDX-License-Identifier: GPL-2.0-only */
/* What host_info.c, host_topology.c and host_files.c share: encoders, and files of the kernel. */
#ifndef FRBPF_PERFDATA_HOST_SECTIONS_H
#define FRBPF_PERFDATA_HOST_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "common/buf.h"
#include "perfdata/host_info.h"

struct host_env {
	const char *root; /* prefix of /proc and /sys; "" except in tests */
	struct utsname uts;
	uint32_t cpus_avail; /* highest present CPU + 1 */
	uint32_t cpus_online;
};

/* host_info__collect() for the machine whose /proc and /sys are below @root. */
int host_info__collect_from(const char *root, struct err *err, struct host_info **ret);

/*
 * ---- encoders in host_topology.c that host_info.c uses ----
 *
 * Each appends the body of one section. An error other than -ENOMEM means that this machine lacks
 * the source: the caller drops the partial body and leaves the section out.
 */

int host_topology__cpus(const struct host_env *env, struct buf *b);
int host_topology__caches(const struct host_env *env, struct buf *b);

int host_memory__total(const struct host_env *env, struct buf *b);
int host_memory__numa(const struct host_env *env, struct buf *b);
int host_memory__blocks(const struct host_env *env, struct buf *b);

/* ---- small files of procfs and sysfs, "key : value" lines ---- */

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
/* The same for a decimal number at the start of the value. */
int host_files__field_u64(const char *root, const char *path, const char *key, uint64_t *ret);

#endif
