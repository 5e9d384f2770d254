// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/ruleset.h"
#include "rules/target.h"

#define TEXT_MAX (1 << 20)

/* A target is formatted to the text that it was parsed from. */
static void check_again(const struct when *when, char *again)
{
	if (!again || strcmp(again, when->target) != 0)
		abort();
	free(again);
}

static void check_probe_span(const struct when *when)
{
	struct probe_span_target t;

	if (when->source != FRBPF_SOURCE_PROBE_SPAN)
		return;
	if (probe_span_target__parse(when->target, &t))
		abort();
	check_again(when, probe_span_target__format(&t));
	probe_span_target__free(&t);
}

static void check_span_target(const struct when *when)
{
	struct span_target t;

	if (when->source != FRBPF_SOURCE_SPAN)
		return;
	if (span_target__parse(when->target, &t))
		abort();
	check_again(when, span_target__format(&t));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_text *src = calloc(1, sizeof(*src));
	struct ruleset *rs = NULL;
	struct diags d = { 0 };
	struct buf out = { 0 };

	if (!src || size > TEXT_MAX)
		abort();
	src->name = strdup("fuzz");
	src->text = malloc(size + 1);
	src->len = size;
	if (!src->name || !src->text)
		abort();
	memcpy(src->text, data, size);
	src->text[size] = '\0';

	/* a text is either accepted or refused with a reason */
	if (!ruleset__parse(src, &d, &rs) == diags__failed(&d))
		abort();
	for (size_t i = 0; rs && i < rs->n_rules; i++) {
		check_span_target(&rs->rules[i].when);
		check_probe_span(&rs->rules[i].when);
	}
	if (diags__format(&d, &out) || (diags__failed(&d) && !out.len))
		abort();
	buf__free(&out);
	diags__free(&d);
	ruleset__free(rs);
	return 0;
}
