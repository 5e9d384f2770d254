/* SPDX-License-Identifier: GPL-2.0-only */
/* The incidents of a base, read from their manifests: no daemon is needed. */
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
	char **names;	    /* their times, in the order of what has passed; owned */
	size_t n;
};

/* -ENOENT: the base has none. Words in @err. */
int incidents__read(const char *base, struct err *err, struct incidents *ret);
void incidents__free(struct incidents *v);

/* The manifest of incident @i, with "gone" added to sessions whose file is not there any more; the
 * caller's. NULL with words in @err. */
json_t *incidents__manifest(const struct incidents *v, size_t i, struct err *err);
/* The same of the manifest @path, whose place is @dir or was. */
json_t *incidents__read_manifest(const char *path, const char *dir, struct err *err);

/*
 * The incident that @what means: "last", its time or any unambiguous part of it, "RULE:last", or
 * the path of a dump. -ENOENT or -EINVAL (ambiguous) with words in @err.
 */
int incidents__find(const struct incidents *v, const char *what, struct err *err, size_t *ret);

/* The last incident that a rule began, not one asked for by hand. False: there is none. */
bool incidents__last_fired(const struct incidents *v, size_t *ret);
/* Has a rule begun it? */
bool incidents__has_fired(const json_t *manifest);

/* What fired: member @key of the manifest's first trigger. */
const json_t *incidents__trigger(const json_t *manifest);

#endif
