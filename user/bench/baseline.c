// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baseline.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/new_file.h"
#include "common/printable.h"

#define FORMAT	       "frbpf-baseline"
#define OPTION	       "--save-baseline"
#define TEXT_MAX       (1 << 20)
#define NUMBER_MAX     ((json_int_t)1 << 62) /* 146 years of ns */
#define HISTOGRAMS_MAX 100000		     /* runs times rules: 60 MB */

/* The numbers of a run, with their names in the file */
static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
#define FIELD(name, member)                                                                        \
	{                                                                                          \
		name, offsetof(struct run_sample, member)                                          \
	}
	FIELD("wall_ns", wall),
	FIELD("cpu_ns", cpu),
	FIELD("switches", switches),
	FIELD("preempted", preempted),
	FIELD("capacity_ns", machine.capacity),
	FIELD("others_ns", machine.others),
	FIELD("steal_ns", machine.steal),
	FIELD("throttled_ns", machine.throttled),
	FIELD("hot", machine.hot),
	FIELD("pressure_cpu_ns", machine.pressure_cpu),
	FIELD("pressure_io_ns", machine.pressure_io),
	FIELD("pressure_memory_ns", machine.pressure_memory),
	FIELD("probe_calculation_ns", probe.calculation),
	FIELD("probe_memory_ns", probe.memory),
	FIELD("probe_pages_ns", probe.pages),
#undef FIELD
};

static uint64_t *field_of(const struct run_sample *run, const struct field *f)
{
	return (uint64_t *)((char *)run + f->offset);
}

/* ---- to JSON ---- */

/* Make a JSON string. Names of files and hosts may not be UTF-8, which JSON requires. */
static json_t *make_json_text(const char *s)
{
	struct buf b = { 0 };
	json_t *j;

	if (!s)
		return json_null();
	j = escape__plain(&b, s) ? NULL : json_string(b.data ? b.data : "");
	buf__free(&b);
	return j;
}

static json_t *make_json_number(uint64_t n)
{
	return json_integer(n < (uint64_t)NUMBER_MAX ? (json_int_t)n : NUMBER_MAX);
}

static json_t *make_histogram(const struct histogram *h)
{
	json_t *buckets = json_array();

	for (int i = 0; i < FRBPF_MAX_VALUES; i++) {
		if (h->buckets[i])
			json_array_append_new(
				buckets, json_pack("[i, o]", i, make_json_number(h->buckets[i])));
	}
	return json_pack("{s:o, s:o, s:o}", "sum_ns", make_json_number(h->sum), "max_ns",
			 make_json_number(h->max), "log2", buckets);
}

static json_t *make_run(const struct series *s, const struct run_sample *run)
{
	json_t *j = json_object(), *rules = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_object_set_new(j, fields[i].name,
				    make_json_number(*field_of(run, &fields[i])));
	for (size_t i = 0; i < s->n_rules; i++)
		json_array_append_new(rules, make_histogram(&run->rules[i]));
	json_object_set_new(j, "rules", rules);
	return j;
}

static json_t *json_baseline_rules(const struct series *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_rules; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "name",
						      make_json_text(s->rules[i].name), "when",
						      make_json_text(s->rules[i].when), "if",
						      make_json_text(s->rules[i].condition)));
	return list;
}

static json_t *json_baseline_sessions(const struct series *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_sessions; i++)
		json_array_append_new(list, json_pack("{s:o, s:o}", "name",
						      make_json_text(s->sessions[i].name), "run",
						      make_json_text(s->sessions[i].run)));
	return list;
}

int baseline__format(const struct series *s, struct buf *b)
{
	_cleanup_free_ char *text = NULL;
	json_t *runs = json_array(), *j;

	for (size_t i = 0; i < s->n_runs; i++)
		json_array_append_new(runs, make_run(s, &s->runs[i]));
	j = json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:b, s:o, s:o, s:o}",
		      "format", FORMAT, "version", BASELINE_VERSION, "frbpf",
		      make_json_text(s->version), "created_ns", make_json_number(s->created),
		      "host", make_json_text(s->host), "kernel", make_json_text(s->kernel), "arch",
		      make_json_text(s->arch), "cpu", make_json_text(s->cpu), "cpus",
		      (json_int_t)s->cpus, "command", make_json_text(s->command), "matches_only",
		      s->matches_only, "rules", json_baseline_rules(s), "sessions",
		      json_baseline_sessions(s), "runs", runs);
	if (j)
		text = json_dumps(j, JSON_INDENT(1));
	json_decref(j);
	return text ? buf__printf(b, "%s\n", text) : -ENOMEM;
}

/* ---- from JSON ---- */

/*
 * A place in the file. @object: what was found there; NULL: nothing. Errors call a member of it
 * "where.name".
 */
struct place {
	const json_t *object;
	char where[64];
	struct err *err;
};

static int wrong_json_value(const struct place *p, const char *name, const char *wanted)
{
	return err_set(p->err, -EINVAL, "damaged: %s%s%s: %s is expected", p->where,
		       *p->where ? "." : "", name, wanted);
}

