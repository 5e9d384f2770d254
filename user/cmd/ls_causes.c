// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "analyse/why/why_incident.h"
#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "cmd/ls_causes.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "rules/units.h"

/*
 * Incidents are grouped if rule, cause, culprit and chain of waits are equal. The culprit is a
 * name in a cgroup, as its ids differ each time, and the device or interrupt.
 */
static int cause_key(const json_t *why, const char *rule, struct buf *key)
{
	static const char *const of_culprit[] = { "comm", "process", "cgroup" },
				 *const of_why[] = { "cause", "chain", "missing", "resource" };
	int err = buf__add_str(key, rule);

	for (size_t i = 0; !err && i < ARRAY_SIZE(of_why); i++)
		err = buf__printf(key, "\n%s", str(why, of_why[i]));
	for (size_t i = 0; !err && i < ARRAY_SIZE(of_culprit); i++)
		err = buf__printf(key, "\n%s",
				  str(json_object_get(why, "culprit"), of_culprit[i]));
	return err;
}

/* Add incident @i to its group in @groups, an object by key. 0 or -ENOMEM. */
static int add_listed_incident(json_t *groups, const struct incident_list *v, size_t i,
			       const json_t *manifest, json_t *why)
{
	const char *rule = str(incident_list__trigger(manifest), "rule");
	struct buf key = { 0 };
	json_t *g;
	int err = cause_key(why, rule, &key);

	g = err ? NULL : json_object_get(groups, key.data);
	if (!err && !g) {
		g = json_pack("{s:s, s:[]}", "rule", rule, "incidents");
		if (!g || json_object_set_new(groups, key.data, g))
			err = -ENOMEM;
	}
	/* "why" is that of the last incident */
	if (!err &&
	    (json_object_set(g, "why", why) ||
	     json_array_append_new(json_object_get(g, "incidents"), json_string(v->names[i]))))
		err = -ENOMEM;
	buf__free(&key);
	return err;
}

static size_t group_size(const json_t *g)
{
	return json_array_size(json_object_get(g, "incidents"));
}

/* Sort the rarest first, equally rare ones by first occurrence. */
static json_t *sorted_groups(const json_t *groups)
{
	json_t *list = json_array(), *g;
	const char *key;
	size_t i;

	json_object_foreach ((json_t *)groups, key, g) {
		for (i = 0; i < json_array_size(list); i++)
			if (group_size(json_array_get(list, i)) > group_size(g))
				break;
		json_array_insert(list, i, g);
	}
	return list;
}

static void print_group(json_t *g)
{
	const json_t *names = json_object_get(g, "incidents"),
		     *last = json_array_get(names, json_array_size(names) - 1);

	cmd_make_printable(g);
	printf("%6zu  %s: %s, last %s\n", group_size(g), str(g, "rule"),
	       str(json_object_get(g, "why"), "verdict"), json_string_value(last) ?: "?");
}

static int print_groups(const json_t *groups, bool json)
{
	json_t *list = sorted_groups(groups), *g;
	int failed = 0;
	size_t i;

	if (json) {
		failed = json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		json_array_foreach (list, i, g)
			print_group(g);
	}
	json_decref(list);
	return failed ? EXIT_FAILED : EXIT_DONE;
}

int ls_causes__print(const struct incident_list *v, bool json)
{
	char base[PATH_MAX + 8];
	json_t *groups = json_object();
	struct err err = { 0 };
	int status = groups ? EXIT_DONE : EXIT_FAILED, code;

	snprintf(base, sizeof(base), "%s/..", v->dir);
	for (size_t i = 0; groups && i < v->n; i++) {
		json_t *m = incident_list__manifest(v, i, &err), *why;

		if (!m) {
			log_error("%s", err.msg);
			status = EXIT_FAILED;
			continue;
		}
		if (!incident_list__has_fired(m)) { /* requested by hand, so it has no cause */
			json_decref(m);
			continue;
		}
		why = json_incref(json_object_get(m, "why"));
		if (!json_is_object(why)) {
			json_decref(why);
			why = why_incident__verdict(m, base, units__format_duration);
		}
		code = why ? add_listed_incident(groups, v, i, m, why) : -ENOMEM;
		json_decref(why);
		json_decref(m);
		if (code) {
			log_error("out of memory");
			status = EXIT_FAILED;
		}
	}
	if (!json && !json_object_size(groups) && status == EXIT_DONE)
		log_info("no incident of a rule yet in %s", v->dir);
	if (groups && print_groups(groups, json))
		status = EXIT_FAILED;
	json_decref(groups);
	return status;
}
