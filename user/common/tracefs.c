// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/format_field.h"
#include "common/rights.h"
#include "common/tracefs.h"

#define TRACEFS_PATH  "/sys/kernel/tracing"
#define TRACEFS_HINT  "run as root, or mount it: mount -t tracefs nodev " TRACEFS_PATH
#define FILE_MAX_SIZE (64u << 20) /* far above any tracefs file that is read */

struct tracefs {
	int fd; /* its top directory */
};

/*
 * Open a directory that has events/. Returns a descriptor or negative errno. access(2) is no
 * alternative: it checks the real uid and ignores capabilities.
 */
static int open_tracefs(const char *path)
{
	RAISED_RIGHTS(RIGHTS_FILES);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int events = -1;

	if (fd < 0)
		return -errno;
	events = openat(fd, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (events < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int find_or_mount(void)
{
	int fd = open_tracefs(TRACEFS_PATH);

	if (fd != -ENOENT)
		return fd;
	fd = open_tracefs(
		/* kernels before 4.1; triggers the automount of tracefs */
		"/sys/kernel/debug/tracing");
	if (fd >= 0)
		return fd;
	if (mount("nodev", TRACEFS_PATH, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 &&
	    errno != EBUSY) /* EBUSY: another process was faster */
		return -errno;
	return open_tracefs(TRACEFS_PATH);
}

int tracefs__open(struct err *err, struct tracefs **ret)
{
	struct tracefs *t;
	int fd = find_or_mount();

	if (fd == -EACCES) /* mounted, but not accessible */
		return err_set(err, -EPERM,
			       "tracefs: no permission to read it: run as root, or "
			       "with CAP_DAC_READ_SEARCH");
	if (fd == -EPERM)
		return err_set(err, -EPERM, "tracefs: no permission: " TRACEFS_HINT);
	if (fd < 0)
		return err_set(err, -ENOENT, "tracefs: %s: " TRACEFS_HINT "%s", strerror(-fd),
			       fd == -ENODEV || fd == -ENOENT
				       ? " (this kernel may lack CONFIG_TRACING)"
				       : "");
	t = malloc(sizeof(*t));
	if (!t) {
		close(fd);
		return err_set(err, -ENOMEM, "out of memory");
	}
	t->fd = fd;
	*ret = t;
	return 0;
}

void tracefs__free(struct tracefs *t)
{
	if (!t)
		return;
	close(t->fd);
	free(t);
}

int tracefs__read(struct tracefs *t, const char *path, struct buf *b)
{
	RAISED_RIGHTS(RIGHTS_FILES);
	_cleanup_close_ int fd = openat(t->fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return buf__read_fd(b, fd, FILE_MAX_SIZE);
}

/* Names become components of paths. */
static bool safe_name(const char *s)
{
	return *s && *s != '.' && !strchr(s, '/');
}

static struct tracepoint *tracepoint__new(const char *system, const char *name, uint64_t id,
					  const char *format, size_t format_len)
{
	struct tracepoint *tp = calloc(1, sizeof(*tp));

	if (!tp)
		return NULL;
	tp->id = id;
	tp->system = strdup(system);
	tp->name = strdup(name);
	tp->format = malloc(format_len + 1);
	if (!tp->system || !tp->name || !tp->format) {
		tracepoint__free(tp);
		return NULL;
	}
	memcpy(tp->format, format, format_len);
	tp->format[format_len] = '\0';
	tp->format_len = format_len;
	return tp;
}

int tracefs__tracepoint(struct tracefs *t, const char *system, const char *name, struct err *err,
			struct tracepoint **ret)
{
	struct buf format = { 0 };
	struct tracepoint *tp;
	char path[PATH_MAX];
	uint64_t id;
	int ret_code = -ENOENT;

	if (safe_name(system) && safe_name(name) &&
	    snprintf(path, sizeof(path), "events/%s/%s/format", system, name) < (int)sizeof(path))
		ret_code = tracefs__read(t, path, &format);
	if (ret_code == -ENOENT || ret_code == -ENOTDIR)
		ret_code = err_set(err, -ENOENT, "this kernel has no tracepoint '%s:%s'", system,
				   name);
	else if (ret_code == -EACCES || ret_code == -EPERM)
		err_set(err, ret_code, "no permission to read tracepoint '%s:%s': run as root",
			system, name);
	else if (ret_code)
		err_set(err, ret_code, "cannot read tracepoint '%s:%s': %s", system, name,
			strerror(-ret_code));
	else if (!format_text__id(format.data, format.len, &id))
		ret_code = err_set(err, -EINVAL, "tracepoint '%s:%s': its format file has no ID",
				   system, name);
	if (!ret_code) {
		tp = tracepoint__new(system, name, id, format.data, format.len);
		if (tp)
			*ret = tp;
		else
			ret_code = err_set(err, -ENOMEM, "out of memory");
	}
	buf__free(&format);
	return ret_code;
}

void tracepoint__free(struct tracepoint *tp)
{
	if (!tp)
		return;
	free(tp->system);
	free(tp->name);
	free(tp->format);
	free(tp);
}

struct tracepoint *tracepoint__dup(const struct tracepoint *tp)
{
	return tracepoint__new(tp->system, tp->name, tp->id, tp->format, tp->format_len);
}

static int is_event_dir(const struct dirent *e)
{
	return e->d_name[0] != '.' && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
}

static int compare_tracepoint_names(const struct dirent **a, const struct dirent **b)
{
	/* not alphasort(), which depends on the locale */
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_entries(struct dirent **entries, int n)
{
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
}

struct glob_call {
	const char *name_glob;
	int (*fn)(const char *system, const char *name, void *arg);
	void *arg;
	bool matched;
};

/* List the directories of events, sorted. Returns their number, or -1 with errno. */
static int list_tracefs_events(struct tracefs *t, const char *path, struct dirent ***ret)
{
	RAISED_RIGHTS(RIGHTS_FILES);
	return scandirat(t->fd, path, ret, is_event_dir, compare_tracepoint_names);
}

static int glob_system(struct tracefs *t, const char *system, struct glob_call *call)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int n, err = 0;

	snprintf(path, sizeof(path), "events/%s", system);
	n = list_tracefs_events(t, path, &entries);
	if (n < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	for (int i = 0; i < n && !err; i++) {
		if (fnmatch(call->name_glob, entries[i]->d_name, FNM_NOESCAPE))
			continue;
		call->matched = true;
		err = call->fn(system, entries[i]->d_name, call->arg);
	}
	free_entries(entries, n);
	return err;
}

int tracefs__glob(struct tracefs *t, const char *system_glob, const char *name_glob,
		  int (*fn)(const char *system, const char *name, void *arg), void *arg)
{
	struct glob_call call = { .name_glob = name_glob, .fn = fn, .arg = arg };
	struct dirent **entries;
	int n, err = 0;

	n = list_tracefs_events(t, "events", &entries);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n && !err; i++)
		if (!fnmatch(system_glob, entries[i]->d_name, FNM_NOESCAPE))
			err = glob_system(t, entries[i]->d_name, &call);
	free_entries(entries, n);
	if (err)
		return err;
	return call.matched ? 0 : -ENOENT;
}

struct name_list {
	char **v;
	size_t n, cap;
};

static int add_event_name(const char *system, const char *name, void *arg)
{
	struct name_list *l = arg;

	if (l->n + 1 >= l->cap) { /* one more for the final NULL */
		size_t cap = l->cap ? 2 * l->cap : 512;
		char **v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	if (asprintf(&l->v[l->n], "%s:%s", system, name) < 0)
		return -ENOMEM;
	l->v[++l->n] = NULL;
	return 0;
}

int tracefs__list(struct tracefs *t, char ***ret)
{
	struct name_list l = { 0 };
	int err = tracefs__glob(t, "*", "*", add_event_name, &l);

	if (!err) {
		*ret = l.v;
		return 0;
	}
	for (size_t i = 0; i < l.n; i++)
		free(l.v[i]);
	free(l.v);
	return err;
}
