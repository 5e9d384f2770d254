/* SPDX-License-Identifier: GPL-2.0-only */
/* The operand of commands that take one incident. */
#ifndef FRBPF_CMD_INCIDENT_OPERAND_H
#define FRBPF_CMD_INCIDENT_OPERAND_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "common/err.h"
#include "daemon/location.h"

/* Which incident is meant where none is named. */
enum incident_default {
	INCIDENT_LAST,
	INCIDENT_LAST_FIRED, /* the last that a rule began, where there is one */
};

struct incident_operand {
	json_t *manifest;    /* see incident_operand__free() */
	char base[PATH_MAX]; /* the folder that has incidents/ */
};

/*
 * Find the incident that @what means: a name as incidents__find() takes it, of the base that @hint
 * finds; or a path: a folder with incidents, a manifest, or a dump that has its incident where it was
 * written or in that base. NULL: @def, as for a folder. Negative errno with words in @err.
 */
int incident_operand__find(const struct location_hint *hint, const char *what,
			   enum incident_default def, struct err *err,
			   struct incident_operand *ret);
void incident_operand__free(struct incident_operand *o);

/* Is @what the path of a file, and no manifest? */
bool incident_operand__is_dump(const char *what);

#endif
