// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/incident_list.h"
#include "cmd/ls_causes.h"
#include "common/log.h"
#include "dump/base/removal_log.h"
#include "rules/units.h"

/* Print "syscall:fsync 812ms > 50ms by postgres (1234)", or the reason of a dump by hand. */
static void print_cause(const json_t *t, bool contradicted)
{
	const json_t *subject = json_object_get(t, "subject");
	const char *comm = json_string_value(json_object_get(subject, "comm")) ?: "";
	const char *rule = json_string_value(json_object_get(t, "rule"));
	char value[32];

	if (!rule) {
		printf("by hand: %s", json_string_value(json_object_get(t, "reason")) ?: "");
		return;
	}
	units__format_duration(json_integer_value(json_object_get(t, "value_ns")), value,
			       sizeof(value));
	if (contradicted)
		printf("CONTRADICTED ");
	printf("%s: %s", rule, json_string_value(json_object_get(t, "when")) ?: "?");
	if (json_integer_value(json_object_get(t, "value_ns")))
		printf(", %s", value);
	if (json_integer_value(json_object_get(subject, "tid")))
		printf(*comm ? " by %s (tid %lld)" : " by %stid %lld, which had ended", comm,
		       (long long)json_integer_value(json_object_get(subject, "tid")));
	else if (strcmp(json_string_value(json_object_get(t, "source")) ?: "", "psi"))
		printf(" on CPU %lld", (long long)json_integer_value(json_object_get(t, "cpu")));
}

static bool named_before(const json_t *all, size_t n, const char *rule)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *name = json_object_get(json_array_get(all, i), "rule");

		if (!strcmp(json_string_value(name) ?: "", rule))
			return true;
	}
	return false;
}

/* Print the other rules of the incident: " (also slow, tick)". */
static void print_others(const json_t *m)
{
	json_t *all = json_array(), *t;
	bool first = true;
	size_t i;

	json_array_extend(all, json_object_get(m, "triggers"));
	json_array_extend(all, json_object_get(m, "merged"));
	json_array_foreach (all, i, t) {
		const char *rule = json_string_value(json_object_get(t, "rule"));

		if (!i || !rule || named_before(all, i, rule))
			continue;
		printf("%s%s", first ? " (also " : ", ", rule);
		first = false;
	}
	if (!first)
		putchar(')');
	json_decref(all);
}

/* Print " short (0.2s of 15s, wants -m 64M)". */
static void print_short(const json_t *window)
{
	json_int_t needed = json_integer_value(json_object_get(window, "ring_needed_bytes"));
	char covered[32], asked[32], size[16];

	if (!json_is_true(json_object_get(window, "short")))
		return;
	printf(" short");
	if (!json_object_get(window, "asked_ns"))
		return;
	units__format_duration(json_integer_value(json_object_get(window, "covered_ns")), covered,
			       sizeof(covered));
	units__format_duration(json_integer_value(json_object_get(window, "asked_ns")), asked,
			       sizeof(asked));
	printf(" (%s of %s", covered, asked);
	if (needed)
		printf(", wants -m %s", units__format_size(needed, size, sizeof(size)));
	putchar(')');
}

static void print_sessions(const json_t *m)
{
	const json_t *s;
	size_t i;

	json_array_foreach (json_object_get(m, "sessions"), i, s) {
		const json_t *window = json_object_get(s, "window");
		char length[32], size[16];

		printf("%s%s", i ? ", " : "  [",
		       json_string_value(json_object_get(s, "name")) ?: "?");
		if (json_is_string(json_object_get(s, "error"))) {
			printf(" FAILED");
			continue;
		}
		if (json_is_true(json_object_get(s, "gone"))) {
			printf(" GONE");
			continue;
		}
		units__format_duration(json_integer_value(json_object_get(window, "length_ns")),
				       length, sizeof(length));
		units__format_size(json_integer_value(json_object_get(s, "bytes")), size,
				   sizeof(size));
		printf(" %s %s", window ? length : "?", size);
		print_short(window);
	}
	printf("%s%s", json_array_size(json_object_get(m, "sessions")) ? "]" : "",
	       json_is_true(json_object_get(m, "recovered")) ? " recovered" : "");
}

