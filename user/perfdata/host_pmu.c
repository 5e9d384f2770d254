// SPDX-License-Identifier: GPL-2.0-only
/* PMU_MAPPINGS, CPU_PMU_CAPS and PMU_CAPS, from /sys/bus/event_source. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/encode.h"
#include "perfdata/host_files.h"
#include "perfdata/host_sections.h"

#define DEVICES "/sys/bus/event_source/devices"

/* Append data of entry @name. Returns 1; 0: it has none; or negative errno. */
typedef int (*entry_fn)(const struct host_env *env, const char *dir, const char *name,
			struct buf *b);

/* Append u32 n, then the data that @fn appends for n entries of @dir, sorted by name. */
static int add_entries(const struct host_env *env, const char *dir, entry_fn fn, struct buf *b)
{
	struct dirent **v;
	size_t at = b->len;
	char path[PATH_MAX];
	uint32_t count = 0;
	int err, n, i;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", env->root, dir) >= sizeof(path))
		return -ENAMETOOLONG;
	n = scandir(path, &v, NULL, alphasort);
	if (n < 0)
		return -errno;
	err = encode__u32(b, 0);
	for (i = 0; i < n; i++) {
		if (err >= 0 && v[i]->d_name[0] != '.') {
			err = fn(env, dir, v[i]->d_name, b);
			count += err > 0;
		}
		free(v[i]);
	}
	free(v);
	if (err < 0)
		return err;
	encode__set_u32(b, at, count);
	return 0;
}

static int add_mapping(const struct host_env *env, const char *dir, const char *name, struct buf *b)
{
	uint64_t type;

	if (host_files__u64(env->root, 10, &type, "%s/%s/type", dir, name) || type > UINT32_MAX)
		return 0;
	return encode__u32(b, type) ?: encode__string(b, name) ?: 1;
}

int host_pmu__mappings(const struct host_env *env, struct buf *b)
{
	return add_entries(env, DEVICES, add_mapping, b);
}

static int add_cap(const struct host_env *env, const char *dir, const char *name, struct buf *b)
{
	struct buf value = { 0 };
	int err = host_files__text(env->root, &value, "%s/%s", dir, name);

	if (!err)
		err = encode__string(b, name) ?: encode__string(b, value.len ? value.data : "") ?: 1;
	else if (err != -ENOMEM)
		err = 0;
	buf__free(&value);
	return err;
}

/* Append u32 n, n pairs of strings. -ENOENT: the PMU has none. */
static int add_caps(const struct host_env *env, const char *pmu, struct buf *b)
{
	size_t start = b->len;
	char dir[PATH_MAX];
	int err;

	if ((size_t)snprintf(dir, sizeof(dir), DEVICES "/%s/caps", pmu) >= sizeof(dir))
		return -ENAMETOOLONG;
	err = add_entries(env, dir, add_cap, b);
	if (!err && b->len == start + sizeof(uint32_t))
		err = -ENOENT;
	if (err)
		b->len = start;
	return err;
}

int host_pmu__cpu_caps(const struct host_env *env, struct buf *b)
{
	return add_caps(env, "cpu", b);
}

static int add_pmu_caps(const struct host_env *env, const char *dir, const char *name,
			struct buf *b)
{
	int err;

	if (!strcmp(name, "cpu")) /* in CPU_PMU_CAPS */
		return 0;
	err = add_caps(env, name, b);
	if (err)
		return err == -ENOMEM ? err : 0;
	return encode__string(b, name) ?: 1;
}

/* perf writes this section even if it is empty. */
int host_pmu__other_caps(const struct host_env *env, struct buf *b)
{
	return add_entries(env, DEVICES, add_pmu_caps, b);
}
