// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/nearest_word.h"
#include "rules/file_scope.h"
#include "rules/section.h"
#include "rules/text.h"
#include "rules/units.h"

#define PRE_MAX		     (3600 * NSEC_PER_SEC)
#define POST_MAX	     (60 * NSEC_PER_SEC)
#define POST_DEFAULT	     (1 * NSEC_PER_MSEC)
#define COOLDOWN_MAX	     (365 * 86400 * NSEC_PER_SEC)
#define COOLDOWN_DEFAULT     (10 * NSEC_PER_SEC)
#define LEARN_MIN	     (1 * NSEC_PER_SEC)
#define LEARN_MAX	     (7 * 86400 * NSEC_PER_SEC)
#define ESCALATE_DEFAULT     400
#define ESCALATE_MAX	     10000
#define DUMPS_DEFAULT	     10
#define DUMPS_WINDOW_DEFAULT (3600 * NSEC_PER_SEC)

void rule_conf__init(struct rule_conf *rule)
{
	rule->pre = RULESET_WINDOW_AUTO;
	rule->post = POST_DEFAULT;
	rule->cooldown.time = COOLDOWN_DEFAULT;
	rule->escalate = ESCALATE_DEFAULT;
	rule->max_dumps = (struct rate){ .n = DUMPS_DEFAULT, .time = DUMPS_WINDOW_DEFAULT };
}

/* The fields that the other keys can use. `when` is parsed first. */
static struct field_scope scope_of(struct rule_conf *rule)
{
	const struct when_source_desc *source = when__source(rule->when.source);

	return (struct field_scope){
		.source = rule->when.source,
		.args = source && source->has_args ? &rule->args : NULL,
	};
}

static int parse_when_key(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;

	rule->when_span = ctx->value;
	rule->when_text = text__fold(ctx->src, ctx->value);
	if (!rule->when_text)
		return -ENOMEM;
	return when__parse(ctx->src, ctx->value, ctx->d, &rule->when);
}

static int parse_if(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;
	struct field_scope scope = scope_of(rule);

	/* keep quotes: those of `"a" == "b"` do not enclose the whole value */
	rule->if_text = text__fold(ctx->src, ctx->entry->value);
	if (!rule->if_text)
		return -ENOMEM;
	return expr__parse(ctx->src, ctx->entry->value, &scope, ctx->d, &rule->expr);
}

static int parse_pre(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;

	return entry__duration(ctx, PRE_MAX, &rule->pre);
}

static int parse_post(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;

	return entry__duration(ctx, POST_MAX, &rule->post);
}

static int parse_cooldown(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;
	struct field_scope scope = scope_of(rule);

	return rate__parse_cooldown(ctx->src, ctx->value, ctx->entry->key, COOLDOWN_MAX, &scope,
				    ctx->d, &rule->cooldown);
}

/* Parse "4x" or "1.5x" into hundredths. False: malformed, or not above 1 and at most 100. */
static bool read_factor(const char *s, uint32_t len, uint32_t *ret)
{
	return len && s[len - 1] == 'x' && !units__hundredths(s, len - 1, ret) && *ret > 100 &&
	       *ret <= ESCALATE_MAX;
}

static int parse_escalate(const struct entry_ctx *ctx, void *obj)
{
	const char *s = ctx->src->text + ctx->value.off;
	struct rule_conf *rule = obj;

	if (ctx->value.len == 5 && memcmp(s, "never", 5) == 0)
		rule->escalate = 0;
	else if (read_factor(s, ctx->value.len, &rule->escalate))
		rule->escalate_given = true;
	else
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "expected 'never' or a factor up to 100x, such as escalate = "
				    "4x: a value so many times larger ends the cooldown");
	return 0;
}

static int parse_learn(const struct entry_ctx *ctx, void *obj)
{
	struct when_learn *learn = &((struct rule_conf *)obj)->when.learn;
	int err;

	if (!learn->percentile)
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "'learn' needs a threshold that is learned, such as when = "
				    "runqlat > p99 * 4");
	err = entry__duration(ctx, LEARN_MAX, &learn->time);
	if (!err && learn->time < LEARN_MIN)
		err = diags__error(ctx->d, ctx->src, ctx->value,
				   "too short to learn from: at least 1s is expected");
	return err;
}

static int parse_count(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;
	struct field_scope scope = scope_of(rule);

	return rate__parse(ctx->src, ctx->value, ctx->entry->key, FRBPF_COUNT_MAX, &scope, ctx->d,
			   &rule->count);
}

static int parse_rule_max_dumps(const struct entry_ctx *ctx, void *obj)
{
	struct rule_conf *rule = obj;

	return rate__parse(ctx->src, ctx->value, ctx->entry->key, RULESET_DUMPS_MAX, NULL, ctx->d,
			   &rule->max_dumps);
}

