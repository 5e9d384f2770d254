// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "dump/base/retention.h"
#include "rules/units.h"

#define NAME_DIGITS  (INCIDENT_NAME_SIZE - 1)
#define SESSIONS_MAX 1024 /* directories: also those of rules files before */

struct kept {
	char name[INCIDENT_NAME_SIZE];
	uint64_t time; /* ns: when its manifest was written first; later where triggers merged */
	uint64_t bytes;
};

struct scan {
	const struct base_dir *b;
	struct kept *v;
	size_t n, cap;
	int sessions[SESSIONS_MAX]; /* fds; owned */
	size_t n_sessions;
	int error;
};

/* Call @fn for every entry of @fd until it fails. */
static int each_name(int fd, int (*fn)(struct scan *s, int fd, const char *name), struct scan *s)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	const struct dirent *e;

	if (!dir) {
		err = -errno;
		if (again >= 0)
			close(again);
		return err;
	}
	while (!err && (e = readdir(dir)))
		err = fn(s, fd, e->d_name);
	closedir(dir);
	return err;
}

/* The digits of "@prefix DIGITS @suffix", or NULL. */
static const char *digits_of(const char *file, const char *prefix, const char *suffix)
{
	size_t len = strlen(prefix);

	if (strncmp(file, prefix, len) != 0 || strspn(file + len, "0123456789") != NAME_DIGITS ||
	    strcmp(file + len + NAME_DIGITS, suffix) != 0)
		return NULL;
	return file + len;
}

static int add_manifest(struct scan *s, int fd, const char *file)
{
	const char *digits = digits_of(file, "", ".json");
	struct stat st;

	if (!digits || fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	if (!ARRAY_HAS_ROOM(s->v, s->n, s->cap, 64))
		return -ENOMEM;
	s->v[s->n] = (struct kept){
		.time = st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec,
		.bytes = st.st_size,
	};
	memcpy(s->v[s->n++].name, digits, NAME_DIGITS);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kept *)a)->name, ((const struct kept *)b)->name);
}

/* Local time goes back once a year: the name does not tell the order. */
static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return by_name(a, b);
}

static int add_dump(struct scan *s, int fd, const char *file)
{
	const char *digits = digits_of(file, "perf.data.", "");
	struct kept key = { .name = "" }, *of;
	struct stat st;

	if (!digits || fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	memcpy(key.name, digits, NAME_DIGITS);
	of = s->n ? bsearch(&key, s->v, s->n, sizeof(*s->v), by_name) : NULL;
	if (of)
		of->bytes += st.st_size;
	return 0;
}

static int add_session(struct scan *s, int fd, const char *name)
{
	int dir;

	if (strncmp(name, "session-", 8) != 0 || s->n_sessions == SESSIONS_MAX)
		return 0;
	dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return 0;
	s->sessions[s->n_sessions++] = dir;
	return each_name(dir, add_dump, s);
}

static int scan__read(struct scan *s)
{
	int err = each_name(s->b->incidents_fd, add_manifest, s);

	if (err)
		return err;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_name);
	err = each_name(s->b->fd, add_session, s);
	if (!err && s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_time);
	return err;
}

static void scan__free(struct scan *s)
{
	for (size_t i = 0; i < s->n_sessions; i++)
		close(s->sessions[i]);
	free(s->v);
	free(s);
}

static bool unlink_at(int fd, const char *file, struct retention_report *ret)
{
	if (unlinkat(fd, file, 0) == 0 || errno == ENOENT)
		return true;
	ret->error = -errno;
	ret->failed++;
	return false;
}

/* The manifest stays for as long as a file does: then it is tried again. */
static bool remove_incident(const struct scan *s, const struct kept *k,
			    struct retention_report *ret)
{
	char file[64];
	bool all = true;

	snprintf(file, sizeof(file), "perf.data.%s", k->name);
	for (size_t i = 0; i < s->n_sessions; i++)
		all &= unlink_at(s->sessions[i], file, ret);
	snprintf(file, sizeof(file), "%s.json", k->name);
	return all && unlink_at(s->b->incidents_fd, file, ret);
}

static bool is_busy(const struct kept *k, char (*busy)[INCIDENT_NAME_SIZE], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(k->name, busy[i]) == 0)
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

static void apply(const struct scan *s, const struct retention_limits *l, uint64_t now,
		  char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy, struct retention_report *ret)
{
	/* with those that cannot go yet taken as gone: nothing newer goes in their place */
	uint64_t bytes, incidents = s->n;

	ret->incidents = s->n;
	for (size_t i = 0; i < s->n; i++)
		ret->bytes += s->v[i].bytes;
	bytes = ret->bytes;
	for (size_t i = 0; i < s->n; i++) {
		const struct kept *k = &s->v[i];
		bool last = i + 1 == s->n;

		if (!is_too_old(k, l, now) && (last || !is_too_much(l, incidents, bytes))) {
			ret->next = l->max_age ? k->time + l->max_age : 0;
			return;
		}
		bytes -= k->bytes;
		incidents--;
		if (is_busy(k, busy, n_busy)) {
			ret->waiting = true;
		} else if (remove_incident(s, k, ret)) {
			ret->bytes -= k->bytes;
			ret->incidents--;
			ret->removed_bytes += k->bytes;
			ret->removed_incidents++;
		}
	}
}

int retention__apply(const struct base_dir *b, const struct retention_limits *limits, uint64_t now,
		     char (*busy)[INCIDENT_NAME_SIZE], size_t n_busy, struct retention_report *ret)
{
	struct scan *s = calloc(1, sizeof(*s));
	struct retention_report report = { 0 };
	int err;

	if (!s)
		return -ENOMEM;
	s->b = b;
	err = scan__read(s);
	if (!err) {
		apply(s, limits, now, busy, n_busy, &report);
		*ret = report;
	}
	scan__free(s);
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
