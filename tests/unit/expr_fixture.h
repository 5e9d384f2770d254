/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by tests of conditions. */
#ifndef TESTS_UNIT_EXPR_FIXTURE_H
#define TESTS_UNIT_EXPR_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "rules/expr.h"

/* Indexed by enum frbpf_op. */
static const char *const op_names[] = { "==", "!=", "<", "<=", ">", ">=", "&", "!&", "~", "!~" };

/* A condition of a rule on any source. */
static inline int parse(const char *text, struct expr *ret, struct diags *d)
{
	struct source_text *src;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	diags__keep(d, src);
	return expr__parse(src, (struct span){ 0, strlen(text) }, &(struct field_scope){ 0 }, d,
			   ret);
}

static inline const struct expr_field_desc *field_desc(unsigned int field)
{
	const struct expr_field_desc *f = expr_fields;

	if (field == FRBPF_FIELD_CGROUP_PATH)
		field = FRBPF_FIELD_CGROUP;
	while (f->field != field)
		f++;
	return f;
}

#endif
