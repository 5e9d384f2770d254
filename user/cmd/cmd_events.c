// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <jansson.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "cmd/probe_report.h"
#include "common/cleanup.h"
#include "common/format_field.h"
#include "common/log.h"
#include "common/tracefs.h"
#include "detect/tracepoint/btf_trace.h"
#include "examine/probe/probe_reader.h"
#include "record/event_names.h"
#include "record/perf_options.h"
#include "record/pmu.h"
#include "rules/expr.h"
#include "rules/when.h"

/* Lists what `when` of a rule and -e of a session can name on this kernel. */

struct catalog {
	const char *glob;
	bool fields;
	struct tracefs *tracefs;
	json_t *events, *left_out;
};

/* Add an entry; returns it, borrowed. NULL: the glob does not match, or out of memory. */
static json_t *catalog_add(struct catalog *c, const char *name, const char *where, const char *kind,
			   const char *meaning)
{
	json_t *e;

	if (c->glob && fnmatch(c->glob, name, FNM_NOESCAPE) != 0)
		return NULL;
	e = json_pack("{s:s, s:s, s:s, s:s}", "name", name, "in", where, "kind", kind, "meaning",
		      meaning);
	json_array_append_new(c->events, e);
	return e;
}

/* ---- sources ---- */

/* The fields that `if` can use for @source. */
static json_t *make_condition_fields(enum frbpf_source source)
{
	static const char *const types[] = {
		[EXPR_STRING] = "string",      [EXPR_NUMBER] = "number",
		[EXPR_DURATION] = "duration",  [EXPR_PATH] = "path",
		[EXPR_EXE] = "path",	       [EXPR_NAME] = "path",
		[EXPR_TEXT] = "string",	       [EXPR_DEVICE] = "device",
		[EXPR_IPV4] = "IPv4 address",  [EXPR_IPV6] = "IPv6 address",
		[EXPR_ADDRESS] = "IP address",
	};
	json_t *fields = json_array();

	for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
		if (f->sources && !(f->sources & (1U << source)))
			continue;
		json_array_append_new(fields, json_pack("{s:s, s:s, s:s}", "name", f->name, "type",
							types[f->type], "meaning", f->meaning));
	}
	return fields;
}

static void add_sources(struct catalog *c)
{
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		json_t *e;

		/* users write this source like FRBPF_SOURCE_TRACEPOINT, which is listed */
		if (s->source == FRBPF_SOURCE_TRACEPOINT_FIELDS)
			continue;
		e = catalog_add(c, s->name, "when", "source", s->meaning);

		if (e && c->fields)
			json_object_set_new(e, "fields", make_condition_fields(s->source));
	}
}

/* ---- events by name ---- */

/*
 * Test whether the kernel can count the event. It is opened for this process in user space only:
 * that needs no privilege.
 */
static void set_available(json_t *e, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.config = config,
		.size = PERF_ATTR_SIZE_VER0,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	_cleanup_close_ int fd = -1;

	if (!e)
		return;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		json_object_set_new(e, "available", json_true());
	else if (errno == ENOENT || errno == ENODEV || errno == ENXIO || errno == EOPNOTSUPP)
		json_object_set_new(e, "available", json_false());
}

static void add_cache(const char *name, void *arg)
{
	json_t *e = catalog_add(arg, name, "-e", "cache", "");
	uint64_t config;

	if (e && event_names__find_cache(name, strlen(name), &config) == 0)
		set_available(e, PERF_TYPE_HW_CACHE, config);
}

static void add_event_names(struct catalog *c, uint32_t type, const char *kind)
{
	for (const struct event_name *n = event_names; n->name; n++) {
		if (n->type == type)
			set_available(catalog_add(c, n->name, "-e", kind, n->meaning), type,
				      n->config);
	}
}

static void add_pmu_event(const char *pmu, const char *event, const char *terms, void *arg)
{
	char name[PMU_NAME_MAX + 256];

	snprintf(name, sizeof(name), "%s/%s/", pmu, event);
	catalog_add(arg, name, "-e", "PMU", terms);
}

/* ---- tracepoints ---- */

static void add_format_fields(const struct tracepoint *tp, json_t *fields)
{
	const char *at = tp->format;
	struct format_line l;

	while (format_text__next(&at, tp->format + tp->format_len, &l)) {
		if (!format_line__is_common(&l))
			json_array_append_new(fields,
					      json_pack("{s:s%, s:s%, s:I}", "name", l.name,
							l.full_len, "type", l.type, l.type_len,
							"size", (json_int_t)l.field.size));
	}
}

/*
 * Add the arguments that conditions read in the kernel. Only for a tracepoint that is named in
 * full: each call searches the types of the kernel.
 */
