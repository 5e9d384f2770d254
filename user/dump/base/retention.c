// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/cleanup.h"
#include "dump/base/base_scan.h"
#include "dump/base/retention.h"
#include "rules/units.h"

struct kept {
	const struct base_incident *inc;
	uint64_t time; /* ns: when its manifest was written first; later where triggers merged */
};

/* Local time goes back once a year: the name does not tell the order. */
static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return strcmp(x->inc->name, y->inc->name);
}

static bool is_busy(const struct kept *k, char (*busy)[INCIDENT_NAME_SIZE], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(k->inc->name, busy[i]) == 0)
			return true;
	}
	return false;
}

static bool is_too_old(const struct kept *k, const struct retention_limits *l, uint64_t now)
{
	return l->max_age && now > k->time && now - k->time > l->max_age;
}

static bool is_too_much(const struct retention_limits *l, uint64_t incidents, uint64_t bytes)
{
	return (l->max_size && bytes > l->max_size) ||
	       (l->max_incidents && incidents > l->max_incidents);
}

static bool remove_incident(const struct base_scan *s, const struct base_incident *inc,
			    struct retention_report *ret)
{
	uint64_t failed;
	int err = base_scan__remove(s, inc, &failed);

	if (!err)
		return true;
	ret->error = err;
	ret->failed += failed;
	return false;
}

static void apply(const struct base_scan *s, const struct kept *v, size_t n,
		  const struct retention_limits *l, uint64_t now, char (*busy)[INCIDENT_NAME_SIZE],
		  size_t n_busy, struct retention_report *ret)
{
	/* with those that cannot go yet taken as gone: nothing newer goes in their place */
	uint64_t bytes = ret->bytes, incidents = n;

	for (size_t i = 0; i < n; i++) {
		const struct kept *k = &v[i];
		bool last = i + 1 == n;

		if (!is_too_old(k, l, now) && (last || !is_too_much(l, incidents, bytes))) {
			ret->next = l->max_age ? k->time + l->max_age : 0;
			return;
		}
		bytes -= k->inc->bytes;
		incidents--;
		if (is_busy(k, busy, n_busy)) {
			ret->waiting = true;
		} else if (remove_incident(s, k->inc, ret)) {
			ret->bytes -= k->inc->bytes;
			ret->incidents--;
			ret->removed_bytes += k->inc->bytes;
			ret->removed_incidents++;
		}
	}
}

/* Counts all, lists what is whole, and goes on with what could not be removed before. */
static size_t list_kept(const struct base_scan *s, struct kept *v, struct retention_report *ret)
{
	size_t n = 0;

	ret->bytes = s->tmp_bytes;
	for (size_t i = 0; i < s->n; i++) {
		const struct base_incident *inc = &s->v[i];

		if (inc->files & BASE_GONE && remove_incident(s, inc, ret))
			continue;
		ret->bytes += inc->bytes;
		if (inc->files & BASE_MANIFEST && !(inc->files & BASE_GONE))
			v[n++] = (struct kept){ inc, inc->written };
	}
	ret->incidents = n;
	if (n)
		qsort(v, n, sizeof(*v), by_time);
	return n;
}

int retention__apply(const struct base_dir *b, const struct retention_limits *limits, uint64_t now,
		     char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy, struct retention_report *ret)
{
	struct retention_report report = { 0 };
	_cleanup_free_ struct kept *v = NULL;
	struct base_scan s;
	int err = base_scan__read(b, &s);

	if (!err) {
		v = calloc(s.n + 1, sizeof(*v));
		err = v ? 0 : -ENOMEM;
	}
	if (!err) {
		size_t n = list_kept(&s, v, &report);

		apply(&s, v, n, limits, now, busy, n_busy, &report);
		*ret = report;
	}
	base_scan__free(&s);
	return err;
}

int retention__check_free(int fd, uint64_t min_free, uint64_t bytes, struct err *err)
{
	char left[16], keep[16], most[16];
	struct statvfs fs;
	uint64_t free_bytes;

	if (!min_free || fstatvfs(fd, &fs))
		return 0;
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes >= min_free && free_bytes - min_free >= bytes)
		return 0;
	return err_set(
		err, -ENOSPC,
		"not written: %s are free, the file may take %s, and min-free = %s must stay",
		units__format_size(free_bytes, left, sizeof(left)),
		units__format_size(bytes, most, sizeof(most)),
		units__format_size(min_free, keep, sizeof(keep)));
}
