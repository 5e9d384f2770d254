/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was said to the running daemon on top of its rules file: rules armed and rules muted, for a
 * time or until taken back. It outlives every reload. A mute suppresses in user space: the rule's
 * matches are still counted.
 */
#ifndef FRBPF_DAEMON_OVERLAY_H
#define FRBPF_DAEMON_OVERLAY_H

#include <jansson.h>

#include "daemon/active_set.h"

#define OVERLAY_FOREVER UINT64_MAX
#define OVERLAY_MAX	64 /* rules armed, and rules muted, at a time */

struct overlay;

struct overlay *overlay__new(void); /* NULL: out of memory */

/* Mute the rule called @name until @until (ns); again: until then instead. -ENOSPC. */
int overlay__mute(struct overlay *o, const char *name, uint64_t until);
/* -ENOENT: it is not muted. */
int overlay__unmute(struct overlay *o, const char *name);
/* Until when, ns; 0: it is not muted. */
uint64_t overlay__muted_until(const struct overlay *o, const char *name);

/* Add a rule; its name, of no rule of @rs, goes to ret_name. Whether it is right shows when it is
 * put on a ruleset. -EINVAL with words, -ENOSPC or -ENOMEM. @condition may be NULL. */
int overlay__arm(struct overlay *o, const struct ruleset *rs, const char *when,
		 const char *condition, uint64_t until, char ret_name[static RULESET_NAME_MAX + 1],
		 struct err *err);
/* -ENOENT: no such rule was armed. */
int overlay__disarm(struct overlay *o, const char *name);
/* Until when, ns; 0: it is a rule of the file. */
uint64_t overlay__armed_until(const struct overlay *o, const char *name);

/* Put the armed rules on @rs, which was made from the file. 0, -EINVAL (see @d) or -ENOMEM. */
int overlay__extend(const struct overlay *o, struct ruleset *rs, struct diags *d);
/* Mark the muted rules of @g, before it is in force. */
void overlay__apply_mutes(const struct overlay *o, struct active_set *g);

/* Drop what has ended, and say so in the log. True: a rule was armed until now, so the rules must
 * be made anew. In *ret_wait: ns until the next end, or UINT64_MAX. */
bool overlay__expire(struct overlay *o, uint64_t now, uint64_t *ret_wait);

/* [{"rule", "ends_in_ns"?, "present"}]: every mute, also of a rule that the file lacks now. */
json_t *overlay__mutes(const struct overlay *o, const struct ruleset *rs);

void overlay__free(struct overlay *o);

#endif
