// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "rules/diag.h"
#include "rules/shipped_rules.h"

#define SUFFIX	  ".conf"
#define NAMES_MAX 64 /* of files; further ones are not proposed */

/* relative to the directory of the program */
static const char *const folders[] = { "configs", "../share/frbpf" };

static bool program_folder(char ret[static PATH_MAX])
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

	for (size_t i = 0; i < ARRAY_SIZE(folders) && !err; i++) {
		_cleanup_free_ char *path = NULL;
		struct dirent **v;
		int n;

		if (asprintf(&path, "%s/%s", program, folders[i]) < 0)
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
	if (!program_folder(program))
		return err_set(err, -ENOENT, "%s: cannot tell where frbpf is installed", arg);
	for (size_t i = 0; i < ARRAY_SIZE(folders) && !strchr(arg, '/'); i++) {
		n = snprintf(ret, PATH_MAX, "%s/%s/%s" SUFFIX, program, folders[i], arg + 1);
		if (n < PATH_MAX && access(ret, F_OK) == 0)
			return 0;
	}
	return unknown_rules(arg, program, err);
}
