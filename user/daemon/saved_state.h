/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State that outlives the daemon, in BASE/state.json: when each rule fired and began dumps, and
 * what rules have learnt. So neither a restart nor a crash bypasses `cooldown` and `max-dumps`. It
 * is written at the end, and after a trigger, before any file of its dumps.
 *
 * Times in the file are CLOCK_MONOTONIC of the boot that it names. It also has that clock's offset
 * to UTC, by which times are converted on another boot.
 */
#ifndef FRBPF_DAEMON_SAVED_STATE_H
#define FRBPF_DAEMON_SAVED_STATE_H

#include "detect/past.h"
#include "dump/base/base_dir.h"
#include "rules/rate.h"
#include "rules/units.h"

#define STATE_FILE "state.json"

struct saved_rule {
	__u64 id;
	__u64 last_fired;  /* 0: never */
	__u64 start_value; /* value that its cooldown began with; 0: unknown */
	struct dump_limiter dumps;
};

struct saved_state {		  /* { 0 }: empty */
	struct saved_rule *rules; /* owned */
	size_t n_rules;
	struct past_cooling *cooling; /* owned */
	size_t n_cooling;
	struct past_learnt *learnt; /* owned, with their buckets */
	size_t n_learnt;
	struct dump_limiter dumps; /* of all rules together */
};

/* The boot, and the time of its clocks. */
struct saved_clock {
	char boot[64];
	int64_t utc_offset; /* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
	uint64_t now;	    /* CLOCK_MONOTONIC */
};
void saved_clock__read(struct saved_clock *ret);

/* Make the file's text, owned by the caller. NULL: out of memory. */
char *saved_state__format(const struct saved_state *k, const struct saved_clock *clock);

/*
 * Parse a text at the time @clock. Times in the future become now. On another boot, entries of
 * processes and other keys that do not survive a boot are left out. 0; -EINVAL with a message in
 * @err: another version, or damaged; or -ENOMEM. *ret is set only on 0.
 */
int saved_state__parse(const char *text, size_t len, const struct saved_clock *clock,
		       struct saved_state *ret, struct err *err);

/* Add to @log the dumps of @past that are younger than @window, ns. */
void saved_state__take_dumps(struct dump_limiter *log, const struct dump_limiter *past,
			     uint64_t window, uint64_t now);
/* Add a copy of @p. 0 or -ENOMEM. */
int saved_state__add_learnt(struct saved_state *k, const struct past_learnt *p);
/* The rule with this id, or NULL. */
const struct saved_rule *saved_state__find(const struct saved_state *k, uint64_t id);

/*
 * Read or write BASE/state.json. Loading a file that does not exist returns 0. Otherwise 0 or
 * negative errno with a message in @err.
 */
int saved_state__load(const struct base_dir *b, struct saved_state *ret, struct err *err);
int saved_state__save(const struct base_dir *b, const struct saved_state *k, struct err *err);

void saved_state__free(struct saved_state *k);

#endif
