// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/incident_list.h"
#include "common/buf.h"
#include "common/dump_name.h"
#include "dump/base/manifest.h"
#include "dump/incident/incident.h"

#define SUFFIX ".json"

/* 1 for TIME.json; temporary and other files are skipped. */
static int is_manifest(const struct dirent *e)
{
	size_t len = strlen(e->d_name), digits = strspn(e->d_name, "0123456789");

	return digits == INCIDENT_NAME_SIZE - 1 && len == digits + strlen(SUFFIX) &&
	       strcmp(e->d_name + digits, SUFFIX) == 0;
}

struct timed {
	char *name;
	int64_t time; /* ns, of the base's clock; 0: made before the base had a clock */
};

static int compare_incident_times(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return strcmp(x->name, y->name);
}

/*
 * Sort by the clock of the base: names have wall-clock time, which may go back. Without memory,
 * keep the order of the names.
 */
static void sort_by_time(struct incident_list *v)
{
	struct timed *t = calloc(v->n + 1, sizeof(*t));

	for (size_t i = 0; t && i < v->n; i++) {
		struct err err;
		json_t *m = incident_list__manifest(v, i, &err);

		t[i] = (struct timed){ v->names[i],
				       json_integer_value(json_object_get(m, "base_ns")) };
		json_decref(m);
	}
	if (t)
		qsort(t, v->n, sizeof(*t), compare_incident_times);
	for (size_t i = 0; t && i < v->n; i++)
		v->names[i] = t[i].name;
	free(t);
}

int incident_list__read(const char *base, struct err *err, struct incident_list *ret)
{
	struct dirent **entries = NULL;
	int n, i, code = 0;

	*ret = (struct incident_list){ 0 };
	snprintf(ret->dir, sizeof(ret->dir), "%.*s/incidents", PATH_MAX - 16, base);
	n = scandir(ret->dir, &entries, is_manifest, alphasort);
	if (n < 0)
		return err_set(err, -errno, "%s: cannot read it: %s%s", ret->dir, strerror(errno),
			       errno == ENOENT ? " (no daemon has run there, or --base is another)"
			       : errno == EACCES ? " (try sudo)"
						 : "");
	ret->names = calloc(n ?: 1, sizeof(*ret->names));
	for (i = 0; i < n; i++) {
		if (ret->names && !code)
			ret->names[i] = strndup(entries[i]->d_name, INCIDENT_NAME_SIZE - 1);
		if (!ret->names || !ret->names[i])
			code = -ENOMEM;
		else
			ret->n++;
		free(entries[i]);
	}
	free(entries);
	if (!code) {
		sort_by_time(ret);
		return 0;
	}
	incident_list__free(ret);
	return err_set(err, code, "out of memory");
}

void incident_list__free(struct incident_list *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->names[i]);
	free(v->names);
	v->names = NULL;
	v->n = 0;
}

/*
 * Set "gone": true for sessions of @m whose file exists neither at its path nor in the base's
 * current place.
 */
static void mark_gone_sessions(const char *dir, const json_t *m)
{
	char here[2 * PATH_MAX];
	json_t *s;
	size_t i;

	json_array_foreach (json_object_get(m, "sessions"), i, s) {
		const char *file = json_string_value(json_object_get(s, "file"));
		const char *name = json_string_value(json_object_get(s, "name"));
		const char *last = file ? strrchr(file, '/') : NULL;

		if (!last || !name || access(file, F_OK) == 0 || errno != ENOENT)
			continue;
		snprintf(here, sizeof(here), "%s/../session-%s%s", dir, name, last);
		if (access(here, F_OK) < 0 && errno == ENOENT)
			json_object_set_new(s, "gone", json_true());
	}
}

json_t *incident_list__manifest(const struct incident_list *v, size_t i, struct err *err)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s" SUFFIX, v->dir, v->names[i]);
	return incident_list__read_manifest(path, v->dir, err);
}

json_t *incident_list__parse_manifest(int fd, const char *path, const char *dir, struct err *err)
{
	struct buf text = { 0 };
	json_error_t why;
	json_t *m = NULL;
	int code = buf__read_fd(&text, fd, MANIFEST_MAX);

	close(fd);
	if (code) {
		err_set(err, code, "%s: %s", path, strerror(-code));
		goto out;
	}
	/* not json_loadfd(): it makes a system call for each byte */
	m = json_loadb(text.len ? text.data : "", text.len, 0, &why);
	if (json_is_object(m)) {
		mark_gone_sessions(dir, m);
		goto out;
	}
	json_decref(m);
	m = NULL;
	err_set(err, -EINVAL, "%s:%d: %s", path, why.line, why.text);
out:
	buf__free(&text);
	return m;
}

