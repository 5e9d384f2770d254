/* SPDX-License-Identifier: GPL-2.0-only */
/* Which frames of a kernel stack are there only because we looked. */
#ifndef FRBPF_DUMP_INCIDENT_OWN_FRAMES_H
#define FRBPF_DUMP_INCIDENT_OWN_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

struct own_frame {
	const char *symbol; /* NULL: not known */
	bool is_bpf;	    /* a BPF program or a trampoline */
};

/*
 * How many of the innermost frames of @v, which begins with the innermost, belong to the program that
 * took the stack: the helper that it called, the program, and what calls it at its tracepoint or
 * probe. 0: the stack is of a task that did not run.
 */
size_t own_frames__count(const struct own_frame *v, size_t n);

#endif
