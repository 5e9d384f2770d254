/* SPDX-License-Identifier: GPL-2.0-only */
/* The pressure that a rule `psi:...` measures: the target of struct when, in parts. */
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

/*
 * Format it as "memory some > 150000us in 2000000us of /a/b". Owned by the caller. NULL: out of
 * memory.
 */
char *psi_target__format(const struct psi_target *t);
/* Parse what psi_target__format() made. 0 or -EINVAL. */
int psi_target__parse(const char *text, struct psi_target *ret);

#endif
