/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs and libraries that have FRBPF_TRIGGER() of configs/include/frbpf.h, of whatever user: those
 * that were looked at and have some, and those that have none, so that nothing is read twice. Bounded;
 * no user but root can have more than half of it.
 */
#ifndef FRBPF_DETECT_APP_FILES_H
#define FRBPF_DETECT_APP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define APP_FILES_MAX  128 /* that have some */
#define APP_PLACES_MAX 512 /* in all of them */
#define APP_PLACES_ONE 32  /* of one file: the first that it has */

struct app_place {
	char *name;	 /* of FRBPF_TRIGGER(NAME, ...); owned */
	uint64_t offset; /* in the file */
	uint64_t arg;	 /* the cookie of sdt_arg.h */
};

struct app_file {
	struct app_file *next;
	struct stat st; /* when it was read */
	int fd;		/* owned */
	char *path;	/* as a process saw it; owned */
	struct app_place *places;
	size_t n_places;
	bool mapped; /* for whoever looks which ones are in use */
};

/* Read what @fd, taken over, has. 0: *ret is it, or NULL where there is none; or negative errno. */
int app_file__read(int fd, const struct stat *st, const char *path, struct app_file **ret);
/* Is it still what its path leads to? */
bool app_file__is_there(const struct app_file *f);
void app_file__free(struct app_file *f);

struct app_files;

struct app_files *app_files__new(void); /* NULL: out of memory */
/* The first; the others by their next. */
struct app_file *app_files__all(const struct app_files *fs);
/* The one that has this inode. */
struct app_file *app_files__find(const struct app_files *fs, const struct stat *st);
/* Is it the same, and was it not written to meanwhile? */
bool app_file__is_same(const struct app_file *f, const struct stat *st);
/* Takes @f over. -ENOSPC: it is still the caller's. */
int app_files__add(struct app_files *fs, struct app_file *f);
/* It is the caller's again. */
void app_files__take(struct app_files *fs, struct app_file *f);
/* A file that has none, as long as it stays as it is. Some are forgotten. */
void app_files__ignore(struct app_files *fs, const struct stat *st);
bool app_files__is_ignored(const struct app_files *fs, const struct stat *st);
size_t app_files__n(const struct app_files *fs, size_t *ret_places);
/* With all files. */
void app_files__free(struct app_files *fs);

#endif
