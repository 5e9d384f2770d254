/* SPDX-License-Identifier: GPL-2.0-only */
/* Types in the BTF of the kernel. */
#ifndef FRBPF_DETECT_BTF_TYPE_H
#define FRBPF_DETECT_BTF_TYPE_H

#include <bpf/btf.h>
#include <stddef.h>
#include <stdint.h>

/* The type @id without modifiers and typedefs. */
const struct btf_type *btf_type__plain(const struct btf *btf, uint32_t id);
/* The name of the type; "": it has none. */
const char *btf_type__name(const struct btf *btf, const struct btf_type *t);
/* "struct ", "union ", "enum ", or "". */
const char *btf_type__kind(const struct btf_type *t);
/* Write the type to @buf, in C syntax: "struct task_struct *". Returns @buf. */
const char *btf_type__text(const struct btf *btf, uint32_t id, char *buf, size_t size);

#endif
