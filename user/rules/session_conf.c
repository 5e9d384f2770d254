// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "rules/section.h"
#include "rules/units.h"

#define RING_MAX (3600 * NSEC_PER_SEC)

static int parse_run(const struct entry_ctx *ctx, void *obj)
{
	struct session_conf *session = obj;

	session->run_span = ctx->entry->value;
	return entry__string(ctx, &session->run);
}

static int parse_ring(const struct entry_ctx *ctx, void *obj)
{
	struct session_conf *session = obj;

	session->ring_span = ctx->value;
	if (entry__duration(ctx, RING_MAX, &session->ring))
		return -EINVAL;
	if (!session->ring)
		return diags__error(ctx->d, ctx->src, ctx->value, "'ring' must be longer than 0");
	return 0;
}

static const struct section_key keys[] = {
	{ "run", parse_run, "the options of a perf record, such as run = -a -e cycles" },
	{ "ring", parse_ring },
	{ NULL },
};
const struct section_kind session_section = { "[session-NAME]", keys };
