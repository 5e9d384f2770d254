/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread of low priority that keeps the incidents on disk within the limits of `[daemon]`. It
 * runs after each incident, after a reload, and when an incident gets too old. Life: start before
 * the first incident, notify, free after all incidents are written and before the recorder is
 * freed.
 */
#ifndef FRBPF_DAEMON_RETAINER_H
#define FRBPF_DAEMON_RETAINER_H

#include "daemon/recorder.h"
#include "dump/base/retention.h"

struct retainer;

struct retainer_stats {
	uint64_t incidents, bytes; /* number and size on disk at the last run */
	uint64_t removed, removed_bytes;
	uint64_t failed; /* files that could not be removed */
};

/* Start the thread. @base and @r are borrowed. 0 or negative errno with a message in @err. */
int retainer__start(const struct base_dir *base, struct recorder *r, struct err *err,
		    struct retainer **ret);
/* Apply @limits to the incidents on disk, now and later. Does not block for long. */
void retainer__notify(struct retainer *t, const struct retention_limits *limits);
void retainer__stats(struct retainer *t, struct retainer_stats *ret);
/* Ends the thread; a requested run is finished first. NULL is legal. */
void retainer__free(struct retainer *t);

#endif
