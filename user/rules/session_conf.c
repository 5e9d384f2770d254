// SPDX-License-Identifier: GPL-2.0-only
#include "rules/section.h"

static int parse_run(const struct entry_ctx *ctx, void *obj)
{
	struct session_conf *session = obj;

	session->run_span = ctx->entry->value;
	return entry__string(ctx, &session->run);
}

static const struct section_key keys[] = {
	{ "run", parse_run, "the options of a perf record, such as run = -a -e cycles" },
	{ "ring" },
	{ NULL },
};
const struct section_kind session_section = { "[session-NAME]", keys };
