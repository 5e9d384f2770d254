/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside of btf_trace: for btf_trace.c and btf_path.c. */
#ifndef FRBPF_DETECT_BTF_TRACE_CORE_H
#define FRBPF_DETECT_BTF_TRACE_CORE_H

#include <bpf/btf.h>

#include "detect/tracepoint/btf_trace.h"
#include "frbpf.h"

struct btf_trace {
	struct btf *base;      /* vmlinux */
	struct btf *module;    /* or NULL */
	const struct btf *btf; /* that of these which has it */
	const struct btf_param
		*args; /* behind the first one, which is no argument of the tracepoint */
	const struct btf_param *types; /* the same, of the prototype that the kernel goes by */
	uint32_t n_args;
	char no_names[FRBPF_TP_ARGS][16]; /* "arg0" ... */
};

#endif
