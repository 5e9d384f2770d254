/* SPDX-License-Identifier: GPL-2.0-only */
/* The target of a `when` that watches a program: its parts. */
#ifndef FRBPF_RULES_WHEN_PROBE_H
#define FRBPF_RULES_WHEN_PROBE_H

#include "rules/when.h"

struct when_probe {
	char *path;	 /* owned, as the others */
	char *provider;	 /* usdt only; else NULL */
	char *symbol;	 /* function, or the name of the static probe */
	uint64_t offset; /* behind it */
	bool latency;	 /* calls are measured, else hits are seen */
};

/* Take the target of a `when` of @source apart. 0, -ENOMEM, or -EINVAL: it is none. */
int when_probe__split(enum frbpf_source source, const char *target, struct when_probe *ret);
/* Frees what it owns, not @p. */
void when_probe__free(struct when_probe *p);

#endif
