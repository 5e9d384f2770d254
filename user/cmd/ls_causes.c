// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/why_incident.h"
#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "cmd/ls_causes.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "rules/units.h"

/* Add a name without its numbers, which differ: kworker/u8:3+flush-7:0 is kworker/u#:#+flush-#:# */
static int add_name_class(struct buf *key, const char *name)
{
	static const char digits[] = "0123456789";
	int err = buf__add_str(key, "\n");

	while (*name && !err) {
		size_t n = strcspn(name, digits), skip = strspn(name + n, digits);

		err = buf__add(key, name, n) ?: skip ? buf__add_str(key, "#") : 0;
		name += n + skip;
	}
	return err;
}

/*
 * Incidents are grouped if rule, cause, culprit and chain of waits are equal. A culprit counts by
 * its name and cgroup, since its ids differ each time, and by its device or interrupt. The cgroup
 * comes last in the key: it is unknown if the culprit had ended when it was looked up.
 */
static int cause_key(const json_t *why, const char *rule, struct buf *key)
{
	static const char *const of_why[] = { "cause", "chain", "missing", "resource" };
	const json_t *culprit = json_object_get(why, "culprit");
	int err = buf__add_str(key, rule);

	for (size_t i = 0; !err && i < ARRAY_SIZE(of_why); i++)
		err = buf__printf(key, "\n%s", str(why, of_why[i]));
	return err
		       ?: add_name_class(key, str(culprit, "comm"))
		       ?: add_name_class(key, str(culprit, "process"))
		       ?: buf__printf(key, "\n%s", str(culprit, "cgroup"));
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
	/* "why" is the verdict on the last incident of the group */
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

/* The only other group whose key begins with @key; NULL: there is none, or several. */
static json_t *only_group_below(json_t *groups, const char *key)
{
	json_t *g, *ret = NULL;
	const char *other;

	json_object_foreach (groups, other, g) {
		if (strncmp(other, key, strlen(key)) || !strcmp(other, key))
			continue;
		if (ret)
			return NULL;
		ret = g;
	}
	return ret;
}

static int compare_incidents(const void *a, const void *b)
{
	return strcmp(json_string_value(*(json_t *const *)a),
		      json_string_value(*(json_t *const *)b));
}

/* Add the incidents of @from to those of @to, in the order of their times. 0 or -ENOMEM. */
static int merge_incidents(json_t *to, const json_t *from)
{
	size_t n = json_array_size(to), all = n + json_array_size(from);
	json_t **v = calloc(all, sizeof(*v));
	int err = v ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < all; i++)
		v[i] = json_incref(i < n ? json_array_get(to, i) : json_array_get(from, i - n));
	if (!err)
		qsort(v, all, sizeof(*v), compare_incidents);
	json_array_clear(to);
	for (size_t i = 0; !err && i < all; i++)
		err = json_array_append_new(to, v[i]) ? -ENOMEM : 0;
	free(v);
	return err;
}

static const char *last_incident(const json_t *g)
{
	const json_t *names = json_object_get(g, "incidents");

	return json_string_value(json_array_get(names, json_array_size(names) - 1)) ?: "";
}

static bool group_is_newer(const json_t *g, const json_t *than)
{
	return strcmp(last_incident(g), last_incident(than)) > 0;
}

/*
 * Join each group that lacks the cgroup of its culprit to the group of a culprit with the same
 * name, if there is only one such group.
 */
static int join_unknown_cgroups(json_t *groups)
{
	json_t *g, *known;
	const char *key;
	void *next;
	int err = 0;

	json_object_foreach_safe(groups, next, key, g)
	{
		known = key[strlen(key) - 1] == '\n' ? only_group_below(groups, key) : NULL;
		if (err || !known)
			continue;
		if (group_is_newer(g, known))
			json_object_set(known, "why", json_object_get(g, "why"));
		err = merge_incidents(json_object_get(known, "incidents"),
				      json_object_get(g, "incidents"));
		json_object_del(groups, key);
	}
	return err;
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
	cmd_make_printable(g);
	printf("%6zu  %s: %s, last %s\n", group_size(g), str(g, "rule"),
	       str(json_object_get(g, "why"), "verdict"), last_incident(g));
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
	if (groups && join_unknown_cgroups(groups)) {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	if (!json && !json_object_size(groups) && status == EXIT_DONE)
		log_info("no rule has fired yet: no incident in %s", v->dir);
	if (groups && print_groups(groups, json))
		status = EXIT_FAILED;
	json_decref(groups);
	return status;
}
