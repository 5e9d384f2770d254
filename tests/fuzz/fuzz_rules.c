// SPDX-License-Identifier: GPL-2.0-only
// clang-format off
/* fuzz-sources: user/rules/config.c user/rules/daemon_conf.c user/rules/diag.c user/rules/expr.c user/rules/expr_dnf.c user/rules/expr_leaf.c user/rules/expr_lex.c user/rules/expr_parse.c user/rules/glob.c user/rules/nearest.c user/rules/rate.c user/rules/rule_conf.c user/rules/ruleset.c user/rules/section.c user/rules/session_conf.c user/rules/symbols.c user/rules/syscall_kinds.c user/rules/syscall_names.c user/rules/text.c user/rules/units.c user/rules/when.c user/common/buf.c user/common/err.c */
// clang-format on
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/ruleset.h"

#define TEXT_MAX (1 << 20)

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

	/* a text is either understood or refused with a reason */
	if (!ruleset__parse(src, &d, &rs) == diags__failed(&d))
		abort();
	if (diags__format(&d, &out) || (diags__failed(&d) && !out.len))
		abort();
	buf__free(&out);
	diags__free(&d);
	ruleset__free(rs);
	return 0;
}
