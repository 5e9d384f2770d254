/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules on trial: attached for a while, with nothing recorded and nothing dumped. */
#ifndef FRBPF_CMD_LIVE_H
#define FRBPF_CMD_LIVE_H

#include <stdbool.h>

#include "common/err.h"
#include "frbpf.h"
#include "rules/ruleset.h"

struct live_rule {
	struct frbpf_rule_state counted;
	/* What it would have matched without its threshold. Not known of rules that have none, and of
	 * those that are too many to be doubled. */
	bool has_seen;
	struct frbpf_rule_state seen;
};

/* Attach the rules of @rs for @ns, or until SIGINT or SIGTERM; triggers are thrown away. ret[i] is
 * of rule i, *ret_ns how long it was attached. 0, or negative errno with words in @err. */
int live__run(const struct ruleset *rs, uint64_t ns, struct live_rule *ret, uint64_t *ret_ns,
	      struct err *err);

/* Attach @n rules, at most FRBPF_MAX_RULES of a source, in the same way. ret[i] is of rule i. */
int live__watch(const struct rule_conf *rules, size_t n, uint64_t ns, struct frbpf_rule_state *ret,
		uint64_t *ret_ns, struct err *err);

#endif
