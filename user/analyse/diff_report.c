// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/diff_report.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "common/printable.h"
#include "symbols/demangle.h"

static bool name_is_listed(const char **names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/*
 * Names of the events with samples in A or B, A's first, NULL-terminated. The caller frees the
 * array, not the names. NULL: out of memory.
 */
static const char **diff_event_names(const struct profile *a, const struct profile *b)
{
	const struct profile *const sides[] = { a, b };
	const char **names = calloc(a->n_events + b->n_events + 1, sizeof(*names));
	size_t n = 0, s, i;

	for (s = 0; names && s < ARRAY_SIZE(sides); s++)
		for (i = 0; i < sides[s]->n_events; i++)
			if (sides[s]->events[i].samples &&
			    !name_is_listed(names, n, sides[s]->events[i].name))
				names[n++] = sides[s]->events[i].name;
	return names;
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
			 f->symbol ? json_text(f->symbol, SIZE_MAX) : NULL, "name",
			 f->symbol ? json_text(name ?: f->symbol, SIZE_MAX) : NULL, "module",
			 json_text(f->module, SIZE_MAX), "kernel", f->kernel);
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
	out = json_pack(
		"{s:o, s:{s:I, s:I}, s:o, s:s, s:b, s:i, s:o}", "event", json_text(name, SIZE_MAX),
		"samples", "a", (json_int_t)(c.a ? c.a->samples : 0), "b",
		(json_int_t)(c.b ? c.b->samples : 0), "samples_per_second", change_json(&c.rate),
		"rate_unit", c.clock ? "ms/s" : "samples/s", "callchains", c.callchains, "changed",
		(int)c.n, "functions", function_changes(&c, a, opts));
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
					json_text(s->comm, SIZE_MAX), "ms_per_second",
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
	out = json_pack("{s:o, s:{s:f, s:f}, s:{s:i, s:i}, s:o}", "session",
			json_text(name, SIZE_MAX), "seconds", "a", (double)a->ns / 1e9, "b",
			(double)b->ns / 1e9, "files", "a", (int)a->n_files, "b", (int)b->n_files,
			"events", events);
	if (out && a->switches && b->switches)
		json_object_set_new(out, "offcpu", offcpu_json(a, b, opts));
	return names ? out : NULL;
}

#define STACK_FRAMES 12 /* per stack; the JSON has all of them */

/* Number of rows to print. */
static size_t limit_rows(size_t n, const struct diff_options *opts)
{
	return opts->limit && n > opts->limit ? opts->limit : n;
}

static void print_rows_left(size_t n, const struct diff_options *opts)
{
	if (limit_rows(n, opts) < n)
		printf("  ... and %zu smaller changes: --limit 0 shows all\n",
		       n - limit_rows(n, opts));
}

/* Print a name with unprintable bytes replaced: the file may come from anybody. */
static void print_name(const char *name)
{
	char *copy = demangle(name) ?: strdup(name);

	fputs(copy ? make_printable(copy) : "?", stdout);
	free(copy);
}

static void print_function_diff(const struct functions *functions, uint32_t id)
{
	const struct function *f = functions__get(functions, id);

	print_name(f->symbol ?: f->module);
	if (!f->symbol)
		printf(f->kernel ? " (kernel, no symbol)" : " (no symbol)");
	else
		printf("  "), print_name(f->module);
}

static const char *percent_text(double v, char buf[static 16])
{
	snprintf(buf, 16, "%.2f%%", v);
	return buf;
}

/* Print A, B and the difference, in percent; @noise: the difference may be chance. */
static void print_shares(const struct change *c, bool noise)
{
	char a[16], b[16];

	printf(" %8s %8s %+8.2f%c", percent_text(c->a, a), percent_text(c->b, b), change__by(c),
	       noise ? '~' : ' ');
}

static void print_window_diff(const char *side, const struct event_profile *e,
			      const struct profile *p)
{
	printf("%s %" PRIu64 " samples in %.3f s", side, e ? e->samples : 0, (double)p->ns / 1e9);
	if (p->n_files > 1)
		printf(" of %zu files", p->n_files);
}

/*
 * The columns of an event. A tracepoint with callchains has no self columns: its self is always the
 * tracepoint itself.
 */
struct columns {
	bool self, total;
	bool total_rate; /* rates are those of total, not of self */
};

static void print_head(const struct event_change *c, const struct columns *columns)
{
	const char *unit = c->clock ? "ms/s" : "1/s";

	printf(" ");
	if (columns->self)
		printf(" %8s %8s %8s ", "self A", "self B", "change");
	if (columns->total)
		printf(" %8s %8s %8s ", "total A", "total B", "change");
	printf(" %8s A %8s B  function\n", unit, unit);
}

static void print_function_rows(const struct event_change *c, const struct profile *a,
				const struct diff_options *opts)
{
	struct columns columns = { .self = !c->tracepoint || !c->callchains,
				   .total = c->callchains };
	size_t i;

	columns.total_rate = columns.total && (!columns.self || opts->order == CHANGE_BY_TOTAL);
	print_head(c, &columns);
	for (i = 0; i < limit_rows(c->n, opts); i++) {
		const struct function_change *f = &c->v[i];
		const struct change *rate = columns.total_rate ? &f->total_rate : &f->self_rate;

		printf(" ");
		if (columns.self)
			print_shares(&f->self, f->self_noise);
		if (columns.total)
			print_shares(&f->total, f->total_noise);
		printf(" %10.2f %10.2f  ", rate->a, rate->b);
		print_function_diff(a->tables->functions, f->function);
		putchar('\n');
	}
	print_rows_left(c->n, opts);
}

