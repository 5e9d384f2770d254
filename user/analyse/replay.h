/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replays a perf.data file: its samples in the order of time, each with the maps and names that were
 * there at its time. Life: open, next until it returns 0 (frames, comm: of the sample just given),
 * free. Not locked.
 */
#ifndef FRBPF_ANALYSE_REPLAY_H
#define FRBPF_ANALYSE_REPLAY_H

#include "perfdata/sample.h"
#include "symbols/symbols.h"

struct replay;

/* @symbols is borrowed. Errors are those of perf_file__open(). */
int replay__open(const char *path, struct symbols *symbols, struct err *err, struct replay **ret);
void replay__free(struct replay *r); /* NULL is legal */

const struct perf_file *replay__file(const struct replay *r);
/* How often the kernel said until now that it had lost records. */
uint64_t replay__losses(const struct replay *r);

/* 1, 0 at the end, negative errno with words in @err. *ret is a sample, or, without an event, the
 * moment (pid, tid, time) at which a task shows by another record of its own that it runs: it forks,
 * ends, maps a file, takes a name or is switched in. */
int replay__next(struct replay *r, struct err *err, struct sample *ret);

/* The name of the thread that the sample is of; NULL: not known. */
const char *replay__comm(const struct replay *r, const struct sample *s);

/* The process of a thread. 0: not known. */
uint32_t replay__process(const struct replay *r, uint32_t tid);
/* The name of a thread; NULL: not known. */
const char *replay__name(const struct replay *r, uint32_t pid, uint32_t tid);

/*
 * Where the sample was: the callchain with the innermost first, at most @max frames, of user space
 * unwound from the stack where that was recorded; of a sample without one only its own address. What a return address points behind is taken for its call.
 * *ret_n is their number. 0 or -ENOMEM.
 */
int replay__frames(struct replay *r, const struct sample *s, struct location *v, size_t max,
		   size_t *ret_n);
/* The sample's own address alone. */
int replay__self(struct replay *r, const struct sample *s, struct location *ret);

#endif
