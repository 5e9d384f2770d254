// SPDX-License-Identifier: GPL-2.0-only
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/recordings.h"
#include "common/dump_name.h"

#define FILE_NAME      "perf.data"
#define SESSION_PREFIX "session-"

static struct recording_session *find_recorded_session(const struct recordings *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->v[i].name, name))
			return &r->v[i];
	return NULL;
}

const struct recording_session *recordings__session(const struct recordings *r, const char *name)
{
	return find_recorded_session(r, name);
}

int recordings__add(struct recordings *r, const char *name, const char *file)
{
	struct recording_session *s = find_recorded_session(r, name);
	char **files;

	if (!s) {
		s = reallocarray(r->v, r->n + 1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		r->v = s;
		s += r->n;
		*s = (struct recording_session){ .name = strdup(name) };
		if (!s->name)
			return -ENOMEM;
		r->n++;
	}
	files = reallocarray(s->files, s->n_files + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	s->files = files;
	files[s->n_files] = strdup(file);
	if (!files[s->n_files])
		return -ENOMEM;
	s->n_files++;
	return 0;
}

/* Add @path to the session of its directory. */
static int add_recording(struct recordings *r, const char *path, bool at_root)
{
	const char *end = strrchr(path, '/'), *start;
	char name[256] = "";
	size_t len, prefix = strlen(SESSION_PREFIX);

	if (end) {
		for (start = end; start > path && start[-1] != '/'; start--)
			;
		len = end - start;
		if (len > prefix && !strncmp(start, SESSION_PREFIX, prefix)) {
			start += prefix;
			len -= prefix;
			at_root = false;
		}
		if (!at_root && len < sizeof(name)) {
			memcpy(name, start, len);
			name[len] = '\0';
		}
	}
	return recordings__add(r, name, path);
}

static bool is_recording(const char *name)
{
	size_t len = strlen(name), prefix = strlen(FILE_NAME);

	if (dump_name__time(name))
		return true;
	if (strncmp(name, FILE_NAME, prefix) || (name[prefix] && name[prefix] != '.'))
		return false;
	return len < 4 || strcmp(name + len - 4, ".old");
}

static int compare_entries(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk_path(const char *path, struct err *err, struct recordings *r)
{
	char *roots[] = { (char *)path, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_entries);
	int code = 0;
	FTSENT *e;

	if (!fts)
		return err_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	while (!code && (e = fts_read(fts))) {
		switch (e->fts_info) {
		case FTS_F:
			if (is_recording(e->fts_name) &&
			    add_recording(r, e->fts_path, e->fts_level == 1))
				code = err_set(err, -ENOMEM, "out of memory");
			break;
		case FTS_DNR:
		case FTS_ERR:
		case FTS_NS:
			code = err_set(err, -e->fts_errno, "%s: cannot read it: %s%s", e->fts_path,
				       strerror(e->fts_errno),
				       e->fts_errno == EACCES ? " (try sudo)" : "");
			break;
		default:
			break;
		}
	}
	fts_close(fts);
	return code;
}

static int compare_session_names(const void *a, const void *b)
{
	const struct recording_session *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int recordings__find(const char *path, struct err *err, struct recordings *ret)
{
	struct recordings r = { 0 };
	struct stat st;
	int code;

	if (stat(path, &st))
		return err_set(err, -errno, "%s: %s%s", path, strerror(errno),
			       errno == EACCES ? " (try sudo)" : "");
	if (S_ISDIR(st.st_mode)) {
		code = walk_path(path, err, &r);
		if (!code && !r.n)
			code = err_set(err, -ENOENT, "%s: no perf.data file in this directory",
				       path);
	} else {
		code = add_recording(&r, path, true) ? err_set(err, -ENOMEM, "out of memory") : 0;
	}
	if (code) {
		recordings__free(&r);
		return code;
	}
	qsort(r.v, r.n, sizeof(*r.v), compare_session_names);
	*ret = r;
	return 0;
}

void recordings__free(struct recordings *r)
{
	for (size_t i = 0; i < r->n; i++) {
		for (size_t k = 0; k < r->v[i].n_files; k++)
			free(r->v[i].files[k]);
		free(r->v[i].files);
		free(r->v[i].name);
	}
	free(r->v);
	*r = (struct recordings){ 0 };
}
