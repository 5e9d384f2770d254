/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays a perf.data file: its samples in the order of time, resolved with the maps and names of
 * that time. Life: open, next until it returns 0 (frames and comm are of the current sample), free.
 * Not locked.
 */
#ifndef FRBPF_ANALYSE_REPLAY_H
#define FRBPF_ANALYSE_REPLAY_H

#include "perfdata/sample.h"
#include "symbols/symbols.h"

struct replay;

/* Open @path. @symbols is borrowed. Errors are those of perf_file__open(). */
int replay__open(const char *path, struct symbols *symbols, struct err *err, struct replay **ret);
void replay__free(struct replay *r); /* NULL is legal */

const struct perf_file *replay__file(const struct replay *r);
/* How often the kernel has reported lost records so far */
uint64_t replay__losses(const struct replay *r);

/*
 * Get the next sample. 1; 0 at the end; negative errno, message in @err. If ret->event is NULL,
 * *ret is no sample: another record shows that the task (pid, tid, time) runs. The task forks,
 * ends, maps a file, is renamed or is switched in.
 */
int replay__next(struct replay *r, struct err *err, struct sample *ret);

/* The name of the sample's thread; NULL: unknown. */
const char *replay__comm(const struct replay *r, const struct sample *s);

/* The process of a thread; 0: unknown. */
uint32_t replay__process(const struct replay *r, uint32_t tid);
/* The name of a thread; NULL: unknown. */
const char *replay__name(const struct replay *r, uint32_t pid, uint32_t tid);

/*
 * Resolve the callchain of @s, the innermost frame first, at most @max frames. User space is
 * unwound from the recorded stack, if there is one. A sample without a callchain has one frame: its
 * own address. A return address is resolved as the call before it. *ret_n is the number of frames.
 * 0 or -ENOMEM.
 */
int replay__frames(struct replay *r, const struct sample *s, struct location *v, size_t max,
		   size_t *ret_n);
/* Resolve only the sample's own address. 0 or -ENOMEM. */
int replay__self(struct replay *r, const struct sample *s, struct location *ret);
/* The kernel's addresses that replay__frames() resolves, at most @max. Returns their number. */
size_t replay__kernel_addresses(const struct sample *s, uint64_t *v, size_t max);
/* The symbol by which the file tells where the kernel's text is, such as "_text". NULL: unknown. */
const char *replay__kernel_text(const struct replay *r, uint64_t *ret_addr);

#endif
