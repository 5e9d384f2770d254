/* SPDX-License-Identifier: GPL-2.0-only */
/* How many messages a user may send: a bucket of tokens each, in a table of a fixed size. */
#ifndef FRBPF_DETECT_APP_LIMITS_H
#define FRBPF_DETECT_APP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define APP_LIMIT_USERS 64  /* that send at the same time */
#define APP_LIMIT_RATE	100 /* messages a second, of one user */
#define APP_LIMIT_BURST 200

struct app_limits { /* { 0 }: nobody has sent anything */
	struct app_bucket {
		uid_t uid;
		bool used;
		uint64_t full_at; /* ns: when it is full again; each message puts it off */
	} v[APP_LIMIT_USERS];
};

/* May @uid send one more at @now, ns? Not if its bucket is empty, nor if it has none and those of
 * all others are in use. */
bool app_limits__take(struct app_limits *l, uid_t uid, uint64_t now);

#endif
