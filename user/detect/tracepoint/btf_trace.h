/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracepoint's arguments as the kernel's BTF tells of them. Needs no privilege. */
#ifndef FRBPF_DETECT_BTF_TRACE_H
#define FRBPF_DETECT_BTF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The names of all tracepoints in the kernel's BTF (modules left out), for nearest_word(): NULL
 * terminated; free each and the array. 0, -EOPNOTSUPP or -ENOMEM. */
int btf_trace__list(char ***ret);

#endif
