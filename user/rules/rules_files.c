// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/config.h"
#include "rules/diag.h"
#include "rules/rules_files.h"
#include "rules/text.h"

#define FILES_MAX 64
#define BOM	  "\xef\xbb\xbf"

/* A file and the file that includes it. */
struct included {
	const struct included *by; /* NULL: the list names it */
	const char *path;
	dev_t dev;
	ino_t ino;
};

struct reader {
	struct diags *d;
	struct source_text *text;
	struct included read[FILES_MAX]; /* paths are not kept */
	size_t n;
};

/* The place of an `include` in the whole text. src NULL: the command line. */
struct included_at {
	const struct source_text *src;
	struct span span;
};

static int read_rules_file(struct reader *r, const struct included *by, const char *path,
			   const struct included_at *at);

static int cannot_read(struct reader *r, const char *path, const struct included_at *at, int err)
{
	if (err == -EFBIG)
		diags__error(r->d, at->src, at->span,
			     "%s: larger than 1 MiB: this is not a rules file", path);
	else
		diags__error(r->d, at->src, at->span, "%s: cannot read it: %s", path,
			     strerror(-err));
	return err;
}

static bool included_is_same(const struct included *a, const struct included *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Shall the file be read? 0: yes; 1: it was read before; -ELOOP or -E2BIG, reported. */
static int check_new_file(struct reader *r, const struct included *f, const struct included_at *at)
{
	for (const struct included *up = f->by; up; up = up->by) {
		if (!included_is_same(up, f))
			continue;
		diags__error(r->d, at->src, at->span, "%s would include itself", f->path);
		return -ELOOP;
	}
	for (size_t i = 0; i < r->n; i++) {
		if (included_is_same(&r->read[i], f))
			return 1;
	}
	if (r->n < FILES_MAX)
		return 0;
	diags__error(r->d, at->src, at->span, "more than %d files", FILES_MAX);
	return -E2BIG;
}

/* A relative path begins at the directory of the file that includes it. */
static int find_file(const char *from, const char *name, char path[static PATH_MAX],
		     struct err *err)
{
	const char *slash = strrchr(from, '/');
	int dir = name[0] == '/' || name[0] == '@' || !slash ? 0 : (int)(slash + 1 - from);
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof(whole), "%.*s%s", dir, from, name) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s: this path is too long", name);
	return shipped_rules__path(whole, path, err);
}

