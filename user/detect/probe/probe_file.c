// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "detect/probe/probe_file.h"
#include "examine/probe/probe_reader.h"

#define LD_CACHE     "/etc/ld.so.cache"
#define LD_CACHE_MAX (64 << 20)
#define MAPS_MAX     (64 << 20)
#define HUNG_MAX     3 /* a search ends after this many files that do not respond */
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Directories for libraries that ld.so.cache lacks; musl has no such file. */
static const char *const library_directories[] = {
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
#if defined(__x86_64__)
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
#endif
};

/* Add a file, if it is new. 0, -ENOMEM or -E2BIG. */
static int probe_files_add(struct probe_files *files, const char *open, const char *name,
			   const struct stat *st)
{
	struct probe_file *v;

	for (size_t i = 0; i < files->n; i++) {
		if (files->v[i].st.st_dev == st->st_dev && files->v[i].st.st_ino == st->st_ino)
			return 0;
	}
	if (files->n == PROBE_FILES_MAX)
		return -E2BIG;
	if (!(files->n & (files->n - 1))) {
		v = realloc(files->v, (files->n ? 2 * files->n : 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		files->v = v;
	}
	v = &files->v[files->n];
	*v = (struct probe_file){ strdup(open), strdup(name), open != name, *st };
	files->n++; /* even if incomplete, so that it is freed */
	return v->open && v->name ? 0 : -ENOMEM;
}

static int add_probe_path(struct probe_files *files, const char *path)
{
	struct stat st;
	int err = probe_reader__reach(path);

	if (err)
		return err;
	return stat(path, &st) ? -errno : probe_files_add(files, path, path, &st);
}

/* ---- running processes ---- */

struct search {
	const char *pattern;
	bool any; /* matches every path */
	struct probe_files *found;
	unsigned int n_hung; /* files that did not respond */
};

static bool map_is_wanted(const struct search *s, const char *path)
{
	return path[0] == '/' && (s->any || !fnmatch(s->pattern, path, FNM_PATHNAME));
}

/*
 * Add a file that process @pid sees as @name. @link, a magic link in /proc, leads to that file even
 * if another one has its name now. We may lack the right to follow it.
 */
static int add_process_file(struct search *s, const char *pid, const char *link, const char *name)
{
	char path[PATH_MAX + 64];
	struct stat st, own;

	if (!map_is_wanted(s, name))
		return 0;
	if (probe_reader__reach(link))
		return ++s->n_hung < HUNG_MAX ? 0 : -ETIMEDOUT;
	_cleanup_close_ int found = foreign__find(link, FOREIGN_MAGIC, &st);
	if (found < 0) {
		snprintf(path, sizeof(path), "/proc/%s/root%s", pid, name);
		link = path;
		if (probe_reader__reach(link))
			return ++s->n_hung < HUNG_MAX ? 0 : -ETIMEDOUT;
		found = foreign__find_of(strtoul(pid, NULL, 10), name, &st);
	}
	if (found < 0)
		return 0; /* the process may have ended, or unmapped the file */
	/* use the name if it leads to this file for us, too: it stays when the process ends */
	if (!probe_reader__reach(name) && !stat(name, &own) && own.st_dev == st.st_dev &&
	    own.st_ino == st.st_ino)
		return probe_files_add(s->found, name, name, &st);
	return probe_files_add(s->found, link, name, &st);
}

static int look_at_map(struct search *s, const char *pid, char *line)
{
	uint64_t start, end;
	char link[64];
	const char *name = map_line__program(line, &start, &end);

	if (!name)
		return 0;
	snprintf(link, sizeof(link), "/proc/%s/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return add_process_file(s, pid, link, name);
}

static int look_at_process(struct search *s, const char *pid)
{
	char path[32 + NAME_MAX];
	struct buf maps = { 0 };
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	if (!buf__read_file(&maps, path, MAPS_MAX) && maps.len) {
		char *line = maps.data, *save = NULL;

		for (line = strtok_r(line, "\n", &save); line && !err;
		     line = strtok_r(NULL, "\n", &save))
			err = look_at_map(s, pid, line);
	}
	buf__free(&maps);
	return err;
}

static int search_processes(struct search *s)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir))) {
		if (isdigit((unsigned char)e->d_name[0]))
			err = look_at_process(s, e->d_name);
	}
	closedir(dir);
	return err;
}

