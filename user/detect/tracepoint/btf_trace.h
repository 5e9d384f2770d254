/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments of a tracepoint, from the BTF of the kernel. Needs no privilege. */
#ifndef FRBPF_DETECT_BTF_TRACE_H
#define FRBPF_DETECT_BTF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf_trace;

/*
 * Find the tracepoint @name of the kernel or of a loaded module. -ENOENT: BTF has none of that
 * name;
 * -EOPNOTSUPP: this kernel has no BTF; or -ENOMEM.
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

#endif
