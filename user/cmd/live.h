/* SPDX-License-Identifier: GPL-2.0-only */
/* Trial of rules: they are attached for a while, without recordings and dumps. */
#ifndef FRBPF_CMD_LIVE_H
#define FRBPF_CMD_LIVE_H

#include <stdbool.h>

#include "common/err.h"
#include "abi.h"
#include "rules/ruleset.h"

struct live_rule {
	struct frbpf_rule_state counted;
	/*
	 * What a lower threshold would match: each value, or for a share of time each sum. For
	 * pending events, the values of events that have ended; for absence, the events heard.
	 * Unknown for rules without a threshold, for messages, and if there are too many rules to
	 * attach each twice.
	 */
	bool has_seen;
	struct frbpf_rule_state seen;
};

/*
 * Attach the rules of @rs for @ns, or until SIGINT or SIGTERM. Triggers are dropped. @app: where to
 * listen for messages of applications; NULL: nowhere. ret[i] is for rule i; *ret_ns is the time for
 * which the rules were attached. 0, or negative errno, message in @err; -EADDRINUSE: another
 * process listens there.
 */
int live__run(const struct ruleset *rs, const char *app, uint64_t ns, struct live_rule *ret,
	      uint64_t *ret_ns, struct err *err);

/* The same for @n rules, at most FRBPF_MAX_RULES per source. */
int live__watch(const struct rule_conf *rules, size_t n, uint64_t ns, const char *app,
		struct frbpf_rule_state *ret, uint64_t *ret_ns, struct err *err);

#endif
