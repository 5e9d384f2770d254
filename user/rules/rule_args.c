// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules/rule_args.h"

int rule_args__add(struct rule_args *args, const char *name, size_t len, struct span at)
{
	struct rule_arg *arg;

	for (uint32_t i = 0; i < args->n; i++) {
		if (strlen(args->v[i].name) == len && !memcmp(args->v[i].name, name, len))
			return i;
	}
	if (args->n == FRBPF_MAX_ARGS)
		return -ENOSPC;
	arg = &args->v[args->n];
	*arg = (struct rule_arg){ .name = strndup(name, len), .at = at, .slot = args->n };
	return arg->name ? (int)args->n++ : -ENOMEM;
}

int rule_args__by_slot(const struct rule_args *args, uint32_t slot)
{
	for (uint32_t i = 0; i < args->n; i++) {
		if (args->v[i].slot == slot)
			return i;
	}
	return -ENOENT;
}

void rule_args__free(struct rule_args *args)
{
	for (uint32_t i = 0; i < args->n; i++)
		free(args->v[i].name);
	args->n = 0;
}
