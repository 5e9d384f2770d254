// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/section.h"
#include "rules/text.h"
#include "rules/units.h"

#define KEYS_MAX 32 /* of one kind of section */

static const struct section_kind *const kinds[] = {
	&daemon_section,
	&session_section,
	&rule_section,
};

static const struct section_key *find_key(const struct section_kind *kind, const char *name)
{
	for (const struct section_key *key = kind->keys; key->name; key++) {
		if (!strcmp(key->name, name))
			return key;
	}
	return NULL;
}

static void unknown_key(const struct section_kind *kind, const struct source_text *src,
			const struct config_entry *e, struct diags *d)
{
	const char *names[KEYS_MAX + 1] = { NULL }, *nearest;
	char all[256] = "";
	size_t n = 0, len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!find_key(kinds[i], e->key))
			continue;
		diags__error(d, src, e->key_span, "'%s' is not a key of %s: it belongs in %s",
			     e->key, kind->title, kinds[i]->title);
		return;
	}
	for (const struct section_key *key = kind->keys; key->name && n < KEYS_MAX; key++) {
		if (!key->parse)
			continue;
		names[n++] = key->name;
		if (len < sizeof(all))
			len += snprintf(all + len, sizeof(all) - len, " %s", key->name);
	}
	nearest = nearest_word(e->key, strlen(e->key), names);
	diags__error(d, src, e->key_span, "unknown key " QUOTED " in %s" DID_YOU_MEAN "%s%s",
		     QUOTE(e->key, strlen(e->key)), kind->title, SUGGEST(nearest),
		     nearest ? "" : ": use one of", nearest ? "" : all);
}

/* Remove quotes around the whole value. */
static struct span unquote_value(const struct source_text *src, struct span value)
{
	const char *s = src->text + value.off;

	if (value.len < 2 || s[0] != '"' || s[value.len - 1] != '"' ||
	    memchr(s + 1, '"', value.len - 2) || memchr(s, '\\', value.len))
		return value;
	return (struct span){ value.off + 1, value.len - 2 };
}

static int apply_entry(const struct section_key *key, const struct config_entry *e,
		       const struct ruleset *rs, struct diags *d, void *obj)
{
	struct entry_ctx ctx = { .rs = rs, .src = rs->config->src, .entry = e, .d = d };

	if (!key->parse)
		return diags__error(d, ctx.src, e->key_span,
				    "'%s' is not supported by this version of frbpf yet", e->key);
	if (!e->has_value)
		return diags__error(d, ctx.src, e->key_span, "'%s' has no value: write %s = ...",
				    e->key, e->key);
	if (!e->value.len)
		return diags__error(d, ctx.src, e->value, "the value of '%s' is missing", e->key);
	ctx.value = unquote_value(ctx.src, e->value);
	return key->parse(&ctx, obj);
}

/* State while the entries of a section are parsed. */
struct applying {
	const struct section_kind *kind;
	const struct config_section *section;
	const struct ruleset *rs;
	struct diags *d;
	void *obj;
	const struct config_entry *seen[KEYS_MAX]; /* by index of the key */
};

static int apply_known(struct applying *a, const struct section_key *key,
		       const struct config_entry *e)
{
	const struct config_entry **seen = &a->seen[key - a->kind->keys];
	const struct source_text *src = a->rs->config->src;

	if (*seen)
		return diags__error(a->d, src, e->key_span, "'%s' appears twice: first in line %zu",
				    e->key, text__line(src, (*seen)->key_span.off));
	*seen = e;
	return apply_entry(key, e, a->rs, a->d, a->obj);
}

/* Parse the entries whose key is to be read first (@first), or the others. */
static int apply_entries(struct applying *a, bool first)
{
	int first_err = 0;

	for (size_t i = 0; i < a->section->n_entries; i++) {
		const struct config_entry *e = &a->section->entries[i];
		const struct section_key *key = find_key(a->kind, e->key);
		int err = -EINVAL;

		if ((key && key->first) != first)
			continue;
		if (key)
			err = apply_known(a, key, e);
		else
			unknown_key(a->kind, a->rs->config->src, e, a->d);
		if (err == -ENOMEM)
			return err;
		first_err = first_err ?: err;
	}
	return first_err;
}

int section__apply(const struct section_kind *kind, const struct config_section *s,
		   const struct ruleset *rs, struct diags *d, void *obj)
{
	struct applying a = { .kind = kind, .section = s, .rs = rs, .d = d, .obj = obj };
	int first_err = apply_entries(&a, true), err = -ENOMEM;

	if (first_err != -ENOMEM)
		err = apply_entries(&a, false);
	if (err == -ENOMEM)
		return err;
	first_err = first_err ?: err;
	for (const struct section_key *key = kind->keys; key->name; key++) {
		if (key->required && !a.seen[key - kind->keys] && !s->damaged)
			first_err = diags__error(d, rs->config->src, s->span,
						 "[%s] has no '%s': write %s", s->name, key->name,
						 key->required);
	}
	return first_err;
}

int entry__duration(const struct entry_ctx *ctx, uint64_t max, uint64_t *ret)
{
	char buf[32];
	uint64_t ns;

	if (text__duration(ctx->src, ctx->value, ctx->d, &ns))
		return -EINVAL;
	if (ns > max)
		return diags__error(ctx->d, ctx->src, ctx->value, "'%s' must be at most %s",
				    ctx->entry->key, units__format_duration(max, buf, sizeof(buf)));
	*ret = ns;
	return 0;
}

int entry__yes(const struct entry_ctx *ctx, bool *ret)
{
	bool yes = text__equals(ctx->src, ctx->value, "yes");

	if (!yes && !text__equals(ctx->src, ctx->value, "no"))
		return diags__error(ctx->d, ctx->src, ctx->value,
				    "'%s' must be yes or no, not " QUOTED, ctx->entry->key,
				    QUOTE_SPAN(ctx->src, ctx->value));
	*ret = yes;
	return 0;
}

int entry__string(const struct entry_ctx *ctx, char **ret)
{
	char *s = config__perf_value(ctx->rs->config, ctx->entry);

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}
