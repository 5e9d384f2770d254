// SPDX-License-Identifier: GPL-2.0-only
/* Baseline files: an accepted one is written back unchanged, and can be compared with itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baseline.h"
#include "bench/against.h"

static const struct compare_opts opts = { .tolerance = 0.05, .others_limit = 0.1 };

static void check(const struct series *s)
{
	struct buf text = { 0 }, again = { 0 };
	struct comparison c;
	struct series back;

	if (baseline__format(s, &text) || baseline__parse(text.data, text.len, NULL, &back) ||
	    baseline__format(&back, &again) || strcmp(text.data, again.data) != 0)
		abort();
	if (series__check_same(s, &back, NULL))
		abort();
	if (comparison__make(s, &back, &opts, &c) || c.verdict == VERDICT_REGRESSED)
		abort();
	for (size_t i = 0; i < s->n_rules; i++)
		comparison__threshold(&c, s, i, 1000);
	comparison__free(&c);
	series__free(&back);
	buf__free(&text);
	buf__free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series s;

	if (baseline__parse((const char *)data, size, NULL, &s))
		return 0;
	check(&s);
	series__free(&s);
	return 0;
}
