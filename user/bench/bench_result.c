// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "bench/bench_report.h"

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static int bench_rule__init(struct bench_rule *rule, const json_t *j)
{
	const char *condition = text_of(j, "if");

	rule->name = strdup(text_of(j, "name") ?: "");
	rule->when = strdup(text_of(j, "when") ?: "");
	rule->condition = condition ? strdup(condition) : NULL;
	rule->threshold = json_integer_value(json_object_get(j, "threshold_ns"));
	return rule->name && rule->when && (!condition || rule->condition) ? 0 : -ENOMEM;
}

static int bench_result__init_rules(struct bench_result *r, const struct run_summary *s)
{
	const json_t *j;
	size_t i;

	r->rules = calloc(json_array_size(s->rules) ?: 1, sizeof(*r->rules));
	if (!r->rules)
		return -ENOMEM;
	json_array_foreach (s->rules, i, j) {
		if (bench_rule__init(&r->rules[r->n_rules++], j))
			return -ENOMEM;
	}
	return 0;
}

static void bench_rule__add(struct bench_rule *rule, const json_t *j)
{
	struct histogram h, *to = &rule->values;

	rule->has_values = run_summary__histogram(j, &h);
	rule->matched += json_integer_value(json_object_get(j, "matched"));
	rule->fired += json_integer_value(json_object_get(j, "fired"));
	rule->failed |= json_is_true(json_object_get(j, "failed"));
	for (int i = 0; i < FRBPF_MAX_VALUES; i++)
		to->buckets[i] += h.buckets[i];
	to->n += h.n;
	to->sum += h.sum;
	to->max = h.max > to->max ? h.max : to->max;
}

static int bench_result__add_incident(struct bench_result *r, const json_t *incident, size_t run,
				      bool capture)
{
	json_t *copy = json_deep_copy(incident);

	if (json_object_set_new(copy, "run", json_integer((json_int_t)run)) ||
	    json_object_set_new(copy, "capture", json_boolean(capture))) {
		json_decref(copy);
		return -ENOMEM;
	}
	return json_array_append_new(r->incidents, copy) ? -ENOMEM : 0;
}

int bench_result__add(struct bench_result *r, const struct run_summary *s, size_t run, bool capture)
{
	const json_t *j;
	int err = 0;
	size_t i;

	if (!r->incidents)
		r->incidents = json_array();
	if (!r->incidents || (!r->rules && bench_result__init_rules(r, s)))
		return -ENOMEM;
	json_array_foreach (s->incidents, i, j)
		err = err ?: bench_result__add_incident(r, j, run, capture);
	if (err || capture)
		return err;
	r->n_runs++;
	json_array_foreach (s->rules, i, j) {
		if (i < r->n_rules)
			bench_rule__add(&r->rules[i], j);
	}
	return 0;
}

bool bench_result__fired(const struct bench_result *r)
{
	for (size_t i = 0; i < r->n_rules; i++) {
		if (r->rules[i].failed)
			return true;
	}
	return false;
}

void bench_result__free(struct bench_result *r)
{
	for (size_t i = 0; i < r->n_rules; i++) {
		free(r->rules[i].name);
		free(r->rules[i].when);
		free(r->rules[i].condition);
	}
	free(r->rules);
	json_decref(r->incidents);
	*r = (struct bench_result){ 0 };
}