static int unknown_session(const struct entry_ctx *ctx, struct span word)
{
	const struct ruleset *rs = ctx->rs;
	const char *nearest = NULL;
	const char **names;

	if (rs->config->damaged)
		return -EINVAL; /* the session may exist: the error in its section was reported */
	names = calloc(rs->n_sessions + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < rs->n_sessions; i++)
		names[i] = rs->sessions[i].name;
	nearest = nearest_word(ctx->src->text + word.off, word.len, names);
	diags__error(ctx->d, ctx->src, word, "there is no session " QUOTED DID_YOU_MEAN,
		     QUOTE_SPAN(ctx->src, word), SUGGEST(nearest));
	free(names);
	return -EINVAL;
}

static int add_rule_session(const struct entry_ctx *ctx, struct rule_conf *rule, struct span word)
{
	const struct ruleset *rs = ctx->rs;
	const char *s = ctx->src->text + word.off;
	size_t i;

	/* names of sections were lower-cased */
	if (!file_scope__find_session(rs, word, s, word.len, &i))
		return unknown_session(ctx, word);
	for (size_t k = 0; k < rule->n_sessions; k++) {
		if (rule->sessions[k] == i)
			return diags__error(ctx->d, ctx->src, word,
					    "the session " QUOTED " is named twice",
					    QUOTE_SPAN(ctx->src, word));
	}
	rule->sessions[rule->n_sessions++] = i;
	return 0;
}

/* Parse names separated by commas, or "none". */
static int parse_dump(const struct entry_ctx *ctx, void *obj)
{
	uint32_t pos = ctx->value.off, end = pos + ctx->value.len;
	struct rule_conf *rule = obj;
	int first_err = 0;

	rule->sessions = calloc(ctx->rs->n_sessions + 1, sizeof(*rule->sessions));
	if (!rule->sessions)
		return -ENOMEM;
	if (text__equals(ctx->src, ctx->value, "none")) {
		rule->quiet = true;
		return 0;
	}
	for (;;) {
		struct span word = text__next_word(ctx->src, &pos, end, ',');
		int err;

		if (!word.len)
			return diags__error(ctx->d, ctx->src,
					    (struct span){ word.off, word.off < end },
					    "the name of a session is expected here");
		err = add_rule_session(ctx, rule, word);
		if (err == -ENOMEM)
			return err;
		first_err = first_err ?: err;
		if (pos == end)
			return first_err;
		if (ctx->src->text[pos] != ',')
			return diags__error(ctx->d, ctx->src,
					    text__next_word(ctx->src, &pos, end, ','),
					    "a comma is missing before this");
		pos++;
	}
}

static const struct section_key keys[] = {
	{ "when", parse_when_key, "what fires the rule, such as when = runqlat > 20ms",
	  .first = true },
	{ "if", parse_if },
	{ "dump", parse_dump },
	{ "pre", parse_pre },
	{ "post", parse_post },
	{ "cooldown", parse_cooldown },
	{ "escalate", parse_escalate },
	{ "count", parse_count },
	{ "learn", parse_learn },
	{ "max-dumps", parse_rule_max_dumps },
	{ "on-dump" },
	{ NULL },
};
const struct section_kind rule_section = { "[rule-NAME]", keys };

static uint64_t hash_rate(uint64_t hash, const struct rate *r)
{
	const uint64_t words[] = { r->n, r->time, r->per, r->field };

	return hash_fnv1a(hash, words, sizeof(words));
}

static uint64_t rule_id(const struct rule_conf *rule)
{
	const char *texts[] = { rule->name, rule->when_text, rule->if_text ? rule->if_text : "" };
	uint64_t hash = HASH_FNV1A_BEGIN;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		hash = hash_fnv1a(hash, texts[i], strlen(texts[i]) + 1);
	hash = hash_rate(hash, &rule->cooldown);
	hash = hash_rate(hash, &rule->count);
	if (rule->when.learn.percentile)
		hash = hash_fnv1a(hash, &rule->when.learn.time, sizeof(rule->when.learn.time));
	for (uint32_t i = 0; i < rule->when.parts.n; i++)
		hash = hash_fnv1a(hash, &rule->when.parts.v[i].id, sizeof(uint64_t));
	return hash ? hash : 1; /* 0 means no rule */
}

/* Hash of what a rule learns from: equal for the same events, condition and period. */
static uint64_t learn_id(const struct rule_conf *rule)
{
	const struct when *w = &rule->when;
	const char *texts[] = { w->target ?: "", rule->if_text ?: "" };
	const uint64_t words[] = { w->source, w->all_calls, w->learn.time };
	uint64_t hash = hash_fnv1a(HASH_FNV1A_BEGIN, words, sizeof(words));

	hash = hash_fnv1a(hash, w->keys, sizeof(w->keys));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		hash = hash_fnv1a(hash, texts[i], strlen(texts[i]) + 1);
	return hash;
}

void rule_conf__identify(struct rule_conf *rule)
{
	rule->id = rule_id(rule);
	rule->learn_id = learn_id(rule);
}

static bool condition_looks_at(const struct rule_conf *rule, enum frbpf_field field)
{
	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		if (rule->expr.nodes[i].field == field)
			return true;
	}
	return false;
}

