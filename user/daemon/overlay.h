/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes made to the running daemon on top of its rules file: rules armed and rules muted, for a
 * time or until undone. They outlive reloads. A mute suppresses in user space: matches of the rule
 * are still counted.
 */
#ifndef FRBPF_DAEMON_OVERLAY_H
#define FRBPF_DAEMON_OVERLAY_H

#include <jansson.h>

#include "daemon/active_set.h"

#define OVERLAY_FOREVER UINT64_MAX
#define OVERLAY_MAX	64 /* armed rules, and muted rules, at a time */

struct overlay;

struct overlay *overlay__new(void); /* NULL: out of memory */

/* Mute the rule called @name until @until, ns. A second call replaces the time. 0 or -ENOSPC. */
int overlay__mute(struct overlay *o, const char *name, uint64_t until);
/* Unmute. 0, or -ENOENT: it is not muted. */
int overlay__unmute(struct overlay *o, const char *name);
/* Time until which the rule @name is muted, ns; 0: it is not muted. */
uint64_t overlay__muted_until(const struct overlay *o, const char *name);

/*
 * Arm a rule until @until, ns. @ret_name gets a name that no rule of @rs has. @condition may be
 * NULL. Only overlay__extend() checks the rule. 0, or -EINVAL, -ENOSPC or -ENOMEM with a message in
 * @err.
 */
int overlay__arm(struct overlay *o, const struct ruleset *rs, const char *when,
		 const char *condition, uint64_t until, char ret_name[static RULESET_NAME_MAX + 1],
		 struct err *err);
/* 0, or -ENOENT: no such rule was armed. */
int overlay__disarm(struct overlay *o, const char *name);
/* Time until which the rule @name is armed, ns; 0: it is not an armed rule. */
uint64_t overlay__armed_until(const struct overlay *o, const char *name);

/* Add the armed rules to @rs, which was made from the file. 0, -EINVAL (see @d) or -ENOMEM. */
int overlay__extend(const struct overlay *o, struct ruleset *rs, struct diags *d);
/* Mark the muted rules of @g. Call it before @g is in force. */
void overlay__apply_mutes(const struct overlay *o, struct active_set *g);

/*
 * Drop mutes and armed rules whose time is over, and log each. True: an armed rule ended, so the
 * rules must be made again. *ret_wait: ns until the next end, or UINT64_MAX.
 */
bool overlay__expire(struct overlay *o, uint64_t now, uint64_t *ret_wait);

/*
 * Owned by the caller: [{"rule", "ends_in_ns"?, "present"}], one for each mute, also of a rule that
 * is not in the file now.
 */
json_t *overlay__mutes(const struct overlay *o, const struct ruleset *rs);

void overlay__free(struct overlay *o);

#endif
