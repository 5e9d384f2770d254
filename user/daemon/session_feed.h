/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets BPF programs write into a session: one with --off-cpu, or that has an event bpf-output with
 * a name that marker__is_fed() knows, as `run = evidence` has.
 */
#ifndef FRBPF_DAEMON_SESSION_FEED_H
#define FRBPF_DAEMON_SESSION_FEED_H

#include "detect/feed/feed.h"
#include "record/session.h"

/* Number of such events; NULL: none. */
size_t session_feed__wanted(const struct event_list *events);

/*
 * Begin to write into @s, also on CPUs that come later. @target: that of @s, with its tasks. A
 * failure is logged, and noted in @s: all else is recorded. With --off-cpu it is an error: negative
 * errno with words in @err. *ret: NULL if nothing is written. Free it before @s.
 */
int session_feed__open(struct session *s, const struct record_target *target, struct err *err,
		       struct feed **ret);

#endif