static void add_arguments(const char *name, json_t *fields)
{
	struct btf_trace *t;
	char type[128];

	if (btf_trace__find(name, &t))
		return;
	for (uint32_t i = 0; i < btf_trace__n_args(t); i++)
		json_array_append_new(
			fields, json_pack("{s:s, s:s, s:s}", "name", btf_trace__arg_name(t, i),
					  "type", btf_trace__arg_type(t, i, type, sizeof(type)),
					  "meaning", "argument"));
	btf_trace__free(t);
}

static void set_tracepoint_fields(struct catalog *c, json_t *e, const char *system,
				  const char *name)
{
	json_t *fields = json_array();
	struct tracepoint *tp;
	struct err err;

	if (tracefs__tracepoint(c->tracefs, system, name, &err, &tp) == 0) {
		add_format_fields(tp, fields);
		if (c->glob && !strpbrk(c->glob, "*?["))
			add_arguments(name, fields);
		tracepoint__free(tp);
	}
	json_object_set_new(e, "fields", fields);
}

static int list_tracepoint(const char *system, const char *name, void *arg)
{
	struct catalog *c = arg;
	char full[512], meaning[300] = "";
	json_t *e;

	if (strcmp(system, "syscalls") == 0 && strncmp(name, "sys_enter_", 10) == 0)
		snprintf(meaning, sizeof(meaning), "the system call %s begins", name + 10);
	else if (strcmp(system, "syscalls") == 0 && strncmp(name, "sys_exit_", 9) == 0)
		snprintf(meaning, sizeof(meaning), "the system call %s ends", name + 9);
	snprintf(full, sizeof(full), "%s:%s", system, name);
	/* BPF cannot attach to the events of ftrace itself */
	e = catalog_add(c, full, strcmp(system, "ftrace") ? "both" : "-e", "tracepoint", meaning);
	if (e && c->fields)
		set_tracepoint_fields(c, e, system, name);
	return 0;
}

static bool wants_tracepoints(const struct catalog *c)
{
	return !c->glob || strpbrk(c->glob, ":*?[");
}

static void add_tracepoints(struct catalog *c)
{
	struct err err = { 0 };

	if (tracefs__open(&err, &c->tracefs) == 0) {
		tracefs__glob(c->tracefs, "*", "*", list_tracepoint, c);
		tracefs__free(c->tracefs);
	} else if (wants_tracepoints(c)) {
		json_array_append_new(c->left_out, json_sprintf("tracepoints: %s", err.msg));
	}
}

/* ---- probes of a program ---- */

static void add_probe(const char *name, enum frbpf_source source, const char *meaning, void *arg)
{
	struct catalog *c = arg;
	json_t *e = json_pack("{s:s, s:s, s:s, s:s}", "name", name, "in", "when", "kind",
			      source == FRBPF_SOURCE_USDT ? "static probe" : "function", "meaning",
			      meaning);

	if (e && c->fields)
		json_object_set_new(e, "fields", make_condition_fields(source));
	json_array_append_new(c->events, e);
}

static void leave_out_tracepoint(const char *why, void *arg)
{
	struct catalog *c = arg;

	json_array_append_new(c->left_out, json_string(why));
}

/*
 * Make {"events": [{"name", "in": "when", "-e" or "both", "kind", "meaning", "available"?,
 * "fields"?}], "left_out": [TEXT]}. It has the events whose name matches @glob (NULL: all), in the
 * order sources, hardware, software, caches, PMUs, tracepoints. "available" is missing if only
 * opening the event would tell. @fields: add the fields of each event, {"name", "type",
 * "meaning"?}. The caller owns the result.
 */
static json_t *event_catalog__make(const char *glob, bool fields)
{
	struct catalog c = {
		.glob = glob,
		.fields = fields,
		.events = json_array(),
		.left_out = json_array(),
	};

	if (probe_report__list(glob, add_probe, leave_out_tracepoint, &c))
		return json_pack("{s:o, s:o}", "events", c.events, "left_out", c.left_out);
	add_sources(&c);
	add_event_names(&c, PERF_TYPE_HARDWARE, "hardware");
	add_event_names(&c, PERF_TYPE_SOFTWARE, "software");
	event_names__each_cache(add_cache, &c);
	if (pmu__each_event(add_pmu_event, &c))
		json_array_append_new(c.left_out, json_string("events of PMUs: no sysfs here"));
	add_tracepoints(&c);
	return json_pack("{s:o, s:o}", "events", c.events, "left_out", c.left_out);
}

