// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "detect/tracepoint/btf_path.h"
#include "detect/tracepoint/extracts.h"
#include "detect/tracepoint/tracepoint_info.h"

static bool asks(const struct rule_table *table)
{
	for (int i = 0; i < FRBPF_MAX_ARGS; i++) {
		if (table->args[i])
			return true;
	}
	return false;
}

int extracts__make(const char *target, const struct rule_table *table, struct frbpf_extracts *ret,
		   struct err *err)
{
	struct frbpf_extracts xs = { 0 };
	struct btf_trace *trace;
	struct btf_value v;
	const char *path;
	struct span bad;
	int r = 0;

	if (!asks(table)) {
		*ret = xs;
		return 0;
	}
	r = btf_trace__find(tracepoint_info__name(target), &trace);
	if (r)
		return err_set(err, r, "tracepoint:%s: this kernel does not tell its arguments",
			       target);
	for (uint32_t i = 0; i < FRBPF_MAX_ARGS && !r; i++) {
		if (!table->args[i])
			continue;
		path = tracepoint_info__path(target, table->args[i]->name);
		r = btf_trace__value(trace, path,
				     path != table->args[i]->name ? BTF_PATH_OWN : BTF_PATH_RULE,
				     &v, &bad, err);
		if (r)
			break;
		xs.slot[i] = v.where;
		xs.n = i + 1;
		btf_value__free(&v);
	}
	btf_trace__free(trace);
	if (r)
		return err_prefix(err, r, "tracepoint:%s: ", target);
	*ret = xs;
	return 0;
}
