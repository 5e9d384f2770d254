/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lets BPF programs write into a session. It has --off-cpu, or a bpf-output event with a name that
 * marker__is_fed() knows, as `run = evidence` has.
 */
#ifndef FRBPF_DAEMON_SESSION_FEED_H
#define FRBPF_DAEMON_SESSION_FEED_H

#include "detect/feed/feed.h"
#include "record/session.h"

/* Number of events of @events that programs write, of both kinds; @events may be NULL. */
size_t session_feed__count(const struct event_list *events);

/*
 * Begin to write into @s, also on CPUs that come later. @target: the target of @s, with its tasks.
 * A failure is logged and noted in @s, and all else is recorded. With --off-cpu, a failure is an
 * error instead: negative errno with a message in @err. *ret: NULL if nothing is written. Free it
 * before @s.
 */
int session_feed__open(struct session *s, const struct record_target *target, struct err *err,
		       struct feed **ret);

/*
 * For a moment, load and attach the programs that the @events of `run = evidence` want. Nothing is
 * written. Adds a line to @missing for each thing that would not be recorded; without memory, some
 * lines are left out. Returns whether all would be recorded.
 */
bool session_feed__try(struct event_list *events, struct buf *missing);

#endif
