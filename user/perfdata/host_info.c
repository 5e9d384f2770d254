// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/version.h"
#include "perfdata/encode.h"
#include "perfdata/file_layout.h"
#include "perfdata/host_sections.h"
#include "perfdata/perf_file.h"

/* PMU_MAPPINGS, CPU_PMU_CAPS and PMU_CAPS, from /sys/bus/event_source. */

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

static int host_pmu__mappings(const struct host_env *env, struct buf *b)
{
	return add_entries(env, DEVICES, add_mapping, b);
}

static int add_cap(const struct host_env *env, const char *dir, const char *name, struct buf *b)
{
	struct buf value = { 0 };
	int err = host_files__text(env->root, &value, "%s/%s", dir, name);

	if (!err)
		err = encode__string(b, name)
			      ?: encode__string(b, value.len ? value.data : "")
			      ?: 1;
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

static int host_pmu__cpu_caps(const struct host_env *env, struct buf *b)
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
static int host_pmu__other_caps(const struct host_env *env, struct buf *b)
{
	return add_entries(env, DEVICES, add_pmu_caps, b);
}

/* Bits of arm64's MIDR that differ between steppings (tools/perf/arch/arm64/util/header.c). */
#define MIDR_VARIANT_REVISION 0xf0000fULL

struct host_info {
	struct buf sections[HEADER_BITS]; /* len 0: none */
	char hostname[sizeof(((struct utsname *)0)->nodename)];
};

static int add_hostname(const struct host_env *env, struct buf *b)
{
	return encode__string(b, env->uts.nodename);
}

static int add_osrelease(const struct host_env *env, struct buf *b)
{
	return encode__string(b, env->uts.release);
}

static int add_version(const struct host_env *env, struct buf *b)
{
	return encode__string(b, frbpf_version);
}

static int add_arch(const struct host_env *env, struct buf *b)
{
	return encode__string(b, env->uts.machine);
}

static int add_nrcpus(const struct host_env *env, struct buf *b)
{
	return encode__u32(b, env->cpus_avail) ?: encode__u32(b, env->cpus_online);
}

/* Append the values of @keys (NULL terminated), separated by @sep. */
static int add_cpuinfo(const struct host_env *env, const char *const *keys, const char *sep,
		       struct buf *text)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && keys[i]; i++)
		err = (i ? buf__add_str(text, sep) : 0)
			      ?: host_files__field(env->root, "/proc/cpuinfo", keys[i], text);
	return err;
}

/* The first entry whose keys are in /proc/cpuinfo is used; arm64 has no model name. */
static const char *const cpu_desc_keys[][3] = {
	{ "model name" }, { "cpu model" }, { "cpu" }, { "CPU implementer", "CPU part" },
	{ "uarch" },
};

static int add_cpudesc(const struct host_env *env, struct buf *b)
{
	struct buf text = { 0 };
	int err = -ENOENT;
	size_t i;

	for (i = 0; err && err != -ENOMEM && i < ARRAY_SIZE(cpu_desc_keys); i++) {
		text.len = 0;
		err = add_cpuinfo(env, cpu_desc_keys[i], " part ", &text);
		if (!err && !text.len)
			err = -ENOENT;
	}
	if (err != -ENOMEM)
		err = encode__string(b, err ? "unknown" : text.data);
	buf__free(&text);
	return err;
}

static int add_cpuid(const struct host_env *env, struct buf *b)
{
	static const char *const x86[] = { "vendor_id", "cpu family", "model", "stepping", NULL };
	struct buf text = { 0 };
	uint64_t midr;
	int err;

	if (!host_files__u64(env->root, 16, &midr,
			     "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"))
		err = buf__printf(&text, "0x%016llx",
				  (unsigned long long)(midr & ~MIDR_VARIANT_REVISION));
	else
		err = add_cpuinfo(env, x86, ",", &text);
	err = err ?: encode__string(b, text.data);
	buf__free(&text);
	return err;
}

