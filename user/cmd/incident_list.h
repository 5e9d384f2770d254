/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the incidents of a base from their manifests, without a daemon. */
#ifndef FRBPF_CMD_INCIDENT_LIST_H
#define FRBPF_CMD_INCIDENT_LIST_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct incident_list {
	char dir[PATH_MAX]; /* BASE/incidents */
	char **names;	    /* their times, in chronological order; owned */
	size_t n;
};

/* Read the incidents of @base. -ENOENT: it has none. Message in @err. */
int incident_list__read(const char *base, struct err *err, struct incident_list *ret);
void incident_list__free(struct incident_list *v);

/*
 * Read the manifest of incident @i. Sessions whose file no longer exists get "gone". The caller
 * owns the result; NULL: message in @err.
 */
json_t *incident_list__manifest(const struct incident_list *v, size_t i, struct err *err);
/* The same for the open manifest @fd, which is closed; @path: its name, for messages. */
json_t *incident_list__parse_manifest(int fd, const char *path, const char *dir, struct err *err);
/*
 * The same for the manifest @path, which is or was in @dir. A dump beside it counts as that of the
 * first session whose file cannot be read: they were copied together.
 */
json_t *incident_list__read_manifest(const char *path, const char *dir, struct err *err);

/*
 * Find the incident @what: "last", its time or an unambiguous part of it, "RULE:last", or the path
 * of a dump. -ENOENT or -EINVAL (ambiguous), message in @err.
 */
int incident_list__find(const struct incident_list *v, const char *what, struct err *err,
			size_t *ret);

/* Find the last incident that a rule fired, not one requested by hand. False: there is none. */
bool incident_list__last_fired(const struct incident_list *v, size_t *ret);
/* Was the incident fired by a rule? */
bool incident_list__has_fired(const json_t *manifest);

/* The first trigger of the manifest: what fired it. */
const json_t *incident_list__trigger(const json_t *manifest);

#endif
