/* SPDX-License-Identifier: GPL-2.0-only */
/* The target of a `when` on a program, in parts. */
#ifndef FRBPF_RULES_WHEN_PROBE_H
#define FRBPF_RULES_WHEN_PROBE_H

#include "rules/when.h"

struct when_probe {
	char *path;	 /* owned, like the other texts */
	char *provider;	 /* usdt only; NULL otherwise */
	char *symbol;	 /* function, or the name of the static probe */
	uint64_t offset; /* bytes after the symbol */
	bool latency;	 /* measures calls; else reports hits */
};

/* Split the target of a `when` of @source. 0, -ENOMEM, or -EINVAL: malformed. */
int when_probe__split(enum frbpf_source source, const char *target, struct when_probe *ret);
/* Free the texts, not @p itself. */
void when_probe__free(struct when_probe *p);

#endif
