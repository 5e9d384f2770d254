/* SPDX-License-Identifier: GPL-2.0-only */
/* What the daemon is doing, as the JSON that `frbpf status` gets and prints. */
#ifndef FRBPF_DAEMON_STATUS_H
#define FRBPF_DAEMON_STATUS_H

#include <jansson.h>

#include "daemon/overlay.h"
#include "daemon/recorder.h"
#include "daemon/retainer.h"
#include "sideband/sideband.h"

struct status_sources {
	const char *base;
	const char *rules_path;
	uint64_t started; /* ns */
	struct recorder *recorder;
	struct detectors *detectors;
	struct sideband *sideband;
	const struct overlay *overlay;
	struct examiner *examiner; /* NULL: there is none */
	struct retainer *retainer;
};

/* {"ok": true, "pid": …}; NULL: out of memory. @held: also how far back every ring reaches, which
 * reads all of their memory. */
json_t *status__make(const struct status_sources *s, bool held);

#endif
