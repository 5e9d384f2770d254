// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cmd/diff_report.h"
#include "common/cleanup.h"
#include "symbols/demangle.h"

json_t *diff_json__text(const char *s)
{
	_cleanup_free_ char *copy = NULL;
	json_t *j = json_string(s);

	if (j)
		return j;
	copy = strdup(s);
	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	return copy ? json_string(copy) : NULL;
}

/* If a window has no length, the numbers are 0, not NaN. */
static json_t *change_json(const struct change *c)
{
	return json_pack("{s:f, s:f, s:f}", "a", c->a, "b", c->b, "change", change__by(c));
}

static json_t *function_json(const struct functions *functions, uint32_t id)
{
	const struct function *f = functions__get(functions, id);
	_cleanup_free_ char *name = f->symbol ? demangle(f->symbol) : NULL;

	return json_pack("{s:o?, s:o?, s:o, s:b}", "symbol",
			 f->symbol ? diff_json__text(f->symbol) : NULL, "name",
			 f->symbol ? diff_json__text(name ?: f->symbol) : NULL, "module",
			 diff_json__text(f->module), "kernel", f->kernel);
}

static json_t *function_changes(const struct event_change *c, const struct profile *p,
				const struct diff_options *opts)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < c->n && (!opts->limit || i < opts->limit); i++) {
		const struct function_change *f = &c->v[i];
		json_t *row = function_json(p->tables->functions, f->function);

		json_object_set_new(row, "self_percent", change_json(&f->self));
		json_object_set_new(row, "self_noise", json_boolean(f->self_noise));
		json_object_set_new(row, "self_per_second", change_json(&f->self_rate));
		if (c->callchains) {
			json_object_set_new(row, "total_percent", change_json(&f->total));
			json_object_set_new(row, "total_noise", json_boolean(f->total_noise));
			json_object_set_new(row, "total_per_second", change_json(&f->total_rate));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *event_json(const char *name, const struct profile *a, const struct profile *b,
			  const struct diff_options *opts)
{
	struct event_change c;
	json_t *out;

	if (event_change__make(a, b, name, opts->order, &c))
		return NULL;
	out = json_pack("{s:o, s:{s:I, s:I}, s:o, s:s, s:b, s:i, s:o}", "event",
			diff_json__text(name), "samples", "a", (json_int_t)(c.a ? c.a->samples : 0),
			"b", (json_int_t)(c.b ? c.b->samples : 0), "samples_per_second",
			change_json(&c.rate), "rate_unit", c.clock ? "ms/s" : "samples/s",
			"callchains", c.callchains, "changed", (int)c.n, "functions",
			function_changes(&c, a, opts));
	event_change__free(&c);
	return out;
}

static json_t *frames_json(const struct profile *p, const struct stack *s)
{
	json_t *v = json_array();

	for (uint32_t i = 0; i < s->n; i++)
		json_array_append_new(v, function_json(p->tables->functions, s->functions[i]));
	return v;
}

static json_t *offcpu_json(const struct profile *a, const struct profile *b,
			   const struct diff_options *opts)
{
	struct offcpu_change c;
	json_t *rows = json_array(), *out;

	if (offcpu_change__make(a, b, &c)) {
		json_decref(rows);
		return NULL;
	}
	for (size_t i = 0; i < c.n && (!opts->limit || i < opts->limit); i++) {
		const struct stack_change *s = &c.v[i];
		const struct stack *stack = stacks__get(a->tables->stacks, s->stack);

		json_array_append_new(
			rows, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "state",
					offcpu__state_name(stack->state), "comm",
					diff_json__text(s->comm), "ms_per_second",
					change_json(&s->rate), "percent", change_json(&s->share),
					"times_per_second", change_json(&s->times), "open_percent",
					change_json(&s->open), "frames", frames_json(a, stack)));
	}
	out = json_pack("{s:o, s:o, s:{s:I, s:I}, s:i, s:o}", "ms_per_second", change_json(&c.rate),
			"idle_kernel_ms_per_second", change_json(&c.idle), "returns_not_recorded",
			"a", (json_int_t)a->offcpu.lost, "b", (json_int_t)b->offcpu.lost, "changed",
			(int)c.n, "stacks", rows);
	offcpu_change__free(&c);
	return out;
}

json_t *diff_json__session(const char *name, const struct profile *a, const struct profile *b,
			   const struct diff_options *opts)
{
	_cleanup_free_ const char **names = diff_event_names(a, b);
	json_t *events = json_array(), *out;

	for (size_t i = 0; names && names[i]; i++)
		json_array_append_new(events, event_json(names[i], a, b, opts));
	out = json_pack("{s:o, s:{s:f, s:f}, s:{s:i, s:i}, s:o}", "session", diff_json__text(name),
			"seconds", "a", (double)a->ns / 1e9, "b", (double)b->ns / 1e9, "files", "a",
			(int)a->n_files, "b", (int)b->n_files, "events", events);
	if (out && a->switches && b->switches)
		json_object_set_new(out, "offcpu", offcpu_json(a, b, opts));
	return names ? out : NULL;
}
