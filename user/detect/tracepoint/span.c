// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>

#include "common/cleanup.h"
#include "detect/engine/look.h"
#include "detect/engine/source.h"
#include "detect/tracepoint/span_ends.h"
#include "detect/tracepoint/tracepoint_info.h"
#include "rules/units.h"
#include "span.skel.h"

/* A span is taken to have ended unseen when it is older than both of these. */
#define AGE_LEAST      (60 * NSEC_PER_SEC)
#define AGE_THRESHOLDS 4 /* times the highest threshold */

static bool is_task_number(const struct frbpf_extract *x)
{
	return x->kind == FRBPF_EXTRACT_TID || x->kind == FRBPF_EXTRACT_PID;
}

static int set_span_keys(struct span_bpf *skel, const struct span_ends *e, struct err *err)
{
	struct frbpf_extract x;
	int code = 0;

	for (uint32_t i = 0; i < e->target.n_keys && !code; i++) {
		code = span_ends__key(e, i, false, &x, err);
		if (!code)
			skel->bss->start_keys[i] = x;
		code = code ?: span_ends__key(e, i, true, &x, err);
		if (!code)
			skel->bss->end_keys[i] = x;
		skel->rodata->births[i] =
			!code && is_task_number(&x) && skel->bss->start_keys[i].kind == x.kind;
	}
	if (!code && bpf_map__set_key_size(skel->maps.flights, e->target.n_keys * sizeof(uint64_t)))
		code = -EINVAL;
	return code;
}

static int set_span_ends(struct source *s, struct span_bpf *skel)
{
	struct span_ends e;
	int err = span_ends__open(s->target, &e);

	err = err ?: set_span_keys(skel, &e, s->err);
	if (!err) {
		skel->rodata->n_args = btf_trace__n_args(e.start);
		skel->rodata->n_end_args = btf_trace__n_args(e.end);
		skel->rodata->n_keys = e.target.n_keys;
		skel->rodata->nested = e.target.nested;
		bpf_program__set_autoload(skel->progs.due_rest,
					  span_target__outlives_task(&e.target));
		skel->rodata->is_disturbed = tracepoint_info__disturbed(e.target.end);
		tracepoint_info__own(e.end, &skel->bss->own_at);
	}
	span_ends__free(&e);
	return err;
}

static int span_load(struct source *s, const struct source_env *env)
{
	struct span_bpf *skel = span_bpf__open();
	int err;

	if (!skel)
		return -errno;
	s->skel = skel;
	skel->rodata->daemon_pidns = env->pidns;
	err = set_span_ends(s, skel);
	err = err ?: source__prepare(s, skel->obj, env);
	err = err ?: span_bpf__load(skel);
	if (!err)
		source__bind(s, skel);
	return err;
}

/* Ends first: see source__attach(). */
static int span_attach(struct source *s)
{
	struct span_bpf *skel = s->skel;
	struct span_target t;
	int err = span_target__parse(s->target, &t);

	if (err)
		return err;
	skel->links.span_end = bpf_program__attach_raw_tracepoint(skel->progs.span_end,
								  tracepoint_info__name(t.end));
	if (!skel->links.span_end)
		return -errno;
	skel->links.span_start = bpf_program__attach_raw_tracepoint(skel->progs.span_start,
								    tracepoint_info__name(t.start));
	return skel->links.span_start ? 0 : -errno;
}

static int add_extract(const struct span_ends *e, const struct rule_arg *arg, uint32_t slot,
		       struct frbpf_extracts *starts, struct frbpf_extracts *ends, uint32_t *bits,
		       struct err *err)
{
	struct frbpf_extracts *xs;
	struct btf_value v;
	struct span bad;
	bool start;
	int code = span_ends__value(e, arg->name, &start, &v, &bad, err);

	if (code)
		return code;
	xs = start ? starts : ends;
	xs->slot[slot] = v.where;
	xs->n = slot + 1;
	if (start)
		*bits |= 1U << slot;
	btf_value__free(&v);
	return 0;
}

static void set_span_age(struct span_bpf *skel, const struct rule_table *table)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < table->bank.n_rules; i++)
		most = table->rules[i].threshold > most ? table->rules[i].threshold : most;
	most = most > INT64_MAX / AGE_THRESHOLDS ? INT64_MAX : most * AGE_THRESHOLDS;
	skel->data->max_age = most > AGE_LEAST ? most : AGE_LEAST;
}

static int span_write(struct source *s, uint32_t bank, const struct rule_table *table,
		      struct err *err)
{
	struct frbpf_extracts starts = { 0 }, ends = { 0 };
	struct span_bpf *skel = s->skel;
	struct span_ends e;
	uint32_t bits = 0;
	int code = span_ends__open(s->target, &e);

	for (uint32_t i = 0; i < FRBPF_MAX_ARGS && !code; i++) {
		if (table->args[i])
			code = add_extract(&e, table->args[i], i, &starts, &ends, &bits, err);
	}
	span_ends__free(&e);
	if (code)
		return err_prefix(err, code, "span:%s: ", s->target);
	skel->bss->start_extracts[bank] = starts;
	skel->bss->end_extracts[bank] = ends;
	skel->bss->start_slots[bank] = bits;
	if (table->bank.n_rules)
		set_span_age(skel, table);
	return 0;
}

static int span_look(struct source *s)
{
	struct span_bpf *skel = s->skel;
	const struct due_look due = { skel->progs.span_look, skel->progs.due_look,
				      skel->progs.due_rest, skel->maps.due_tasks,
				      &skel->bss->n_due };

	return due_look__make(&due);
}

static void span_free(struct source *s)
{
	span_bpf__destroy(s->skel);
}

const struct source_ops source_span = {
	.source = FRBPF_SOURCE_SPAN,
	.name = "span",
	.elf = span_bpf__elf_bytes,
	.load = span_load,
	.attach = span_attach,
	.look = span_look,
	.write = span_write,
	.free = span_free,
};