/* A rule on the call of a function cannot use `ret`: the function has not returned. */
static bool asks_for_ret_too_early(const struct rule_conf *rule)
{
	return rule->when.source == FRBPF_SOURCE_UPROBE && (rule->when.hit || rule->when.pending) &&
	       condition_looks_at(rule, FRBPF_FIELD_RET);
}

/* Refuse str() where the call has not ended, or has no path to read. 0 or -EINVAL. */
static int check_call_path(const struct rule_conf *rule, const struct source_text *src,
			   struct diags *d)
{
	const struct when *when = &rule->when;

	if (!condition_looks_at(rule, FRBPF_FIELD_PATH))
		return 0;
	if (when->source != FRBPF_SOURCE_SYSCALL) {
		if (!when->pending)
			return 0;
		return diags__error(d, src, rule->when_span,
				    "'str()' is read when the call ends: a rule on pending calls "
				    "cannot use it");
	}
	for (int nr = 0; nr < FRBPF_KEY_MAX; nr++) {
		enum frbpf_call_file arg = syscall__file_arg(nr);

		if (when->keys[nr / 64] >> (nr % 64) & 1 &&
		    (arg == FRBPF_CALL_PATH_FIRST || arg == FRBPF_CALL_PATH_SECOND))
			return 0;
	}
	return diags__error(d, src, rule->when_span, "none of these calls takes a path");
}

/* Refuse fields of the peer unless a call is on a socket. 0 or -EINVAL. */
static int check_call_peer(const struct rule_conf *rule, const struct source_text *src,
			   struct diags *d)
{
	const struct when *when = &rule->when;

	if (when->source != FRBPF_SOURCE_SYSCALL ||
	    (!condition_looks_at(rule, (enum frbpf_field)FRBPF_SYSCALL_PEER) &&
	     !condition_looks_at(rule, (enum frbpf_field)FRBPF_SYSCALL_PORT) &&
	     !condition_looks_at(rule, (enum frbpf_field)FRBPF_SYSCALL_FAMILY)))
		return 0;
	for (int nr = 0; nr < FRBPF_KEY_MAX; nr++) {
		if (when->keys[nr / 64] >> (nr % 64) & 1 && syscall__peer(nr))
			return 0;
	}
	return diags__error(d, src, rule->when_span,
			    "none of these calls uses a socket, and only a socket has a peer");
}

int rule_conf__finish(const struct ruleset *rs, struct rule_conf *rule, struct diags *d)
{
	const struct source_text *src = rs->config->src;
	int err;

	if (when__source(rule->when.source)->needs_if && !rule->if_text)
		return diags__error(d, src, rule->when_span,
				    "'%s' without an 'if' fires all the time: waiting is what most "
				    "tasks do",
				    when__source_name(rule->when.source));
	if (rule->when.parts.n && rule->if_text)
		return diags__error(
			d, src, rule->when_span,
			"a rule on other rules has no 'if': put the conditions in those rules");
	if (asks_for_ret_too_early(rule))
		return diags__error(
			d, src, rule->when_span, "%s",
			rule->when.pending
				? "'ret' is known when the function returns: a rule on pending "
				  "calls cannot use it"
				: "'ret' is known when the function returns: add a threshold, such "
				  "as > 1ns");
	if (check_call_path(rule, src, d) || check_call_peer(rule, src, d))
		return -EINVAL;
	if (rule->escalate_given && !rule->when.threshold && !rule->when.learn.percentile)
		return diags__error(
			d, src, rule->when_span,
			"'escalate' compares measured values: this rule has no threshold");
	if (rule->escalate_given &&
	    (rule->when.pending || rule->when.silence || rule->when.share.time))
		return diags__error(
			d, src, rule->when_span,
			"'escalate' compares measured values: pending(), absent() and shares of "
			"time fire at their threshold, so no value is larger than another");
	err = rule->when.share.cgroup ? expr__require_cgroup(&rule->expr, rule->when.share.cgroup)
				      : 0;
	if (err == -E2BIG)
		return diags__error(d, src, rule->when_span,
				    "'if' leaves no room for the cgroup after 'of': without "
				    "parentheses, both have more than %d comparisons",
				    FRBPF_MAX_NODES);
	if (err)
		return err;
	rule_conf__identify(rule);
	if (rule->sessions)
		return 0;
	rule->sessions = calloc(rs->n_sessions + 1, sizeof(*rule->sessions));
	if (!rule->sessions)
		return -ENOMEM;
	for (size_t i = 0; i < rs->n_sessions; i++) {
		if (file_scope__is_default(rs, src, rule->name_span, i))
			rule->sessions[rule->n_sessions++] = i;
	}
	return 0;
}

void rule_conf__free(struct rule_conf *rule)
{
	free(rule->name);
	free(rule->when_text);
	free(rule->if_text);
	when__free(&rule->when);
	rule_args__free(&rule->args);
	expr__free(&rule->expr);
	free(rule->sessions);
}