/* Include the files of one entry, separated by commas. */
static int include_files(struct reader *r, const struct included *f, const struct config *c,
			 const struct config_entry *e, uint32_t off)
{
	_cleanup_free_ char *value = config__perf_value(c, e);
	struct included_at at = { r->text, { off + e->value.off, e->value.len } };
	char *save = NULL, path[PATH_MAX];
	struct err err;

	if (!value)
		return -ENOMEM;
	if (!value[0])
		diags__error(r->d, at.src, (struct span){ off + e->key_span.off, e->key_span.len },
			     "'include' has no value: write include = FILE");
	for (char *name = strtok_r(value, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		name += strspn(name, " ");
		for (size_t len = strlen(name); len && name[len - 1] == ' ';)
			name[--len] = '\0';
		if (!name[0])
			continue;
		if (find_file(f->path, name, path, &err))
			diags__error(r->d, at.src, at.span, "%s", err.msg);
		else if (read_rules_file(r, f, path, &at) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Owns @file. */
static int include_whole_file(struct reader *r, const struct included *f, struct source_text *file,
			      uint32_t off)
{
	struct diags ignored = { 0 }; /* the whole text is parsed again */
	struct config *c;
	int err = config__parse_damaged(file, &ignored, &c);

	if (!err) {
		for (size_t i = 0; i < c->n_includes && !err; i++)
			err = include_files(r, f, c, &c->includes[i], off);
		for (size_t s = 0; s < c->n_sections && !err; s++) {
			const struct config_section *sec = &c->sections[s];

			for (size_t i = 0; i < sec->n_entries && !err; i++) {
				if (!strcmp(sec->name, "daemon") &&
				    !strcmp(sec->entries[i].key, "include"))
					err = include_files(r, f, c, &sec->entries[i], off);
			}
		}
		config__free(c);
	}
	diags__free(&ignored);
	return err;
}

/* Append @file to the text; *ret_off is the offset of its first byte. */
static int append_file(struct reader *r, const struct source_text *file, uint32_t *ret_off)
{
	if (r->text->pieces || r->text->text)
		return source_text__append(r->text, file->name, file->text, file->len, ret_off);
	r->text->name = strdup(file->name);
	r->text->text = malloc(file->len + 1);
	if (!r->text->name || !r->text->text)
		return -ENOMEM;
	memcpy(r->text->text, file->text, file->len + 1);
	r->text->len = file->len;
	*ret_off = 0;
	return 0;
}

static void strip_bom(struct source_text *file)
{
	size_t len = strlen(BOM);

	if (file->len < len || memcmp(file->text, BOM, len) != 0)
		return;
	file->len -= len;
	memmove(file->text, file->text + len, file->len + 1);
}

static int read_rules_file(struct reader *r, const struct included *by, const char *path,
			   const struct included_at *at)
{
	struct included f = { .by = by, .path = path };
	struct source_text *file;
	struct stat st;
	uint32_t off;
	int err;

	if (stat(path, &st))
		return cannot_read(r, path, at, -errno);
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	err = check_new_file(r, &f, at);
	if (err)
		return err < 0 ? err : 0;
	err = source_text__read(path, &file);
	if (err)
		return err == -ENOMEM ? err : cannot_read(r, path, at, err);
	r->read[r->n++] = f;
	if (r->n > 1)
		strip_bom(file);
	err = append_file(r, file, &off);
	if (err) {
		source_text__free(file);
		return err;
	}
	return include_whole_file(r, &f, file, off);
}

int rules_files__read(const char *list, struct diags *d, struct source_text **ret)
{
	_cleanup_free_ struct reader *r = calloc(1, sizeof(*r));
	_cleanup_free_ char *paths = strdup(list);
	const char separator[] = { RULES_FILES_SEPARATOR, '\0' };
	struct included_at nowhere = { NULL };
	char *save = NULL;
	int err = 0;

	if (!r || !paths)
		return -ENOMEM;
	r->d = d;
	r->text = calloc(1, sizeof(*r->text));
	if (!r->text)
		return -ENOMEM;
	for (char *p = strtok_r(paths, separator, &save); p && !err;
	     p = strtok_r(NULL, separator, &save))
		err = read_rules_file(r, NULL, p, &nowhere);
	if (!err && !r->text->text)
		err = cannot_read(r, list, &nowhere, -ENOENT);
	if (err)
		diags__keep(d, r->text); /* messages point into it */
	else
		*ret = r->text;
	return err;
}

int rules_files__list(const struct source_text *src, struct buf *ret)
{
	int err = src->n_pieces ? 0 : buf__add_str(ret, src->name);

	for (size_t i = 0; i < src->n_pieces && !err; i++) {
		if (!src->pieces[i].for_all)
			err = buf__printf(ret, "%s%s",
					  i ? (char[]){ RULES_FILES_SEPARATOR, 0 } : "",
					  src->pieces[i].name);
	}
	return err;
}

void rules_files__describe(const char *list, char *ret, size_t size)
{
	size_t n = 0;

	for (; *list && n + 2 < size; list++) {
		ret[n++] = *list == RULES_FILES_SEPARATOR ? ',' : *list;
		if (*list == RULES_FILES_SEPARATOR)
			ret[n++] = ' ';
	}
	ret[n] = '\0';
}

/* ---- shipped files ---- */

#define SUFFIX	  ".conf"
#define NAMES_MAX 64 /* of files; further ones are not proposed */

/* relative to the directory of the program */
static const char *const directories[] = { "configs", "../share/frbpf" };

static bool program_directory(char ret[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static int is_rules_file(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > strlen(SUFFIX) &&
	       !strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX);
}

/* List the names as " @latency @memory", sorted; "" if there are none. */
static int list_names(const char *program, struct buf *ret)
{
	int err = buf__add_str(ret, "");

	for (size_t i = 0; i < ARRAY_SIZE(directories) && !err; i++) {
		_cleanup_free_ char *path = NULL;
		struct dirent **v;
		int n;

		if (asprintf(&path, "%s/%s", program, directories[i]) < 0)
			return -ENOMEM;
		n = scandir(path, &v, is_rules_file, alphasort);
		for (int k = 0; k < n; k++) {
			int len = strlen(v[k]->d_name) - strlen(SUFFIX);

			err = err ?: buf__printf(ret, " @%.*s", len, v[k]->d_name);
			free(v[k]);
		}
		if (n >= 0)
			free(v);
	}
	return err;
}

/* Find the name in @list nearest to @arg; cuts @list into words. NULL: none is near. */
static const char *nearest_name(const char *arg, char *list)
{
	const char *names[NAMES_MAX + 1] = { NULL };
	size_t n = 0;

	for (char *at, *name = strtok_r(list, " ", &at); name && n < NAMES_MAX;
	     name = strtok_r(NULL, " ", &at))
		names[n++] = name;
	return nearest_word(arg, strlen(arg), names);
}

static int unknown_rules(const char *arg, const char *program, struct err *err)
{
	struct buf names = { 0 };
	_cleanup_free_ char *list = NULL;
	const char *near;
	int code;

	if (list_names(program, &names) == 0 && names.len)
		list = strdup(names.data);
	near = list ? nearest_name(arg, list) : NULL;
	if (near)
		code = err_set(err, -ENOENT, "no shipped rules file %s (did you mean %s?)", arg,
			       near);
	else if (names.len)
		code = err_set(err, -ENOENT, "no shipped rules file %s: use one of%s", arg,
			       names.data);
	else
		code = err_set(err, -ENOENT, "%s: no rules files are installed with %s/frbpf", arg,
			       program);
	buf__free(&names);
	return code;
}

int shipped_rules__path(const char *arg, char ret[static PATH_MAX], struct err *err)
{
	char program[PATH_MAX];
	int n;

	if (arg[0] != '@') {
		n = snprintf(ret, PATH_MAX, "%s", arg);
		return n < PATH_MAX ? 0
				    : err_set(err, -ENAMETOOLONG, "%s: this path is too long", arg);
	}
	if (!program_directory(program))
		return err_set(err, -ENOENT, "%s: cannot tell where frbpf is installed", arg);
	for (size_t i = 0; i < ARRAY_SIZE(directories) && !strchr(arg, '/'); i++) {
		n = snprintf(ret, PATH_MAX, "%s/%s/%s" SUFFIX, program, directories[i], arg + 1);
		if (n < PATH_MAX && access(ret, F_OK) == 0)
			return 0;
	}
	return unknown_rules(arg, program, err);
}
