// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/incident_operand.h"
#include "cmd/recording_operand.h"
#include "common/log.h"

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
