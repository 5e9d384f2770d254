/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses the operands of commands: one incident, or recordings, which are files, directories or
 * incidents.
 */
#ifndef FRBPF_CMD_OPERAND_H
#define FRBPF_CMD_OPERAND_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "analyse/recordings.h"
#include "common/err.h"
#include "daemon/location.h"

/* The incident to take if none is named */
enum incident_default {
	INCIDENT_LAST,
	INCIDENT_LAST_FIRED, /* the last that a rule fired, if there is one */
};

struct incident_operand {
	json_t *manifest;    /* see incident_operand__free() */
	char base[PATH_MAX]; /* the directory that contains incidents/ */
};

/*
 * Find the incident @what. It is a name for incident_list__find(), in the base found by @hint; or a
 * path: a directory with incidents, a manifest, or a dump. The incident of a dump must be where the
 * dump was written, in that base, or beside the dump. NULL, or a directory: take @def. 0, or
 * negative errno with a message in @err.
 */
int incident_operand__find(const struct location_hint *hint, const char *what,
			   enum incident_default def, struct err *err,
			   struct incident_operand *ret);
void incident_operand__free(struct incident_operand *o);

/* Is @what the path of a file that is not a manifest? */
bool incident_operand__is_dump(const char *what);

/*
 * Add the recordings of @what to @ret. It is a perf.data file, a directory, or an incident: its
 * manifest, or its name in the base found by @hint. 0, or EXIT_FAILED with an error printed.
 */
int cmd_find_recordings(const struct location_hint *hint, const char *what, struct recordings *ret);

#endif
