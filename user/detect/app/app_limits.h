/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits how many messages a user may send: a token bucket for each, in a table of fixed size. A
 * user with many uids (a range in /etc/subuid) counts as one. Nobody is refused because the table
 * is full: if all buckets for a uid are in use, the uid shares one. Others cannot predict which.
 */
#ifndef FRBPF_DETECT_APP_LIMITS_H
#define FRBPF_DETECT_APP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define APP_LIMIT_SETS	 256
#define APP_LIMIT_WAYS	 8   /* buckets of a set; the set depends on the uid */
#define APP_LIMIT_RATE	 100 /* messages a second, of one user */
#define APP_LIMIT_BURST	 200
#define APP_LIMIT_RANGES 512 /* of /etc/subuid; uids of further ranges count one by one */

struct app_limits { /* { 0 }: nobody has sent anything */
	uint64_t seed;
	struct app_bucket {
		uid_t uid;
		bool used;
		uint64_t full_at; /* ns: when the bucket is full again; each message delays it */
	} v[APP_LIMIT_SETS][APP_LIMIT_WAYS];
	struct app_range {
		uid_t first, n;
		uid_t user; /* the same in all ranges of one owner */
	} ranges[APP_LIMIT_RANGES];
	size_t n_ranges;
};

/*
 * Take the ranges from @text, lines "OWNER:FIRST:NUMBER" as in /etc/subuid. Skips other lines.
 * Changes @text.
 */
void app_limits__set_ranges(struct app_limits *l, char *text);
/* Set a random seed and the ranges of this machine. */
void app_limits__init(struct app_limits *l);

/* Take a token of @uid at @now, ns. False: its bucket is empty. */
bool app_limits__take(struct app_limits *l, uid_t uid, uint64_t now);

#endif
