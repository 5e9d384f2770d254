/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments of a tracepoint, from the BTF of the kernel. Needs no privilege. */
#ifndef FRBPF_DETECT_BTF_TRACE_H
#define FRBPF_DETECT_BTF_TRACE_H

#include <bpf/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

/* A tracepoint. Only btf_trace.c and btf_path.c look inside. */
struct btf_trace {
	struct btf *base;      /* vmlinux */
	struct btf *module;    /* or NULL */
	const struct btf *btf; /* the one of these that has the tracepoint */
	const struct btf_param
		*args; /* without the first one, which the tracepoint does not have */
	const struct btf_param *types; /* the same in the prototype that the verifier uses */
	uint32_t n_args;
	char no_names[FRBPF_TP_ARGS][16]; /* "arg0" ... */
};

/*
 * Find the tracepoint @name of the kernel or of a loaded module. 0; -ENOENT: BTF has none of that
 * name; -EOPNOTSUPP: this kernel has no BTF; or -ENOMEM.
 */
int btf_trace__find(const char *name, struct btf_trace **ret);
void btf_trace__free(struct btf_trace *t);

uint32_t btf_trace__n_args(const struct btf_trace *t);
/* The name of argument @i; "arg0", "arg1" ... if the BTF has no names. */
const char *btf_trace__arg_name(const struct btf_trace *t, uint32_t i);
/* Write the type of argument @i to @buf, in C syntax: "struct task_struct *". Returns @buf. */
const char *btf_trace__arg_type(const struct btf_trace *t, uint32_t i, char *buf, size_t size);
/* Get the index of the argument @name, or -ENOENT. */
int btf_trace__arg(const struct btf_trace *t, const char *name, size_t len);
/* Is argument @i a pointer to struct @type? */
bool btf_trace__arg_points_to(const struct btf_trace *t, uint32_t i, const char *type);

/*
 * List the names of all tracepoints in the BTF of the kernel, without modules, for nearest_word().
 * The array ends with NULL; the caller frees each name and the array. 0, -EOPNOTSUPP or -ENOMEM.
 */
int btf_trace__list(char ***ret);

/* ---- types in the BTF of the kernel ---- */

/* The type @id without modifiers and typedefs. */
const struct btf_type *btf_type__plain(const struct btf *btf, uint32_t id);
/* The name of the type; "": it has none. */
const char *btf_type__name(const struct btf *btf, const struct btf_type *t);
/* "struct ", "union ", "enum ", or "". */
const char *btf_type__kind(const struct btf_type *t);
/* Write the type to @buf, in C syntax: "struct task_struct *". Returns @buf. */
const char *btf_type__text(const struct btf *btf, uint32_t id, char *buf, size_t size);

#endif
