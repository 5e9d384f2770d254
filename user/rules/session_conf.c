// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include <stdlib.h>
#include <string.h>

#include "common/nearest_word.h"
#include "rules/section.h"
#include "rules/text.h"
#include "rules/units.h"

#define RING_MAX      (3600 * NSEC_PER_SEC)
#define RING_EVIDENCE (10 * NSEC_PER_SEC)
#define EVIDENCE      "evidence"
#define EVIDENCE_MORE "full"

/* as in configs/ */
#define CPU_LINE "-e cycles -F 99 -g -m 1M --overwrite --switch-output -a"

/* Recognise `evidence [full] [OPTIONS]`. Returns the word after `evidence`: `full` or another. */
static struct span set_evidence(struct session_conf *s)
{
	uint32_t pos = s->run_span.off, end = pos + s->run_span.len, next;
	struct span word = { pos, 0 };

	s->evidence = EVIDENCE_NONE;
	if (!text__equals(s->src, text__next_word(s->src, &pos, end, ' '), EVIDENCE))
		return word;
	next = pos;
	word = text__next_word(s->src, &next, end, ' ');
	s->evidence = EVIDENCE_BRIEF;
	if (text__equals(s->src, word, EVIDENCE_MORE)) {
		s->evidence = EVIDENCE_FULL;
		pos = next;
	}
	s->evidence_options = (struct span){ pos, end - pos };
	return word;
}

static int parse_run(const struct entry_ctx *ctx, void *obj)
{
	static const char *const levels[] = { EVIDENCE_MORE, NULL };
	struct session_conf *session = obj;
	struct span level;

	session->run_span = ctx->entry->value;
	session->src = ctx->src;
	level = set_evidence(session);
	if (session->evidence == EVIDENCE_BRIEF && level.len &&
	    nearest_word(ctx->src->text + level.off, level.len, levels))
		return diags__error(ctx->d, ctx->src, level,
				    "unknown level of evidence " QUOTED
				    " (did you mean '" EVIDENCE_MORE "'?)",
				    QUOTE_SPAN(ctx->src, level));
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

static int parse_respawn(const struct entry_ctx *ctx, void *obj)
{
	struct session_conf *session = obj;

	session->respawn_span = ctx->value;
	return entry__yes(ctx, &session->respawn);
}

static const struct section_key keys[] = {
	{ "run", parse_run,
	  "the options of a perf record, such as run = -a -e cycles, or run = " EVIDENCE },
	{ "ring", parse_ring },
	{ "respawn", parse_respawn },
	{ NULL },
};
const struct section_kind session_section = { "[session-NAME]", keys };

void session_conf__finish(struct session_conf *s)
{
	if (s->evidence && !s->ring)
		s->ring = RING_EVIDENCE;
}

static int default_session_add(struct ruleset *rs, const char *name, const char *run)
{
	struct session_conf *v = reallocarray(rs->sessions, rs->n_sessions + 1, sizeof(*v));
	struct source_text *src;

	if (!v)
		return -ENOMEM;
	rs->sessions = v;
	if (source_text__make("the default session", run, &src))
		return -ENOMEM;
	ruleset__keep(rs, src);
	v += rs->n_sessions++;
	*v = (struct session_conf){
		.name = strdup(name), .run = strdup(run), .src = src, .run_span = { 0, src->len }
	};
	set_evidence(v);
	session_conf__finish(v);
	return v->name && v->run ? 0 : -ENOMEM;
}

int session_conf__add_defaults(struct ruleset *rs)
{
	rs->default_sessions = true;
	return default_session_add(rs, EVIDENCE, EVIDENCE)
		       ?: default_session_add(rs, "cpu", CPU_LINE);
}
