// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/engine/source.h"
#include "detect/tracepoint/btf_path.h"
#include "detect/tracepoint/tracepoint_info.h"
#include "tracepoint.skel.h"

static int tracepoint_load(struct source *s, const struct source_env *env)
{
	struct tracepoint_bpf *skel = tracepoint_bpf__open();
	struct btf_trace *trace = NULL;
	struct tracepoint_subject subject;
	int err;

	if (!skel)
		return -errno;
	s->skel = skel;
	err = btf_trace__find(tracepoint_info__name(s->target), &trace);
	if (err)
		return err;
	subject = tracepoint_info__subject(s->target, trace);
	skel->rodata->daemon_pidns = env->pidns;
	skel->rodata->n_args = btf_trace__n_args(trace);
	skel->rodata->subject_arg = subject.task;
	skel->rodata->subject_pid_arg = subject.pid;
	skel->rodata->subject_nobody = subject.nobody;
	skel->rodata->is_disturbed = tracepoint_info__disturbed(s->target);
	tracepoint_info__own(trace, &skel->bss->own_at);
	btf_trace__free(trace);
	err = source__prepare(s, skel->obj, env);
	err = err ?: tracepoint_bpf__load(skel);
	if (!err)
		source__bind(s, skel);
	return err;
}

static int tracepoint_attach(struct source *s)
{
	struct tracepoint_bpf *skel = s->skel;

	skel->links.tp_hit = bpf_program__attach_raw_tracepoint(skel->progs.tp_hit,
								tracepoint_info__name(s->target));
	return skel->links.tp_hit ? 0 : -errno;
}

static bool table_asks(const struct rule_table *table)
{
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (table->args[i])
			return true;
	}
	return false;
}

/*
 * Find how to extract the values that the rules of @table need, by slot. 0, or negative errno with
 * a message in @err.
 */
static int make_extracts(const char *target, const struct rule_table *table,
			 struct frbpf_extracts *ret, struct err *err)
{
	struct frbpf_extracts xs = { 0 };
	struct btf_trace *trace;
	struct btf_value v;
	const char *path;
	struct span bad;
	int code = 0;

	if (!table_asks(table)) {
		*ret = xs;
		return 0;
	}
	code = btf_trace__find(tracepoint_info__name(target), &trace);
	if (code)
		return err_set(err, code,
			       "tracepoint:%s: this kernel does not describe its arguments",
			       target);
	for (uint32_t i = 0; i < FRBPF_MAX_ARGS && !code; i++) {
		if (!table->args[i])
			continue;
		path = tracepoint_info__path(target, table->args[i]->name);
		code = btf_trace__value(trace, path,
					path != table->args[i]->name ? BTF_PATH_OWN : BTF_PATH_RULE,
					&v, &bad, err);
		if (code)
			break;
		xs.slot[i] = v.where;
		xs.n = i + 1;
		btf_value__free(&v);
	}
	btf_trace__free(trace);
	if (code)
		return err_prefix(err, code, "tracepoint:%s: ", target);
	*ret = xs;
	return 0;
}

static int tracepoint_write(struct source *s, uint32_t bank, const struct rule_table *table,
			    struct err *err)
{
	struct tracepoint_bpf *skel = s->skel;

	return make_extracts(s->target, table, &skel->bss->extracts[bank], err);
}

static void tracepoint_free(struct source *s)
{
	tracepoint_bpf__destroy(s->skel);
}

const struct source_ops source_tracepoint = {
	.source = FRBPF_SOURCE_TRACEPOINT,
	.name = "tracepoint",
	.elf = tracepoint_bpf__elf_bytes,
	.load = tracepoint_load,
	.attach = tracepoint_attach,
	.write = tracepoint_write,
	.free = tracepoint_free,
};
