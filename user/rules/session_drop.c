// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "rules/file_scope.h"

static void drop_from_rule(struct rule_conf *rule, size_t at)
{
	size_t n = 0;

	for (size_t i = 0; i < rule->n_sessions; i++) {
		size_t k = rule->sessions[i];

		if (k != at)
			rule->sessions[n++] = k - (k > at);
	}
	rule->n_sessions = n;
	rule->quiet |= !n; /* no session is left to dump */
}

void ruleset__drop_session(struct ruleset *rs, size_t at)
{
	size_t n = 0;

	session_conf__free(&rs->sessions[at]);
	rs->n_sessions--;
	memmove(&rs->sessions[at], &rs->sessions[at + 1],
		(rs->n_sessions - at) * sizeof(*rs->sessions));
	for (size_t i = 0; i < rs->n_own; i++) {
		struct own_session own = rs->own[i];

		if (own.session == at) {
			free(own.name);
			continue;
		}
		own.session -= own.session > at;
		rs->own[n++] = own;
	}
	rs->n_own = n;
	for (size_t i = 0; i < rs->n_rules; i++)
		drop_from_rule(&rs->rules[i], at);
}
