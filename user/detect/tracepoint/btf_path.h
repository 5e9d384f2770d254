/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tracepoint's arguments as the kernel's BTF tells of them, and values found from these by path:
 * "prev.pid", "rq.__sector", "sk.__sk_common.skc_daddr", "bprm.filename". Needs no privilege.
 */
#ifndef FRBPF_DETECT_BTF_PATH_H
#define FRBPF_DETECT_BTF_PATH_H

#include "common/err.h"
#include "rules/expr.h"

struct btf_trace;

/* The tracepoint called so, of the kernel or of a module that is loaded. -ENOENT: BTF knows none,
 * -EOPNOTSUPP: this kernel has no BTF, -ENOMEM. */
int btf_trace__find(const char *name, struct btf_trace **ret);
void btf_trace__free(struct btf_trace *t);

uint32_t btf_trace__n_args(const struct btf_trace *t);
/* Where the kernel does not tell the names of its arguments, they are arg0, arg1 ... */
const char *btf_trace__arg_name(const struct btf_trace *t, uint32_t i);
/* As C writes it: "struct task_struct *"; in @buf. */
const char *btf_trace__arg_type(const struct btf_trace *t, uint32_t i, char *buf, size_t size);
/* Index of the argument called so, or -ENOENT. */
int btf_trace__arg(const struct btf_trace *t, const char *name, size_t len);
/* Is it a pointer to this struct? */
bool btf_trace__arg_points_to(const struct btf_trace *t, uint32_t i, const char *type);

/* What stands at the end of a path. */
struct btf_value {
	struct frbpf_extract where;
	enum expr_type type;
	__s64 min, max;		/* legal numbers */
	struct symbol *symbols; /* of an enum, or NULL; owned, its names are the btf_trace's */
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

/* The names of all tracepoints in the kernel's BTF (modules left out), for nearest_word(): NULL
 * terminated; free each and the array. 0, -EOPNOTSUPP or -ENOMEM. */
int btf_trace__list(char ***ret);

#endif
