// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/dump_name.h"
#include "dump/base/base_scan.h"
#include "rules/units.h"

#define NAME_DIGITS (INCIDENT_NAME_SIZE - 1)

/* The files of an incident in BASE/incidents. */
static const struct {
	const char *prefix;
	unsigned int file;
} kinds[] = {
	{ "", BASE_MANIFEST },
	{ BASE_DIR_DRAFT_PREFIX, BASE_DRAFT },
	{ BASE_DIR_GONE_PREFIX, BASE_GONE },
};

/* Call @fn for every entry of @fd until it fails. */
static int each_directory_name(int fd, int (*fn)(struct base_scan *s, int fd, const char *name),
			       struct base_scan *s)
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

static bool is_regular_entry(int fd, const char *name, struct stat *ret)
{
	return fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(ret->st_mode);
}

static int add_incident_part(struct base_scan *s, const char *digits,
			     const struct base_incident *part)
{
	if (!ARRAY_HAS_ROOM(s->v, s->n, s->cap, 64))
		return -ENOMEM;
	s->v[s->n] = *part;
	memcpy(s->v[s->n++].name, digits, NAME_DIGITS);
	return 0;
}

static int add_temporary(struct base_scan *s, int fd, const char *file)
{
	struct stat st;

	if (strncmp(file, BASE_DIR_TMP_PREFIX, strlen(BASE_DIR_TMP_PREFIX)) == 0 &&
	    is_regular_entry(fd, file, &st))
		s->tmp_bytes += st.st_size;
	return 0;
}

static int add_manifest(struct base_scan *s, int fd, const char *file)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *digits = digits_of(file, kinds[i].prefix, ".json");

		if (!digits || !is_regular_entry(fd, file, &st))
			continue;
		return add_incident_part(
			s, digits,
			&(struct base_incident){
				.files = kinds[i].file,
				.bytes = st.st_size,
				.written = st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec,
			});
	}
	return add_temporary(s, fd, file);
}

static int add_dump(struct base_scan *s, int fd, const char *file)
{
	const char *digits = dump_name__time(file);
	struct stat st;

	if (!digits || !is_regular_entry(fd, file, &st))
		return add_temporary(s, fd, file);
	return add_incident_part(s, digits,
				 &(struct base_incident){ .n_dumps = 1, .bytes = st.st_size });
}

static int add_session_directory(struct base_scan *s, int fd, const char *name)
{
	int dir;

	if (strncmp(name, "session-", 8) != 0)
		return 0;
	dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return 0;
	if (!ARRAY_HAS_ROOM(s->sessions, s->n_sessions, s->sessions_cap, 8)) {
		close(dir);
		return -ENOMEM;
	}
	s->sessions[s->n_sessions].fd = dir;
	snprintf(s->sessions[s->n_sessions++].name, NAME_MAX + 1, "%s", name);
	return each_directory_name(dir, add_dump, s);
}

static int compare_incident_names(const void *a, const void *b)
{
	return strcmp(((const struct base_incident *)a)->name,
		      ((const struct base_incident *)b)->name);
}

/* Merge the entries of single files to one entry for each incident. */
static void join_parts(struct base_scan *s)
{
	size_t n = 0;

	qsort(s->v, s->n, sizeof(*s->v), compare_incident_names);
	for (size_t i = 0; i < s->n; i++) {
		const struct base_incident *part = &s->v[i];
		struct base_incident *to = n ? &s->v[n - 1] : NULL;

		if (!to || strcmp(to->name, part->name) != 0) {
			s->v[n++] = *part;
			continue;
		}
		to->files |= part->files;
		to->n_dumps += part->n_dumps;
		to->bytes += part->bytes;
		if (!to->written || part->files & BASE_MANIFEST)
			to->written = part->written ?: to->written;
	}
	s->n = n;
}

int base_scan__read(const struct base_dir *b, struct base_scan *ret)
{
	int err;

	*ret = (struct base_scan){ .b = b };
	err = each_directory_name(b->incidents_fd, add_manifest, ret);
	err = err ?: each_directory_name(b->fd, add_session_directory, ret);
	if (!err && ret->n)
		join_parts(ret);
	return err;
}

void base_scan__free(struct base_scan *s)
{
	for (size_t i = 0; i < s->n_sessions; i++)
		close(s->sessions[i].fd);
	free(s->sessions);
	free(s->v);
	*s = (struct base_scan){ 0 };
}

static int unlink_at(int fd, const char *file, uint64_t *failed)
{
	if (unlinkat(fd, file, 0) == 0 || errno == ENOENT)
		return 0;
	(*failed)++;
	return -errno;
}

static int remove_dump(int fd, const char *time, uint64_t *failed)
{
	char file[DUMP_NAME_SIZE];

	return dump_name__find(fd, time, file) ? 0 : unlink_at(fd, file, failed);
}

int base_scan__remove(const struct base_scan *s, const struct base_incident *inc,
		      uint64_t *ret_failed)
{
	int dir = s->b->incidents_fd, err = 0;
	char file[64], gone[64];

	*ret_failed = 0;
	snprintf(gone, sizeof(gone), BASE_DIR_GONE_PREFIX "%s.json", inc->name);
	snprintf(file, sizeof(file), "%s.json", inc->name);
	base_dir__lock_manifests();
	if (inc->files & BASE_MANIFEST && renameat(dir, file, dir, gone) < 0 && errno != ENOENT)
		err = -errno;
	base_dir__unlock_manifests();
	if (err) {
		*ret_failed = 1;
		return err;
	}
	fsync(dir); /* the manifest must not reappear, as its dumps are removed next */
	snprintf(file, sizeof(file), BASE_DIR_DRAFT_PREFIX "%s.json", inc->name);
	if (inc->files & BASE_DRAFT)
		err = unlink_at(dir, file, ret_failed);
	for (size_t i = 0; i < s->n_sessions; i++)
		err = remove_dump(s->sessions[i].fd, inc->name, ret_failed) ?: err;
	return err ?: unlink_at(dir, gone, ret_failed);
}
