/* SPDX-License-Identifier: GPL-2.0-only */
/* For sources whose object is loaded without more ado: what a skeleton's type keeps from being one
 * function of all. */
#ifndef FRBPF_DETECT_SOURCE_SKEL_H
#define FRBPF_DETECT_SOURCE_SKEL_H

#include <errno.h>

#include "detect/engine/source.h"

/* NAME_load() and NAME_free() of struct source_ops, by the skeleton NAME_bpf. */
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

/* Of a source that has waits.bpf.h, also NAME_look(). */
#define SOURCE_SKELETON_WAITS(name)                                                                \
	SOURCE_SKELETON(name)                                                                      \
	static int name##_look(struct source *s)                                                   \
	{                                                                                          \
		struct name##_bpf *skel = s->skel;                                                 \
                                                                                                   \
		return source__iterate(skel->progs.waits_look);                                    \
	}

#endif