static int get_json_number(const struct place *p, const char *name, uint64_t most, uint64_t *ret)
{
	const json_t *j = json_object_get(p->object, name);
	char wanted[64];

	if (json_is_integer(j) && json_integer_value(j) >= 0 &&
	    (uint64_t)json_integer_value(j) <= most) {
		*ret = json_integer_value(j);
		return 0;
	}
	snprintf(wanted, sizeof(wanted), "a number from 0 to %llu", (unsigned long long)most);
	return wrong_json_value(p, name, wanted);
}

/* Get a text, escaped so that reports may show it. @may_be_null: null is allowed. */
static int get_json_text(const struct place *p, const char *name, bool may_be_null, char **ret)
{
	const json_t *j = json_object_get(p->object, name);
	const char *s = json_string_value(j);
	struct buf b = { 0 };

	if (may_be_null && json_is_null(j))
		return 0;
	if (!s || strlen(s) > TEXT_MAX || strlen(s) != json_string_length(j))
		return wrong_json_value(p, name, "a text");
	if (buf__add_str(&b, "") || escape__plain(&b, s)) {
		buf__free(&b);
		return err_set(p->err, -ENOMEM, "out of memory");
	}
	*ret = b.data;
	return 0;
}

static int get_json_list(const struct place *p, const char *name, size_t most, const json_t **ret)
{
	const json_t *j = json_object_get(p->object, name);
	char wanted[64];

	if (json_is_array(j) && json_array_size(j) <= most) {
		*ret = j;
		return 0;
	}
	snprintf(wanted, sizeof(wanted), "a list of at most %zu", most);
	return wrong_json_value(p, name, wanted);
}

static struct place json_list_place(const struct place *p, const char *list, size_t i,
				    const json_t *object)
{
	struct place at = { .object = object, .err = p->err };

	snprintf(at.where, sizeof(at.where), "%.40s%s%s[%zu]", p->where, *p->where ? "." : "", list,
		 i);
	return at;
}

static int get_bucket(const struct place *p, const json_t *pair, struct histogram *h)
{
	const json_t *at = json_array_get(pair, 0), *n = json_array_get(pair, 1);
	json_int_t i = json_is_integer(at) ? json_integer_value(at) : -1;

	if (json_array_size(pair) != 2 || i < 0 || i >= FRBPF_MAX_VALUES || h->buckets[i] ||
	    !json_is_integer(n) || json_integer_value(n) < 1 ||
	    json_integer_value(n) > NUMBER_MAX / FRBPF_MAX_VALUES)
		return wrong_json_value(p, "log2",
					"pairs of an exponent of two, each once, and a count");
	h->buckets[i] = json_integer_value(n);
	h->n += h->buckets[i];
	return 0;
}

static int get_histogram(const struct place *p, struct histogram *h)
{
	const json_t *list, *pair;
	int err = get_json_number(p, "sum_ns", NUMBER_MAX, &h->sum);
	size_t i;

	err = err ?: get_json_number(p, "max_ns", NUMBER_MAX, &h->max);
	err = err ?: get_json_list(p, "log2", FRBPF_MAX_VALUES, &list);
	if (err)
		return err;
	json_array_foreach (list, i, pair) {
		err = get_bucket(p, pair, h);
		if (err)
			return err;
	}
	return 0;
}

static int get_run(const struct place *p, struct series *s)
{
	struct run_sample *run = series__add(s);
	const json_t *list, *j;
	int err = 0;
	size_t i;

	if (!run)
		return err_set(p->err, -ENOMEM, "out of memory");
	for (i = 0; i < ARRAY_SIZE(fields) && !err; i++)
		err = get_json_number(p, fields[i].name, NUMBER_MAX, field_of(run, &fields[i]));
	if (!err && (!run->wall || !run->machine.capacity))
		err = wrong_json_value(p, run->wall ? "capacity_ns" : "wall_ns",
				       "a number above 0");
	err = err ?: get_json_list(p, "rules", s->n_rules, &list);
	if (!err && json_array_size(list) != s->n_rules)
		err = wrong_json_value(p, "rules", "one for each rule");
	if (err)
		return err;
	json_array_foreach (list, i, j) {
		struct place at = json_list_place(p, "rules", i, j);

		err = get_histogram(&at, &run->rules[i]);
		if (err)
			return err;
	}
	return 0;
}

static int get_rules(const struct place *p, struct series *s)
{
	const json_t *list, *j;
	int err = get_json_list(p, "rules", FRBPF_MAX_SLOTS, &list);
	size_t i;

	if (err)
		return err;
	s->rules = calloc(json_array_size(list) + 1, sizeof(*s->rules));
	if (!s->rules)
		return err_set(p->err, -ENOMEM, "out of memory");
	json_array_foreach (list, i, j) {
		struct place at = json_list_place(p, "rules", i, j);
		struct series_rule *r = &s->rules[s->n_rules++];

		err = get_json_text(&at, "name", false, &r->name);
		err = err ?: get_json_text(&at, "when", false, &r->when);
		err = err ?: get_json_text(&at, "if", true, &r->condition);
		if (err)
			return err;
	}
	return 0;
}

