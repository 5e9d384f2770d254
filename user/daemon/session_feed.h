/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets BPF programs write into a session that has an event bpf-output with a name that
 * marker__is_fed() knows, as `run = evidence` has.
 */
#ifndef FRBPF_DAEMON_SESSION_FEED_H
#define FRBPF_DAEMON_SESSION_FEED_H

#include "detect/feed/feed.h"
#include "record/session.h"

/* Number of such events; NULL: none. */
size_t session_feed__wanted(const struct event_list *events);

/*
 * Begin to write into @s, also on CPUs that come later. A failure is logged, and noted in @s: all
 * else is recorded. *ret: NULL if nothing is written. Free it before @s.
 */
void session_feed__open(struct session *s, struct feed **ret);

#endif