static void print_verdict(const json_t *m)
{
	const char *verdict =
		json_string_value(json_object_get(json_object_get(m, "why"), "verdict"));

	if (verdict)
		printf("  why: %s", verdict);
}

static bool incident_is_there(const struct incident_list *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++) {
		if (strcmp(v->names[i], name) == 0)
			return true;
	}
	return false;
}

/*
 * Print incidents removed at or before @time of the base's clock, or append them to @all if it is
 * not NULL. Returns the index to go on from.
 */
static size_t print_removed(const json_t *removed, size_t from, json_int_t time,
			    const struct incident_list *v, json_t *all)
{
	for (; from < json_array_size(removed); from++) {
		json_t *line = json_array_get(removed, from);
		const char *name = json_string_value(json_object_get(line, "incident"));
		const json_t *trigger = json_object_get(line, "trigger");

		if (json_integer_value(json_object_get(line, "base_ns")) > time)
			break;
		if (!name ||
		    incident_is_there(v, name)) /* its removal was logged, but it never began */
			continue;
		if (all) {
			json_array_append(all, line);
			continue;
		}
		cmd_make_printable(line);
		printf("%s  ", name);
		if (json_is_object(trigger))
			print_cause(trigger,
				    json_is_true(json_object_get(trigger, "contradicted")));
		printf("  removed (%s)\n",
		       json_string_value(json_object_get(line, "removed")) ?: "?");
	}
	return from;
}

static int list_incidents(const char *base, bool json)
{
	struct incident_list v;
	struct err err = { 0 };
	json_t *all = json_array(), *removed;
	int status = EXIT_DONE;
	size_t next = 0;

	if (incident_list__read(base, &err, &v)) {
		log_error("%s", err.msg);
		json_decref(all);
		return EXIT_FAILED;
	}
	removed = removal_log__read(base);
	for (size_t i = 0; i < v.n; i++) {
		json_t *m = incident_list__manifest(&v, i, &err);

		if (!m) {
			log_error("%s", err.msg);
			status = EXIT_FAILED;
			continue;
		}
		next = print_removed(removed, next,
				     json_integer_value(json_object_get(m, "base_ns")), &v,
				     json ? all : NULL);
		if (json) {
			json_array_append_new(all, m);
			continue;
		}
		cmd_make_printable(m);
		printf("%s  ", v.names[i]);
		print_cause(incident_list__trigger(m),
			    json_is_true(json_object_get(m, "contradicted")));
		print_others(m);
		print_sessions(m);
		print_verdict(m);
		putchar('\n');
		json_decref(m);
	}
	next = print_removed(removed, next, INT64_MAX, &v, json ? all : NULL);
	if (json && json_dumpf(all, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	if (!v.n && !next && !json)
		log_info("no incident yet in %s", v.dir);
	json_decref(all);
	json_decref(removed);
	incident_list__free(&v);
	return status;
}

static int list_causes(const char *base, bool json)
{
	struct incident_list v;
	struct err err = { 0 };
	int status;

	if (incident_list__read(base, &err, &v)) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	status = ls_causes__print(&v, json);
	incident_list__free(&v);
	return status;
}

static int run_ls(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "causes", no_argument, NULL, 'c' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	bool json = false, causes = false;
	char base[PATH_MAX];
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_ls, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		json |= opt == 'j';
		causes |= opt == 'c';
	}
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_ls, "takes no operands");
	if (cmd_find_base(&hint, base))
		return EXIT_FAILED;
	return causes ? list_causes(base, json) : list_incidents(base, json);
}

const struct command cmd_ls = {
	.name = "ls",
	.run = run_ls,
	.usage = "[--causes] [--json]",
	.summary = "incidents and what fired them",
	.help = "      --causes        one line per cause that `frbpf why` found, the rarest\n"
		"                      first\n"
		"      --json          the manifests, as an array; for a removed incident,\n"
		"                      the values kept, and the reason as \"removed\"\n",
};
