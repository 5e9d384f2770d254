/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What outlives the daemon, in BASE/state.json: when each rule fired and began dumps, so that
 * neither a restart nor a crash is a way around `cooldown` and `max-dumps`. Written after each
 * incident and at the end.
 *
 * Times in the file are CLOCK_MONOTONIC of the boot that it names, with that clock's distance from
 * UTC: on another boot they are found again through UTC.
 */
#ifndef FRBPF_DAEMON_KEEP_H
#define FRBPF_DAEMON_KEEP_H

#include "daemon/dump_log.h"
#include "detect/past.h"
#include "dump/base/base_dir.h"

#define KEEP_FILE "state.json"

struct keep_rule {
	__u64 id;
	__u64 last_fired; /* 0: never */
	struct dump_log dumps;
};

struct keep {			 /* { 0 }: nothing is known */
	struct keep_rule *rules; /* owned */
	size_t n_rules;
	struct past_cooling *cooling; /* owned */
	size_t n_cooling;
	struct dump_log dumps; /* of all rules together */
};

/* Which boot, and how its clocks stand. */
struct keep_clock {
	char boot[64];
	int64_t utc_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
	uint64_t now;	    /* CLOCK_MONOTONIC */
};
void keep_clock__read(struct keep_clock *ret);

/* The file's text. Owned by the caller; NULL: out of memory. */
char *keep__format(const struct keep *k, const struct keep_clock *clock);

/* Read a text back, at @clock. What lies in the future is taken for now; of another boot, what
 * belongs to processes and the like is left out. -EINVAL with words (another version, damaged), or
 * -ENOMEM; *ret is set only on 0. */
int keep__parse(const char *text, size_t len, const struct keep_clock *clock, struct keep *ret,
		struct err *err);

/* Add to @log the dumps of @past that still count within @window, ns. */
void keep__take_dumps(struct dump_log *log, const struct dump_log *past, uint64_t window,
		      uint64_t now);
/* The rule with that id, or NULL. */
const struct keep_rule *keep__find(const struct keep *k, uint64_t id);

/* Read or write BASE/state.json. No file is 0. On failure words in @err. */
int keep__load(const struct base_dir *b, struct keep *ret, struct err *err);
int keep__save(const struct base_dir *b, const struct keep *k, struct err *err);

void keep__free(struct keep *k);

#endif