static int get_sessions(const struct place *p, struct series *s)
{
	const json_t *list, *j;
	int err = get_json_list(p, "sessions", FRBPF_MAX_SLOTS, &list);
	size_t i;

	if (err)
		return err;
	s->sessions = calloc(json_array_size(list) + 1, sizeof(*s->sessions));
	if (!s->sessions)
		return err_set(p->err, -ENOMEM, "out of memory");
	json_array_foreach (list, i, j) {
		struct place at = json_list_place(p, "sessions", i, j);
		struct series_session *r = &s->sessions[s->n_sessions++];

		err = get_json_text(&at, "name", false, &r->name);
		err = err ?: get_json_text(&at, "run", false, &r->run);
		if (err)
			return err;
	}
	return 0;
}

static int get_runs(const struct place *p, struct series *s)
{
	const json_t *list, *j;
	int err = get_json_list(p, "runs", SERIES_RUNS_MAX, &list);
	size_t i;

	if (err)
		return err;
	if (!json_array_size(list))
		return wrong_json_value(p, "runs", "at least one");
	if (json_array_size(list) * s->n_rules > HISTOGRAMS_MAX)
		return wrong_json_value(p, "runs", "fewer of them with so many rules");
	json_array_foreach (list, i, j) {
		struct place at = json_list_place(p, "runs", i, j);

		err = get_run(&at, s);
		if (err)
			return err;
	}
	return 0;
}

/* Is it a baseline of frbpf, and of this version? */
static int check_baseline_format(const struct place *p)
{
	const char *format = json_string_value(json_object_get(p->object, "format"));
	const json_t *version = json_object_get(p->object, "version");

	if (!format || strcmp(format, FORMAT) != 0)
		return err_set(p->err, -EINVAL, "not a baseline of frbpf run");
	if (!json_is_integer(version) || json_integer_value(version) != BASELINE_VERSION)
		return err_set(p->err, -EINVAL,
			       "of another version: %lld, and this frbpf reads %d: record it again "
			       "with --save-baseline",
			       json_is_integer(version) ? (long long)json_integer_value(version)
							: -1LL,
			       BASELINE_VERSION);
	return 0;
}

static int get_series(const struct place *p, struct series *s)
{
	const json_t *matches_only = json_object_get(p->object, "matches_only");
	uint64_t cpus;
	int err = check_baseline_format(p);

	err = err ?: get_json_text(p, "frbpf", false, &s->version);
	err = err ?: get_json_text(p, "host", false, &s->host);
	err = err ?: get_json_text(p, "kernel", false, &s->kernel);
	err = err ?: get_json_text(p, "arch", false, &s->arch);
	err = err ?: get_json_text(p, "cpu", false, &s->cpu);
	err = err ?: get_json_text(p, "command", false, &s->command);
	err = err ?: get_json_number(p, "created_ns", NUMBER_MAX, &s->created);
	err = err ?: get_json_number(p, "cpus", 1 << 20, &cpus);
	if (err)
		return err;
	s->cpus = cpus;
	if (!json_is_boolean(matches_only))
		return wrong_json_value(p, "matches_only", "true or false");
	s->matches_only = json_is_true(matches_only);
	err = get_rules(p, s);
	err = err ?: get_sessions(p, s);
	return err ?: get_runs(p, s);
}

int baseline__parse(const char *text, size_t len, struct err *err, struct series *ret)
{
	struct place p = { .err = err };
	struct series s = { 0 };
	json_error_t error;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	int code;

	if (!j)
		return err_set(err, -EINVAL, "damaged: line %d, column %d: %s", error.line,
			       error.column, error.text);
	p.object = j;
	code = json_is_object(j) ? get_series(&p, &s)
				 : err_set(err, -EINVAL, "not a baseline of frbpf run");
	json_decref(j);
	if (code)
		series__free(&s);
	else
		*ret = s;
	return code;
}

/* ---- files ---- */

int baseline__read(const char *path, struct err *err, struct series *ret)
{
	struct buf b = { 0 };
	int code = buf__read_file(&b, path, BASELINE_FILE_MAX);

	if (code)
		err_set(err, code, "--baseline %s: cannot read it: %s", path, strerror(-code));
	else if ((code = baseline__parse(b.data ? b.data : "", b.len, err, ret)))
		err_prefix(err, code, "--baseline %s: ", path);
	buf__free(&b);
	return code;
}

int baseline__check_writable(const char *path, bool replace, struct err *err)
{
	return new_file__check(OPTION, path, replace, err);
}

/* Mode 0644: a baseline is shared, and says no more than the log of the job. */
int baseline__write(const char *path, const struct series *s, bool replace, struct err *err)
{
	struct buf b = { 0 };
	struct new_file f;
	int code = baseline__format(s, &b);

	if (code)
		err_set(err, code, "out of memory");
	code = code ?: new_file__create(OPTION, path, 0644, replace, err, &f);
	if (!code) {
		code = write_all(f.fd, b.data, b.len);
		if (code)
			new_file__drop(&f);
		code = code ?: new_file__publish(&f);
		if (code)
			err_set(err, code, OPTION " %s: %s", path, strerror(-code));
	}
	buf__free(&b);
	return code;
}
