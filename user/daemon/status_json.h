/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of the daemon as JSON, for `frbpf status`. */
#ifndef FRBPF_DAEMON_STATUS_JSON_H
#define FRBPF_DAEMON_STATUS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

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

/*
 * Returns {"ok": true, "pid": ...}, owned by the caller; NULL: out of memory. @reach: add how far
 * back every ring reaches, which reads all ring memory.
 */
json_t *status_json__make(const struct status_sources *s, bool reach);

#endif
