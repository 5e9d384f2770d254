/* SPDX-License-Identifier: GPL-2.0-only */
/* Values that are found from a tracepoint's arguments by path: "prev.pid", "rq.__sector",
 * "sk.__sk_common.skc_daddr", "bprm.filename". */
#ifndef FRBPF_DETECT_BTF_PATH_H
#define FRBPF_DETECT_BTF_PATH_H

#include "common/err.h"
#include "detect/tracepoint/btf_trace.h"
#include "rules/expr.h"

/* What stands at the end of a path. */
struct btf_value {
	struct frbpf_extract where;
	enum expr_type type;
	__s64 min, max;		  /* legal numbers */
	struct constant *symbols; /* of an enum, or NULL; owned, its names are the btf_trace's */
};

enum btf_path_use {
	BTF_PATH_RULE,
	BTF_PATH_OWN, /* may be longer than those of rules */
	BTF_PATH_KEY, /* of a span: numbers as they are, and pointers */
};

/* Follow @path. On -EINVAL @err has what is wrong with the part @ret_bad of it: an unknown name (the
 * nearest one, or all there are), a pointer or struct that is no value, more than FRBPF_MAX_DEREFS
 * dereferences. */
int btf_trace__value(const struct btf_trace *t, const char *path, enum btf_path_use use,
		     struct btf_value *ret, struct span *ret_bad, struct err *err);
void btf_value__free(struct btf_value *v);

#endif
