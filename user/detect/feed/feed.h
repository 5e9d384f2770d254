/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs that write events into the rings of a session: what no tracepoint tells, or tells too
 * often. A session has an event bpf-output for them on each CPU. Life: open (loads), send for each
 * CPU, attach, send again when an event was replaced, free. Free it before the session.
 */
#ifndef FRBPF_DETECT_FEED_H
#define FRBPF_DETECT_FEED_H

#include <stdint.h>

#include "common/err.h"

struct feed;

/*
 * Load the programs that write "lock_wait". @event_type: common_type of their samples. Programs on
 * tracepoints that this kernel lacks are left out, see feed__lacking(). 0, or
 * negative errno with words in @err.
 */
int feed__open(uint16_t event_type, struct err *err, struct feed **ret);
/* Their names, separated by commas; "": none is missing. */
const char *feed__lacking(const struct feed *f);

/* Write the events of @cpu into @fd, an event of that CPU. 0 or negative errno. */
int feed__send(struct feed *f, int cpu, int fd);

/* Begin to write. 0, or negative errno with words in @err. */
int feed__attach(struct feed *f, struct err *err);

void feed__free(struct feed *f); /* NULL is legal */

#endif
