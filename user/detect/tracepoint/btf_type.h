/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of the kernel's BTF. */
#ifndef FRBPF_DETECT_BTF_TYPE_H
#define FRBPF_DETECT_BTF_TYPE_H

#include <bpf/btf.h>
#include <stddef.h>
#include <stdint.h>

/* The type behind modifiers and typedefs. */
const struct btf_type *btf_type__plain(const struct btf *btf, uint32_t id);
/* "": it has none. */
const char *btf_type__name(const struct btf *btf, const struct btf_type *t);
/* "struct ", "union ", "enum ", or "". */
const char *btf_type__kind(const struct btf_type *t);
/* As C writes it: "struct task_struct *"; in @buf. */
const char *btf_type__text(const struct btf *btf, uint32_t id, char *buf, size_t size);

#endif
