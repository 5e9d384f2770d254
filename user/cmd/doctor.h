/* SPDX-License-Identifier: GPL-2.0-only */
/* Examines what this kernel and the privileges of this process allow frbpf to do. */
#ifndef FRBPF_CMD_DOCTOR_H
#define FRBPF_CMD_DOCTOR_H

#include "daemon/location.h"

enum finding_level {
	FINDING_OK,
	FINDING_LESS, /* frbpf works, but records less or costs more */
	FINDING_NO,   /* this does not work */
};

struct finding {
	const char *part; /* what was examined: "rules on runqlat" */
	enum finding_level level;
	const char *text;   /* what was found */
	const char *remedy; /* how to get the rest; NULL: nothing is missing, or there is no way */
};

/* @f is valid during the call. */
typedef void (*finding_fn)(const struct finding *f, void *arg);

/*
 * Examine everything, and call @fn for each part. Rules of each source are attached for a moment,
 * with thresholds that nothing reaches, and the events of sessions are opened. The sessions of the
 * recorder that @hint finds are looked at, too, if we may ask it.
 */
void doctor__examine(const struct location_hint *hint, finding_fn fn, void *arg);

#endif
