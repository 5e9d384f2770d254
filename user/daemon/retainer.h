/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread of low priority that keeps the incidents on disk within the limits of `[daemon]`: after
 * each incident, after a reload, and when one gets too old. It sleeps otherwise. Life: start before
 * the first incident, notify, free after the recorder's incidents are all written and before it.
 */
#ifndef FRBPF_DAEMON_RETAINER_H
#define FRBPF_DAEMON_RETAINER_H

#include "daemon/recorder.h"
#include "dump/base/retention.h"

struct retainer;

struct retainer_stats {
	uint64_t incidents, bytes; /* on disk at the last look */
	uint64_t removed, removed_bytes;
	uint64_t failed; /* files that could not be removed */
};

/* Both borrowed. */
int retainer__start(const struct base_dir *base, struct recorder *r, struct err *err,
		    struct retainer **ret);
/* Look at what there is, with these limits from now on. Does not block for long. */
void retainer__notify(struct retainer *t, const struct retention_limits *limits);
void retainer__stats(struct retainer *t, struct retainer_stats *ret);
/* Ends after a look that was asked for. NULL is legal. */
void retainer__free(struct retainer *t);

#endif
