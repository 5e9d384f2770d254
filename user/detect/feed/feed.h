/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BPF programs that write events into the rings of a session: facts that no tracepoint reports, or
 * reports too often. For them a session has an event bpf-output on each CPU. Life: new, load each
 * kind that is wanted, send for each CPU, attach, send again when an event was replaced, free. Free
 * it before the session.
 */
#ifndef FRBPF_DETECT_FEED_H
#define FRBPF_DETECT_FEED_H

#include <stdint.h>

#include "common/err.h"

enum feed_kind {
	FEED_LOCK_WAIT, /* struct frbpf_lock_wait */
	FEED_INTERRUPT, /* struct frbpf_interrupt */
	FEED_KINDS,
};

struct feed;

int feed__new(struct feed **ret); /* 0 or -ENOMEM */

/*
 * Load the programs that write @kind, once. @event_type: common_type of their samples. Programs on
 * tracepoints that this kernel lacks are left out, see feed__lacking(). 0, or negative errno with a
 * message in @err; then nothing of @kind is written.
 */
int feed__load(struct feed *f, enum feed_kind kind, uint16_t event_type, struct err *err);
/* Their names, separated by commas; "": none is missing. */
const char *feed__lacking(const struct feed *f);

/*
 * Write the events of @kind on @cpu into @fd, an event of that CPU. 0 or negative errno; 0 if @kind
 * is not loaded.
 */
int feed__send(struct feed *f, enum feed_kind kind, int cpu, int fd);

/* Begin to write all that is loaded. 0, or negative errno with words in @err. */
int feed__attach(struct feed *f, struct err *err);

void feed__free(struct feed *f); /* NULL is legal */

#endif