static void print_event(const json_t *e)
{
	const json_t *f;
	size_t i;

	printf("%-36s %-4s  %s", str(e, "name"), str(e, "in"), str(e, "kind"));
	if (json_is_false(json_object_get(e, "available")))
		printf(", not on this machine");
	printf("%s%s\n", str(e, "meaning")[0] ? ": " : "", str(e, "meaning"));
	json_array_foreach (json_object_get(e, "fields"), i, f)
		printf("    %-28s %s%s%s\n", str(f, "name"), str(f, "type"),
		       str(f, "meaning")[0] ? ": " : "", str(f, "meaning"));
}

static int print_text(const json_t *catalog, const char *glob)
{
	const json_t *events = json_object_get(catalog, "events"), *v;
	const json_t *left_out = json_object_get(catalog, "left_out");
	size_t i;

	json_array_foreach (events, i, v)
		print_event(v);
	json_array_foreach (left_out, i, v)
		log_info("not listed: %s", json_string_value(v) ?: "");
	if (json_array_size(events) || !glob)
		return EXIT_DONE;
	log_error("no event or source matches '%s'%s", glob,
		  strpbrk(glob, "*?[") ? "" : ": in a glob, * matches anything");
	return EXIT_FAILED;
}

/* Format an option: "-F, --freq N|max". */
static void option_text(const struct perf_option *o, char *buf, size_t size)
{
	const char *before = o->kind != ARGUMENT_OPTIONAL ? "" : o->name ? "[=" : "[";
	char letter[8] = "", name[48] = "", argument[48] = "";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c%s", o->letter, o->name ? ", " : "");
	if (o->name)
		snprintf(name, sizeof(name), "%s--%s", o->letter ? "" : "    ", o->name);
	if (o->argument)
		snprintf(argument, sizeof(argument), "%s%s%s%s", *before ? "" : " ", before,
			 o->argument, *before ? "]" : "");
	snprintf(buf, size, "%s%s%s", letter, name, argument);
}

static json_t *make_option(const struct perf_option *o)
{
	char letter[2] = { o->letter, '\0' };

	return json_pack("{s:s?, s:s?, s:s?, s:s, s:s}", "name", o->name, "letter",
			 o->letter ? letter : NULL, "argument", o->argument, "verdict",
			 perf_option__verdict(o), "meaning", o->why);
}

/* Print every option of perf record that a `run =` line accepts or rejects. */
static int print_options(bool json)
{
	json_t *list = json ? json_array() : NULL;
	char text[96];

	for (size_t i = 0; i < N_PERF_OPTIONS; i++) {
		const struct perf_option *o = &perf_options[i];

		option_text(o, text, sizeof(text));
		if (json)
			json_array_append_new(list, make_option(o));
		else
			printf("%-34s %-8s %s\n", text, perf_option__verdict(o), o->why);
	}
	if (json && json_dumpf(list, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	json_decref(list);
	return EXIT_DONE;
}

static int run_events(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "options", no_argument, NULL, 'o' },
						   { "verbose", no_argument, NULL, 'v' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	bool json = false, verbose = false, options = false;
	struct examiner *examiner = NULL;
	const char *glob = NULL;
	int opt, status = EXIT_DONE;
	json_t *catalog;
	enum cmd_parse p;

	while ((p = cmd_next_option(&cmd_events, argc, argv, ":vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION) {
		if (opt == 'j')
			json = true;
		else if (opt == 'o')
			options = true;
		else
			verbose = true;
	}
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind > 1)
		return cmd_usage_error(&cmd_events, "too many arguments: quote the glob");
	if (options && optind < argc)
		return cmd_usage_error(&cmd_events, "--options lists all of them: no GLOB");
	if (options)
		return print_options(json);
	if (optind < argc)
		glob = argv[optind];
	if (!examiner__new(&examiner)) /* reads programs in a separate process */
		probe_reader__use(examiner);
	catalog = event_catalog__make(glob, verbose);
	probe_reader__use(NULL);
	examiner__free(examiner);
	if (!json)
		status = print_text(catalog, glob);
	else if (json_dumpf(catalog, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	json_decref(catalog);
	return status;
}

const struct command cmd_events = {
	.name = "events",
	.run = run_events,
	.usage = "[-v] [--json] [--options | GLOB]",
	.summary = "what can be used in `when` and in -e here",
	.help = "The second column says where a name can be used: in `when` of a rule, in -e of\n"
		"a session, or both. GLOB is matched against the whole name: 'sched:*',\n"
		"'*cache*'. Without root, tracepoints may be missing; then a message says so.\n"
		"'uprobe:PATH:GLOB' lists functions of a program, 'usdt:PATH:GLOB' its static\n"
		"probes.\n\n"
		"  -v, --verbose       also fields with their types; for a source, the fields\n"
		"                      of `if`, which also exist as current.FIELD\n"
		"      --options       instead, the options of perf record on a `run =` line:\n"
		"                      taken, no-op or refused, with the effect or the reason\n"
		"      --json          everything as JSON\n",
};
