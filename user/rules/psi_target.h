/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pressure a rule `psi:...` looks at, as struct when's target has it in text. */
#ifndef FRBPF_RULES_PSI_TARGET_H
#define FRBPF_RULES_PSI_TARGET_H

#include <stdint.h>

#include "frbpf.h"

#define PSI_WORD_MAX 8

struct psi_target {
	char resource[PSI_WORD_MAX]; /* cpu memory io irq */
	char kind[PSI_WORD_MAX];     /* some full */
	uint64_t threshold_us;
	uint64_t window_us;
	char cgroup[FRBPF_PATH_LEN]; /* from the root of the hierarchy; "": the whole machine */
};

/* "memory some > 150000us in 2000000us of /a/b": the caller's, or NULL: out of memory. */
char *psi_target__format(const struct psi_target *t);
/* The way back. 0 or -EINVAL. */
int psi_target__parse(const char *text, struct psi_target *ret);

#endif
