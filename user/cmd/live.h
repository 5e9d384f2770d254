/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules on trial: attached for a while, with nothing recorded and nothing dumped. */
#ifndef FRBPF_CMD_LIVE_H
#define FRBPF_CMD_LIVE_H

#include "common/err.h"
#include "frbpf.h"
#include "rules/ruleset.h"

/* Attach the rules of @rs for @ns, or until SIGINT or SIGTERM; triggers are thrown away. ret[i] is
 * what rule i counted, *ret_ns how long it was attached. 0, or negative errno with words in @err.
 */
int live__run(const struct ruleset *rs, uint64_t ns, struct frbpf_rule_state *ret, uint64_t *ret_ns,
	      struct err *err);

#endif
