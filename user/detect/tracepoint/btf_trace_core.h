/* SPDX-License-Identifier: GPL-2.0-only */
/* Internals of btf_trace, for btf_trace.c and btf_path.c. */
#ifndef FRBPF_DETECT_BTF_TRACE_CORE_H
#define FRBPF_DETECT_BTF_TRACE_CORE_H

#include <bpf/btf.h>

#include "detect/tracepoint/btf_trace.h"
#include "frbpf.h"

struct btf_trace {
	struct btf *base;      /* vmlinux */
	struct btf *module;    /* or NULL */
	const struct btf *btf; /* the one of these that has the tracepoint */
	const struct btf_param
		*args; /* without the first, which is no argument of the tracepoint */
	const struct btf_param *types; /* the same in the prototype that the verifier uses */
	uint32_t n_args;
	char no_names[FRBPF_TP_ARGS][16]; /* "arg0" ... */
};

#endif
