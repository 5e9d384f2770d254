/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the incidents of a base from their manifests, without a daemon. */
#ifndef FRBPF_CMD_INCIDENTS_H
#define FRBPF_CMD_INCIDENTS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct incidents {
	char dir[PATH_MAX]; /* BASE/incidents */
	char **names;	    /* their times, in chronological order; owned */
	size_t n;
};

/* Read the incidents of @base. -ENOENT: it has none. Message in @err. */
int incidents__read(const char *base, struct err *err, struct incidents *ret);
void incidents__free(struct incidents *v);

/*
 * Read the manifest of incident @i. Sessions whose file no longer exists get "gone". The caller
 * owns the result; NULL: message in @err.
 */
json_t *incidents__manifest(const struct incidents *v, size_t i, struct err *err);
/* The same for the open manifest @fd, which is closed; @path: its name, for messages. */
json_t *incidents__parse_manifest(int fd, const char *path, const char *dir, struct err *err);
/*
 * The same for the manifest @path, which is or was in @dir. A dump beside it counts as that of the
 * first session whose file cannot be read: they were copied together.
 */
json_t *incidents__read_manifest(const char *path, const char *dir, struct err *err);

/*
 * Find the incident @what: "last", its time or an unambiguous part of it, "RULE:last", or the path
 * of a dump. -ENOENT or -EINVAL (ambiguous), message in @err.
 */
int incidents__find(const struct incidents *v, const char *what, struct err *err, size_t *ret);

/* Find the last incident that a rule fired, not one requested by hand. False: there is none. */
bool incidents__last_fired(const struct incidents *v, size_t *ret);
/* Was the incident fired by a rule? */
bool incidents__has_fired(const json_t *manifest);

/* The first trigger of the manifest: what fired it. */
const json_t *incidents__trigger(const json_t *manifest);

#endif
