/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of sources that load their object without further steps. They are macros because
 * each skeleton has a type of its own.
 */
#ifndef FRBPF_DETECT_SOURCE_SKEL_H
#define FRBPF_DETECT_SOURCE_SKEL_H

#include <errno.h>

#include "detect/engine/source.h"

/* Defines NAME_load() and NAME_free() of struct source_ops for the skeleton NAME_bpf. */
#define SOURCE_SKELETON(name)                                                                      \
	static int name##_load(struct source *s, const struct source_env *env)                     \
	{                                                                                          \
		struct name##_bpf *skel = name##_bpf__open();                                      \
		int r;                                                                             \
                                                                                                   \
		if (!skel)                                                                         \
			return -errno;                                                             \
		s->skel = skel;                                                                    \
		skel->rodata->daemon_pidns = env->pidns;                                           \
		r = source__prepare(s, skel->obj, env);                                            \
		if (!r)                                                                            \
			r = name##_bpf__load(skel);                                                \
		if (!r)                                                                            \
			source__bind(s, skel);                                                     \
		return r;                                                                          \
	}                                                                                          \
                                                                                                   \
	static void name##_free(struct source *s)                                                  \
	{                                                                                          \
		name##_bpf__destroy(s->skel);                                                      \
	}

#endif
