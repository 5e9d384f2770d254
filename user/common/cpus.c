// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/cpus.h"

#define CPU_LIMIT 65536 /* far above NR_CPUS of any kernel: a limit for bad input */

static int parse_cpu(const char **s)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	n = strtol(*s, &end, 10);
	if (n >= CPU_LIMIT)
		return -EINVAL;
	*s = end;
	return n;
}

int cpus__parse(const char *list, int **ret, size_t *ret_n)
{
	int *v = NULL, *grown, first, last, err = -EINVAL;
	size_t n = 0;

	for (;;) {
		first = last = parse_cpu(&list);
		if (first >= 0 && *list == '-') {
			list++;
			last = parse_cpu(&list);
		}
		if (first < 0 || last < first || (n && v[n - 1] >= first))
			goto fail;
		grown = reallocarray(v, n + (last - first) + 1, sizeof(*v));
		if (!grown) {
			err = -ENOMEM;
			goto fail;
		}
		v = grown;
		while (first <= last)
			v[n++] = first++;
		if (*list != ',')
			break;
		list++;
	}
	if (*list && *list != '\n')
		goto fail;
	*ret = v;
	*ret_n = n;
	return 0;
fail:
	free(v);
	return err;
}

static int read_list(const char *path, int **ret, size_t *ret_n)
{
	struct buf b = { 0 };
	int err = buf__read_file(&b, path, 64 * 1024);

	err = err ?: cpus__parse(b.data ? b.data : "", ret, ret_n);
	buf__free(&b);
	return err;
}

int cpus__online(int **ret, size_t *ret_n)
{
	return read_list(CPUS_ONLINE_FILE, ret, ret_n);
}

int cpus__present(int **ret, size_t *ret_n)
{
	return read_list("/sys/devices/system/cpu/present", ret, ret_n);
}

bool cpus__has(const int *v, size_t n, int cpu)
{
	for (size_t i = 0; i < n && v[i] <= cpu; i++) {
		if (v[i] == cpu)
			return true;
	}
	return false;
}

size_t cpus__n_possible(void)
{
	int *v;
	size_t n;

	if (read_list("/sys/devices/system/cpu/possible", &v, &n))
		return 0;
	free(v);
	return n;
}

static atomic_uint epoch;

unsigned int cpus__epoch(void)
{
	return atomic_load(&epoch);
}

void cpus__note_change(void)
{
	atomic_fetch_add(&epoch, 1);
}
