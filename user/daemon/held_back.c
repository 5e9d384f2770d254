// SPDX-License-Identifier: GPL-2.0-only
#include "daemon/held_back.h"

json_t *held_back__json(const struct frbpf_rule_state *st)
{
	static const char *const names[FRBPF_CAUSE_MAX] = {
		[FRBPF_CAUSE_COOLDOWN] = "cooldown",
		[FRBPF_CAUSE_FULL] = "ring_full",
		[FRBPF_CAUSE_SELF] = "self",
		[FRBPF_CAUSE_COUNT] = "count",
		[FRBPF_CAUSE_RULE_CAP] = "rule_max_dumps",
		[FRBPF_CAUSE_CAP] = "max_dumps",
		[FRBPF_CAUSE_KEYS] = "keys_full",
	};
	json_t *j = json_object();

	for (int i = 0; j && i < FRBPF_CAUSE_MAX; i++)
		json_object_set_new(j, names[i], json_integer((json_int_t)st->suppressed[i]));
	return j;
}
