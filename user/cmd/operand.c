// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/incident_list.h"
#include "cmd/operand.h"
#include "common/dump_name.h"
#include "common/log.h"

/* BASE for BASE/incidents/TIME.json; "." or ".." if the path has no directories. */
static void base_of_file(const char *path, char base[static PATH_MAX])
{
	char *slash;

	snprintf(base, PATH_MAX, "%s", path);
	for (int i = 0; i < 2; i++) {
		slash = strrchr(base, '/');
		if (!slash) {
			snprintf(base, PATH_MAX, "%s", i ? "." : "..");
			return;
		}
		*slash = '\0';
	}
}

static int find_default(const struct incident_list *v, enum incident_default def, struct err *err,
			size_t *ret)
{
	if (def == INCIDENT_LAST || !incident_list__last_fired(v, ret))
		return incident_list__find(v, "last", err, ret);
	if (*ret + 1 < v->n)
		log_info("the last incident was requested by hand; this is the last that a rule "
			 "fired, %s",
			 v->names[*ret]);
	return 0;
}

/* Find incident @what in ret->base; NULL: take @def. */
static int find_in_base(const char *what, enum incident_default def, struct err *err,
			struct incident_operand *ret)
{
	struct incident_list v = { 0 };
	size_t i;
	int code = incident_list__read(ret->base, err, &v);

	code = code
		       ?: what ? incident_list__find(&v, what, err, &i)
			       : find_default(&v, def, err, &i);
	if (!code) {
		ret->manifest = incident_list__manifest(&v, i, err);
		code = ret->manifest ? 0 : -EINVAL;
	}
	incident_list__free(&v);
	return code;
}

static int find_manifest(const char *path, struct err *err, struct incident_operand *ret)
{
	char dir[PATH_MAX + 16];

	base_of_file(path, ret->base);
	snprintf(dir, sizeof(dir), "%s/incidents", ret->base);
	ret->manifest = incident_list__read_manifest(path, dir, err);
	return ret->manifest ? 0 : -EINVAL;
}

/* Find the manifest that was copied to the directory of the dump @path. */
static int find_manifest_beside(const char *path, struct err *err, struct incident_operand *ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *time = dump_name__time(name);
	char manifest[PATH_MAX + DUMP_NAME_SIZE];

	if (!time)
		return -ENOENT;
	snprintf(manifest, sizeof(manifest), "%.*s%s.json", (int)(name - path), path, time);
	return access(manifest, F_OK) ? -ENOENT : find_manifest(manifest, err, ret);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file_operand(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

bool incident_operand__is_dump(const char *what)
{
	return is_file_operand(what) && !ends_with(what, ".json");
}

int incident_operand__find(const struct location_hint *hint, const char *what,
			   enum incident_default def, struct err *err, struct incident_operand *ret)
{
	int code;

	if (what && is_directory(what)) {
		snprintf(ret->base, sizeof(ret->base), "%s", what);
		return find_in_base(NULL, def, err, ret);
	}
	if (what && incident_operand__is_dump(what)) {
		base_of_file(what, ret->base);
		/* not found: it may have been copied away */
		if (!find_in_base(what, def, err, ret) || !find_manifest_beside(what, err, ret))
			return 0;
	}
	if (what && is_file_operand(what) && ends_with(what, ".json"))
		return find_manifest(what, err, ret);
	code = location__find(hint, ret->base, err);
	code = code ?: find_in_base(what, def, err, ret);
	if (code && what && strchr(what, '/') && access(what, F_OK))
		err_prefix(err, code, "%s: no such file or directory; ", what);
	return code;
}

void incident_operand__free(struct incident_operand *o)
{
	json_decref(o->manifest);
	o->manifest = NULL;
}

/* Find the dumps of an incident. */
static int find_incident_recordings(const struct location_hint *hint, const char *what,
				    struct err *err, struct recordings *ret)
{
	struct incident_operand o = { 0 };
	json_t *s;
	size_t i;
	int code = incident_operand__find(hint, what, INCIDENT_LAST, err, &o);

	json_array_foreach (json_object_get(o.manifest, "sessions"), i, s) {
		const char *name = json_string_value(json_object_get(s, "name"));
		const char *file = json_string_value(json_object_get(s, "file"));

		if (!code && name && file && recordings__add(ret, name, file))
			code = err_set(err, -ENOMEM, "out of memory");
	}
	if (!code && !ret->n)
		code = err_set(err, -ENOENT, "incident %s has no dump", what);
	incident_operand__free(&o);
	return code;
}

/* Is it a name, or the path of a manifest? */
static bool names_incident(const char *what)
{
	struct stat st;

	if (stat(what, &st))
		return errno == ENOENT && !strchr(what, '/');
	return S_ISREG(st.st_mode) && !incident_operand__is_dump(what);
}

int cmd_find_recordings(const struct location_hint *hint, const char *what, struct recordings *ret)
{
	struct err err = { 0 };
	int code;

	if (names_incident(what)) {
		code = find_incident_recordings(hint, what, &err, ret);
		if (code && access(what, F_OK))
			log_error("%s: no such file or directory; %s", what, err.msg);
		else if (code)
			log_error("%s", err.msg);
	} else {
		code = recordings__find(what, &err, ret);
		if (code)
			log_error("%s", err.msg);
	}
	return code ? EXIT_FAILED : 0;
}