/*
 * Find the first dump that cannot be read at its path, but is beside the manifest @path under the
 * same name: use that file.
 */
static void find_beside(const char *path, const json_t *m)
{
	const char *slash = strrchr(path, '/');
	char here[2 * PATH_MAX];
	json_t *s;
	size_t i;

	json_array_foreach (json_object_get(m, "sessions"), i, s) {
		const char *file = json_string_value(json_object_get(s, "file"));
		const char *last = file ? strrchr(file, '/') : NULL;

		if (!last || access(file, R_OK) == 0)
			continue;
		snprintf(here, sizeof(here), "%.*s%s", slash ? (int)(slash - path) : 1,
			 slash ? path : ".", last);
		if (access(here, F_OK))
			continue;
		json_object_set_new(s, "file", json_string(here));
		json_object_del(s, "gone");
		return;
	}
}

json_t *incident_list__read_manifest(const char *path, const char *dir, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	json_t *m;

	if (fd < 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	m = incident_list__parse_manifest(fd, path, dir, err);
	if (m)
		find_beside(path, m);
	return m;
}

const json_t *incident_list__trigger(const json_t *manifest)
{
	return json_array_get(json_object_get(manifest, "triggers"), 0);
}

bool incident_list__has_fired(const json_t *manifest)
{
	return json_is_string(json_object_get(incident_list__trigger(manifest), "rule"));
}

bool incident_list__last_fired(const struct incident_list *v, size_t *ret)
{
	bool fired = false;

	for (size_t i = v->n; i-- > 0 && !fired;) {
		struct err err;
		json_t *m = incident_list__manifest(v, i, &err);

		fired = incident_list__has_fired(m);
		if (fired)
			*ret = i;
		json_decref(m);
	}
	return fired;
}

/* Is the rule in the array @list of the manifest? */
static bool manifest_has_rule(const json_t *manifest, const char *list, const char *rule,
			      size_t len)
{
	const json_t *t;
	size_t i;

	json_array_foreach (json_object_get(manifest, list), i, t) {
		const char *name = json_string_value(json_object_get(t, "rule"));

		if (name && strlen(name) == len && !memcmp(name, rule, len))
			return true;
	}
	return false;
}

/* The last incident that contains rule @rule (@len bytes), even if another rule began it. */
static int find_last_of_rule(const struct incident_list *v, const char *rule, size_t len,
			     struct err *err, size_t *ret)
{
	for (size_t i = v->n; i-- > 0;) {
		json_t *m = incident_list__manifest(v, i, err);
		bool same = manifest_has_rule(m, "triggers", rule, len) ||
			    manifest_has_rule(m, "merged", rule, len);

		json_decref(m);
		if (same) {
			*ret = i;
			return 0;
		}
	}
	return err_set(err, -ENOENT, "no incident of a rule '%.*s': `frbpf ls` lists them",
		       (int)len, rule);
}

static int find_incident_by_part(const struct incident_list *v, const char *part, struct err *err,
				 size_t *ret)
{
	size_t found = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (strstr(v->names[i], part)) {
			*ret = i;
			found++;
		}
	}
	if (found == 1)
		return 0;
	if (found)
		return err_set(err, -EINVAL, "'%s' is part of %zu incidents: give more of the time",
			       part, found);
	return err_set(err, -ENOENT, "no incident '%s': `frbpf ls` lists them", part);
}

int incident_list__find(const struct incident_list *v, const char *what, struct err *err,
			size_t *ret)
{
	const char *slash = strrchr(what, '/'), *colon = strrchr(what, ':');
	const char *dump = dump_name__time(slash ? slash + 1 : what);

	if (!v->n)
		return err_set(err, -ENOENT, "no incident yet in %s", v->dir);
	if (strcmp(what, "last") == 0) {
		*ret = v->n - 1;
		return 0;
	}
	if (dump)
		return find_incident_by_part(v, dump, err, ret);
	if (colon && strcmp(colon, ":last") == 0)
		return find_last_of_rule(v, what, colon - what, err, ret);
	return find_incident_by_part(v, what, err, ret);
}
