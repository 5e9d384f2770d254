/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many messages a user may send: a bucket of tokens each, in a table of a fixed size. Whoever has many uids (a
 * range of /etc/subuid) is one user. Nobody is refused for want of a place: where all are in use that a uid can have,
 * it shares one; which, others cannot know.
 */
#ifndef FRBPF_DETECT_APP_LIMITS_H
#define FRBPF_DETECT_APP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define APP_LIMIT_SETS	 256
#define APP_LIMIT_WAYS	 8   /* places that a uid can have */
#define APP_LIMIT_RATE	 100 /* messages a second, of one user */
#define APP_LIMIT_BURST	 200
#define APP_LIMIT_RANGES 512 /* of /etc/subuid; what is behind counts by uid */

struct app_limits { /* { 0 }: nobody has sent anything */
	uint64_t seed;
	struct app_bucket {
		uid_t uid;
		bool used;
		uint64_t full_at; /* ns: when it is full again; each message puts it off */
	} v[APP_LIMIT_SETS][APP_LIMIT_WAYS];
	struct app_range {
		uid_t first, n;
		uid_t user; /* all of its owner's ranges have the same */
	} ranges[APP_LIMIT_RANGES];
	size_t n_ranges;
};

/* Take the ranges from text as of /etc/subuid, "OWNER:FIRST:NUMBER" lines; others are passed over. It is changed. */
void app_limits__set_ranges(struct app_limits *l, char *text);
/* Begin: a seed of its own, and the ranges of this machine. */
void app_limits__init(struct app_limits *l);

/* May @uid send one more at @now, ns? Not if its bucket is empty. */
bool app_limits__take(struct app_limits *l, uid_t uid, uint64_t now);

#endif