static int find_in_processes(const char *path, struct probe_files *ret, struct err *err)
{
	struct search s = { .pattern = path, .any = !strcmp(path, "*"), .found = ret };
	int code = search_processes(&s);

	ret->searched = true;
	if (code == -E2BIG)
		return err_set(err, code, "more than %d files of running processes match %s",
			       PROBE_FILES_MAX, path);
	if (code == -ETIMEDOUT)
		return err_set(err, code,
			       "%s: %u files of running processes cannot be read: their file "
			       "systems do not answer",
			       path, s.n_hung);
	if (code)
		return err_set(err, code, "/proc: %s", strerror(-code));
	if (ret->n)
		return 0;
	code = geteuid() ? -EACCES : -ENOENT;
	if (!strpbrk(path, "*?["))
		return err_set(err, code, "%s: no such file, and no running process%s has one",
			       path, geteuid() ? " that you may inspect" : "");
	return err_set(
		err, code,
		"no running process%s has mapped a file that matches %s: a glob is looked up "
		"when the rules are loaded",
		geteuid() ? " that you may inspect" : "", path);
}

/* ---- names ---- */

struct library {
	const char *name;
	bool exact;
	char path[PATH_MAX], soname[NAME_MAX + 1];
	bool several;
};

/* "libc" means libc.so.6, not libcrypt.so.1. */
static int compare_library(const char *soname, const char *path, void *arg)
{
	struct library *lib = arg;
	size_t len = strlen(lib->name);

	if (lib->exact || strncmp(soname, lib->name, len) || strlen(soname) > NAME_MAX ||
	    strlen(path) >= PATH_MAX)
		return 0;
	lib->exact = !soname[len];
	if (soname[len] && strncmp(soname + len, ".so", 3))
		return 0;
	/* the first path of a soname counts, as for the linker */
	if (!lib->exact && lib->soname[0]) {
		lib->several = lib->several || strcmp(soname, lib->soname) != 0;
		return 0;
	}
	snprintf(lib->soname, sizeof(lib->soname), "%s", soname);
	snprintf(lib->path, sizeof(lib->path), "%s", path);
	return 0;
}

static bool is_regular_path(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static void list_directory(const char *directory, struct library *lib)
{
	DIR *dir = opendir(directory);
	char path[PATH_MAX];
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, "lib", 3) &&
		    strncmp(e->d_name, lib->name, strlen(lib->name)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		/* a directory in /usr/lib may have the name of a program */
		if (is_regular_path(path))
			compare_library(e->d_name, path, lib);
	}
	if (dir)
		closedir(dir);
}

/* Find a library by name. 0; -ENOENT; -EINVAL: the name is ambiguous. */
static int find_library(struct library *lib)
{
	struct buf cache = { 0 };

	if (!buf__read_file(&cache, LD_CACHE, LD_CACHE_MAX))
		ld_cache__each(cache.data, cache.len, compare_library, lib);
	buf__free(&cache);
	/* only if the cache lacks the library: in directories, one file may have several names */
	for (size_t i = 0; !lib->soname[0] && i < ARRAY_SIZE(library_directories); i++)
		list_directory(library_directories[i], lib);
	if (!lib->soname[0])
		return -ENOENT;
	return lib->several && !lib->exact ? -EINVAL : 0;
}

static bool find_program(const char *name, char *ret, size_t size)
{
	const char *path = getenv("PATH") ?: DEFAULT_PATH;

	for (;;) {
		size_t len = strcspn(path, ":");

		snprintf(ret, size, "%.*s/%s", (int)len, path, name);
		if (path[0] == '/' && strlen(ret) + 1 < size && is_regular_path(ret) &&
		    !access(ret, X_OK))
			return true;
		if (!path[len])
			return false;
		path += len + 1;
	}
}

static int find_library_files(const char *name, struct probe_files *ret, struct err *err)
{
	_cleanup_free_ struct library *lib = calloc(1, sizeof(*lib));
	char program[PATH_MAX] = "";
	int code;

	if (!lib)
		return err_set(err, -ENOMEM, "out of memory");
	lib->name = name;
	code = find_library(lib);
	if (code == -EINVAL)
		return err_set(err, code,
			       "there are several libraries %s: write the whole name, such as %s",
			       name, lib->soname);
	if (!code)
		code = add_probe_path(ret, lib->path);
	else
		code = find_program(name, program, sizeof(program)) ? add_probe_path(ret, program)
								    : -ENOENT;
	if (code == -ENOENT)
		return err_set(err, code,
			       "there is no library or program '%s' here: write its absolute path",
			       name);
	return code ? err_set(err, code, "%s: %s", lib->soname[0] ? lib->path : program,
			      strerror(-code))
		    : 0;
}