static const struct {
	enum header_bit bit;
	int (*encode)(const struct host_env *env, struct buf *b);
} sections[] = {
	{ HEADER_HOSTNAME, add_hostname },
	{ HEADER_OSRELEASE, add_osrelease },
	{ HEADER_VERSION, add_version },
	{ HEADER_ARCH, add_arch },
	{ HEADER_NRCPUS, add_nrcpus },
	{ HEADER_CPUDESC, add_cpudesc },
	{ HEADER_CPUID, add_cpuid },
	{ HEADER_TOTAL_MEM, host_memory__total },
	{ HEADER_CPU_TOPOLOGY, host_topology__cpus },
	{ HEADER_NUMA_TOPOLOGY, host_memory__numa },
	{ HEADER_PMU_MAPPINGS, host_pmu__mappings },
	{ HEADER_CACHE, host_topology__caches },
	{ HEADER_MEM_TOPOLOGY, host_memory__blocks },
	{ HEADER_CPU_PMU_CAPS, host_pmu__cpu_caps },
	{ HEADER_PMU_CAPS, host_pmu__other_caps },
};

/* Readers index per-CPU arrays by avail: it must exceed the CPU number of every sample. */
static void count_cpus(struct host_env *env)
{
	struct buf present = { 0 };
	long online = sysconf(_SC_NPROCESSORS_ONLN), avail = sysconf(_SC_NPROCESSORS_CONF);
	int *v;
	size_t n;

	env->cpus_online = online > 0 ? online : 1;
	env->cpus_avail = avail > 0 ? avail : 1;
	if (!host_files__text(env->root, &present, "/sys/devices/system/cpu/present") &&
	    present.len && !cpus__parse(present.data, &v, &n)) {
		env->cpus_avail = v[n - 1] + 1;
		free(v);
	}
	if (env->cpus_online > env->cpus_avail)
		env->cpus_avail = env->cpus_online;
	buf__free(&present);
}

int host_info__collect_from(const char *root, struct err *err, struct host_info **ret)
{
	struct host_env env = { .root = root };
	struct host_info *h;
	size_t i;

	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, -ENOMEM, "out of memory for the host's description");
	uname(&env.uts); /* cannot fail with a valid pointer */
	count_cpus(&env);
	memcpy(h->hostname, env.uts.nodename, sizeof(h->hostname));
	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		struct buf *b = &h->sections[sections[i].bit];
		int code = sections[i].encode(&env, b);

		if (!code)
			continue;
		buf__free(b);
		if (code == -ENOMEM) {
			host_info__free(h);
			return err_set(err, code, "out of memory for the host's description");
		}
	}
	*ret = h;
	return 0;
}

int host_info__of_file(struct perf_file *f, struct err *err, struct host_info **ret)
{
	static const enum header_bit needed[] = { HEADER_HOSTNAME, HEADER_OSRELEASE,
						  HEADER_NRCPUS };
	const struct file_info *info = perf_file__info(f);
	struct host_info *h = calloc(1, sizeof(*h));
	int code = 0;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory for the host's description");
	snprintf(h->hostname, sizeof(h->hostname), "%s", info->hostname ?: "");
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !code; i++) {
		code = perf_file__section(f, sections[i].bit, &h->sections[sections[i].bit], err);
		code = code == -ENOENT ? 0 : code;
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed) && !code; i++)
		if (!h->sections[needed[i]].len)
			code = err_set(err, -EINVAL,
				       "%s: does not say on which machine it was recorded",
				       info->path);
	if (code) {
		host_info__free(h);
		return code;
	}
	*ret = h;
	return 0;
}

int host_info__collect(struct err *err, struct host_info **ret)
{
	return host_info__collect_from("", err, ret);
}

const struct buf *host_info__section(const struct host_info *h, unsigned int bit)
{
	return bit < HEADER_BITS && h->sections[bit].len ? &h->sections[bit] : NULL;
}

const char *host_info__hostname(const struct host_info *h)
{
	return h->hostname;
}

void host_info__free(struct host_info *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < HEADER_BITS; i++)
		buf__free(&h->sections[i]);
	free(h);
}