static int print_event_diff(const char *session, const char *name, const struct profile *a,
			    const struct profile *b, const struct diff_options *opts, bool *differs)
{
	struct event_change c;

	if (event_change__make(a, b, name, opts->order, &c))
		return -ENOMEM;
	if (session[0])
		printf("session "), print_name(session), printf(", ");
	print_name(name);
	printf(": ");
	print_window_diff("A", c.a, a);
	printf(", ");
	print_window_diff("B", c.b, b);
	/* a tracepoint without callchains has one row: only its rate can change */
	if (c.rate.a > 0 && c.rate.b > 0)
		printf(", %.2f/s to %.2f/s", c.rate.a, c.rate.b);
	putchar('\n');
	if (!c.a || !c.b)
		printf("  only in %s\n", c.a ? "A" : "B");
	else if (!c.n)
		printf("  no difference%s\n",
		       c.rate.a < c.rate.b || c.rate.a > c.rate.b ? " in where" : "");
	else
		print_function_rows(&c, a, opts);
	*differs |= !c.a || !c.b || c.n || c.rate.a < c.rate.b || c.rate.a > c.rate.b;
	event_change__free(&c);
	return 0;
}

/* Print "comm: inner <- outer", without the frames of the scheduler. */
static void print_stack_diff(const struct profile *p, const struct stack_change *c)
{
	const struct stack *s = stacks__get(p->tables->stacks, c->stack);
	uint32_t i = profile_tables__skip_scheduler(p->tables, s), k, end;

	if (i == s->n) /* there are no other frames */
		i = 0;
	printf("      ");
	print_name(c->comm[0] ? c->comm : "?");
	printf(": ");
	end = s->n - i > STACK_FRAMES ? i + STACK_FRAMES : s->n;
	for (k = i; k < end; k++) {
		const struct function *f = functions__get(p->tables->functions, s->functions[k]);

		printf("%s", k > i ? " <- " : "");
		print_name(f->symbol ?: f->module);
	}
	if (!s->n)
		printf("(no stack)");
	printf("%s\n", end < s->n ? " <- ..." : "");
}

/* Print the share of waits that had not ended: their length is only a lower bound. */
static void print_open_share(const struct stack_change *s)
{
	if (s->open.a > 0 || s->open.b > 0)
		printf(", not ended: %.0f%% of A, %.0f%% of B", s->open.a, s->open.b);
	putchar('\n');
}

static int print_offcpu(const char *session, const struct profile *a, const struct profile *b,
			const struct diff_options *opts, bool *differs)
{
	struct offcpu_change c;

	if (offcpu_change__make(a, b, &c))
		return -ENOMEM;
	if (session[0])
		printf("session "), print_name(session), printf(", ");
	printf("off CPU: A %.2f ms/s of all tasks, B %.2f ms/s", c.rate.a, c.rate.b);
	if (c.idle.a > 0 || c.idle.b > 0)
		printf("; left out: kernel threads that wait for work, A %.2f, B %.2f ms/s",
		       c.idle.a, c.idle.b);
	putchar('\n');
	if (!c.n) {
		printf("  no difference\n");
	} else {
		printf("  %10s %10s %10s  %8s %8s %8s   %8s %8s  state\n", "ms/s A", "ms/s B",
		       "change", "share A", "share B", "change", "times/s A", "times/s B");
	}
	for (size_t i = 0; i < limit_rows(c.n, opts); i++) {
		const struct stack_change *s = &c.v[i];
		const struct stack *stack = stacks__get(a->tables->stacks, s->stack);

		printf("  %10.2f %10.2f %+10.2f ", s->rate.a, s->rate.b, change__by(&s->rate));
		print_shares(&s->share, false);
		printf("  %9.2f %9.2f  %s", s->times.a, s->times.b,
		       offcpu__state_name(stack->state));
		print_open_share(s);
		print_stack_diff(a, s);
	}
	print_rows_left(c.n, opts);
	if (a->offcpu.lost + b->offcpu.lost)
		printf("  the end of a wait was not recorded %" PRIu64 " times in A, %" PRIu64
		       " times in B: these waits do not count\n",
		       a->offcpu.lost, b->offcpu.lost);
	*differs |= c.n;
	offcpu_change__free(&c);
	return 0;
}

int diff_text__session(const char *name, const struct profile *a, const struct profile *b,
		       const struct diff_options *opts, bool *ret_differs)
{
	_cleanup_free_ const char **names = diff_event_names(a, b);
	int err = names ? 0 : -ENOMEM;

	for (size_t i = 0; !err && names[i]; i++) {
		err = print_event_diff(name, names[i], a, b, opts, ret_differs);
		putchar('\n');
	}
	if (!err && a->switches && b->switches) {
		err = print_offcpu(name, a, b, opts, ret_differs);
		putchar('\n');
	}
	return err;
}
