// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/app/app_files.h"
#include "detect/probe/sdt_file.h"
#include "rules/app_message.h"

#define PROVIDER    "frbpf"
#define IGNORED_MAX 4096 /* more files than are executed again and again */

/* What it was when it was read; its owner can set other times than that of a change. */
struct ignored {
	dev_t dev;
	ino_t ino;
	struct timespec changed;
};

struct app_files {
	struct app_file *list;
	size_t n, n_places;
	struct ignored ignored[IGNORED_MAX];
};

/* ---- one file ---- */

static int add_place(const struct sdt_place *p, void *arg)
{
	struct app_file *f = arg;
	struct app_place *place = &f->places[f->n_places];

	if (!app_name__is_valid(p->name, strlen(p->name)))
		return 0;
	place->name = strdup(p->name);
	if (!place->name)
		return -ENOMEM;
	place->offset = p->offset;
	place->arg = p->arg;
	return ++f->n_places == APP_PLACES_ONE;
}

int app_file__read(int fd, const struct stat *st, const char *path, struct app_file **ret)
{
	struct app_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	f->st = *st;
	f->path = strdup(path);
	f->places = calloc(APP_PLACES_ONE, sizeof(*f->places));
	r = f->path && f->places ? sdt_file__each(fd, PROVIDER, add_place, f) : -ENOMEM;
	/* a damaged one keeps what was found before the damage */
	if (r == -ENOMEM || !f->n_places) {
		app_file__free(f);
		*ret = NULL;
		return r == -ENOMEM ? r : 0;
	}
	*ret = f;
	return 0;
}

bool app_file__is_same(const struct app_file *f, const struct stat *st)
{
	return f->st.st_dev == st->st_dev && f->st.st_ino == st->st_ino &&
	       f->st.st_size == st->st_size && f->st.st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       f->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

bool app_file__is_there(const struct app_file *f)
{
	struct stat st;

	return !stat(f->path, &st) && st.st_dev == f->st.st_dev && st.st_ino == f->st.st_ino;
}

void app_file__free(struct app_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_places; i++)
		free(f->places[i].name);
	free(f->places);
	free(f->path);
	close(f->fd);
	free(f);
}

/* ---- all ---- */

struct app_files *app_files__new(void)
{
	return calloc(1, sizeof(struct app_files));
}

struct app_file *app_files__all(const struct app_files *fs)
{
	return fs->list;
}

struct app_file *app_files__find(const struct app_files *fs, const struct stat *st)
{
	struct app_file *f = fs->list;

	while (f && (f->st.st_dev != st->st_dev || f->st.st_ino != st->st_ino))
		f = f->next;
	return f;
}

/* Is there room for it, and is its owner one of those who have not had their share? */
static bool has_room(const struct app_files *fs, const struct app_file *f)
{
	size_t n = 1, places = f->n_places;

	if (fs->n + 1 > APP_FILES_MAX || fs->n_places + f->n_places > APP_PLACES_MAX)
		return false;
	if (!f->st.st_uid)
		return true;
	for (const struct app_file *o = fs->list; o; o = o->next) {
		if (o->st.st_uid != f->st.st_uid)
			continue;
		n++;
		places += o->n_places;
	}
	return n <= APP_FILES_MAX / 2 && places <= APP_PLACES_MAX / 2;
}

int app_files__add(struct app_files *fs, struct app_file *f)
{
	if (!has_room(fs, f))
		return -ENOSPC;
	f->next = fs->list;
	fs->list = f;
	fs->n++;
	fs->n_places += f->n_places;
	return 0;
}

void app_files__take(struct app_files *fs, struct app_file *f)
{
	struct app_file **at = &fs->list;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	fs->n--;
	fs->n_places -= f->n_places;
}

static size_t ignored_at(const struct stat *st)
{
	uint64_t h = (st->st_ino ^ (uint64_t)st->st_dev << 40) * 0x9e3779b97f4a7c15ULL;

	return (h >> 40) % IGNORED_MAX;
}

void app_files__ignore(struct app_files *fs, const struct stat *st)
{
	fs->ignored[ignored_at(st)] = (struct ignored){ st->st_dev, st->st_ino, st->st_ctim };
}

bool app_files__is_ignored(const struct app_files *fs, const struct stat *st)
{
	const struct ignored *i = &fs->ignored[ignored_at(st)];

	return i->ino && i->dev == st->st_dev && i->ino == st->st_ino &&
	       i->changed.tv_sec == st->st_ctim.tv_sec && i->changed.tv_nsec == st->st_ctim.tv_nsec;
}

size_t app_files__n(const struct app_files *fs, size_t *ret_places)
{
	*ret_places = fs->n_places;
	return fs->n;
}

void app_files__free(struct app_files *fs)
{
	if (!fs)
		return;
	while (fs->list) {
		struct app_file *f = fs->list;

		fs->list = f->next;
		app_file__free(f);
	}
	free(fs);
}
