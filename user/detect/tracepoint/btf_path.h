/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds values by a path from the arguments of a tracepoint: "prev.pid", "rq.__sector",
 * "sk.__sk_common.skc_daddr", "bprm.filename".
 */
#ifndef FRBPF_DETECT_BTF_PATH_H
#define FRBPF_DETECT_BTF_PATH_H

#include "common/err.h"
#include "detect/tracepoint/btf_trace.h"
#include "rules/expr.h"

/* The value at the end of a path. */
struct btf_value {
	struct frbpf_extract where;
	enum expr_type type;
	__s64 min, max;		  /* legal numbers */
	struct constant *symbols; /* of an enum, or NULL; owned, but the btf_trace has the names */
};

enum btf_path_use {
	BTF_PATH_RULE,
	BTF_PATH_OWN, /* of frbpf itself: may be longer than those of rules */
	BTF_PATH_KEY, /* key of a span: numbers without conversion, and pointers */
};

/*
 * Follow @path. On -EINVAL, @err says what is wrong with its part @ret_bad: an unknown name (@err
 * suggests the nearest, or lists all), a pointer or struct that is no value, more than
 * FRBPF_MAX_DEREFS dereferences.
 */
int btf_trace__value(const struct btf_trace *t, const char *path, enum btf_path_use use,
		     struct btf_value *ret, struct span *ret_bad, struct err *err);
void btf_value__free(struct btf_value *v);

#endif