int probe_files__find(const char *path, struct probe_files *ret, struct err *err)
{
	struct probe_files found = { 0 };
	int code;

	if (path[0] != '/' && strcmp(path, "*") != 0) {
		code = find_library_files(path, &found, err);
	} else if (strpbrk(path, "*?[")) {
		code = find_in_processes(path, &found, err);
	} else {
		code = add_probe_path(&found, path);
		if (code == -ENOENT)
			code = find_in_processes(path, &found, err);
		else if (code)
			err_set(err, code, "%s: %s", path,
				code == -ETIMEDOUT ? "its file system does not answer"
						   : strerror(-code));
	}
	if (code) {
		probe_files__free(&found);
		return code;
	}
	*ret = found;
	return 0;
}

void probe_files__free(struct probe_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].open);
		free(files->v[i].name);
	}
	free(files->v);
	*files = (struct probe_files){ 0 };
}

int probe_file__open(const struct probe_file *file, struct err *err)
{
	RAISED_RIGHTS(file->of_process ? RIGHTS_PROCESSES : 0);
	/* the path in a rule may be a link */
	int fd = foreign__open_path(file->open, FOREIGN_TRUSTED, &file->st);

	switch (fd) {
	case -ENXIO:
		return err_set(err, -EINVAL, "%s is not a file", file->name);
	case -ESTALE:
		return err_set(err, fd, "%s is another file now: load the rules again", file->name);
	case -EACCES:
		return err_set(
			err, fd,
			"%s cannot be opened: not allowed, or a link of another user leads to it",
			file->name);
	}
	return fd < 0 ? err_set(err, fd, "%s: %s", file->name, strerror(-fd)) : fd;
}

/* The format of glibc 2.2 and later (sysdeps/generic/dl-cache.h), alone or after an older list. */

#define MAGIC "glibc-ld.so.cache1.1"

/* flags: which C library, and in the second byte for which machine */
#define FLAG_LIBC6   3
#define FLAG_KIND    0xff
#define FLAG_MACHINE 0xff00
#if defined(__x86_64__)
#define FLAG_OWN 0x0300
#elif defined(__aarch64__)
#define FLAG_OWN 0x0a00
#endif

struct header {
	char magic[sizeof(MAGIC) - 1];
	uint32_t n, strings;
	uint8_t flags, pad[3];
	uint32_t extensions, unused[3];
};

struct entry {
	int32_t flags;
	uint32_t name, path; /* offsets from the header */
	uint32_t os_version;
	uint64_t hwcap;
};

_Static_assert(sizeof(struct header) == 48, "header layout");
_Static_assert(sizeof(struct entry) == 24, "entry layout");

/* The string at offset @at; NULL: it has no NUL. */
static const char *map_text_at(const char *base, size_t len, uint32_t at)
{
	return at < len && memchr(base + at, 0, len - at) ? base + at : NULL;
}

int ld_cache__each(const void *data, size_t len,
		   int (*fn)(const char *name, const char *path, void *arg), void *arg)
{
	const char *base = memmem(data, len, MAGIC, sizeof(MAGIC) - 1);
	struct header h;
	int err = 0;

	len -= base ? (size_t)(base - (const char *)data) : 0;
	if (!base || len < sizeof(h))
		return -EINVAL;
	memcpy(&h, base, sizeof(h));
	if (h.n > (len - sizeof(h)) / sizeof(struct entry))
		return -EINVAL;
	for (uint32_t i = 0; i < h.n && !err; i++) {
		const char *name, *path;
		struct entry e;

		memcpy(&e, base + sizeof(h) + i * sizeof(e), sizeof(e));
		if ((e.flags & FLAG_KIND) != FLAG_LIBC6 || (e.flags & FLAG_MACHINE) != FLAG_OWN)
			continue;
		name = map_text_at(base, len, e.name);
		path = map_text_at(base, len, e.path);
		if (name && path)
			err = fn(name, path, arg);
	}
	return err;
}
