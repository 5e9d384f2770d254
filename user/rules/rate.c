// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest_word.h"
#include "rules/rate.h"
#include "rules/text.h"
#include "rules/units.h"
#include "rules/when.h"

#define WINDOW_MAX (365 * 86400 * NSEC_PER_SEC)
#define FIELDS_MAX 64 /* names that an error compares for the nearest one */

static const struct {
	const char *name;
	enum frbpf_per per;
} per_words[] = {
	{ "rule", FRBPF_PER_RULE },
	{ "process", FRBPF_PER_PROCESS },
	{ "thread", FRBPF_PER_THREAD },
	{ "cgroup", FRBPF_PER_CGROUP },
};

struct parser {
	const struct source_text *src;
	struct diags *d;
	const char *key;
	uint32_t pos, end;
	const struct field_scope *scope; /* NULL: `per` is not allowed */
};

/* Read up to the next blank; may be empty. */
static struct span parser__word(struct parser *p)
{
	return text__next_word(p->src, &p->pos, p->end, ' ');
}

static struct span parser__rest(const struct parser *p)
{
	return (struct span){ p->pos, p->end - p->pos };
}

/* Report a word after `per` that is neither one of per_words nor a field. */
static int unknown_per(struct parser *p, struct span what)
{
	const char *names[ARRAY_SIZE(per_words) + FIELDS_MAX + 1] = { NULL }, *nearest;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(per_words); i++)
		names[n++] = per_words[i].name;
	for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
		if (n < ARRAY_SIZE(names) - 1 && expr_field__is_of(f, p->scope->source))
			names[n++] = f->name;
	}
	nearest = nearest_word(p->src->text + what.off, what.len, names);
	return diags__error(
		p->d, p->src, what,
		QUOTED
		" cannot follow 'per': write rule, process, thread, cgroup or a field" DID_YOU_MEAN,
		QUOTE_SPAN(p->src, what), SUGGEST(nearest));
}

static int parse_what(struct parser *p, struct span what, struct rate *ret)
{
	const char *s = p->src->text + what.off;
	const struct expr_field_desc *field;
	uint32_t slot;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(per_words); i++) {
		if (text__equals(p->src, what, per_words[i].name)) {
			ret->per = per_words[i].per;
			return 0;
		}
	}
	if (!p->scope->args && !expr_field__find(p->scope, s, what.len))
		return unknown_per(p, what);
	err = field_scope__find(p->scope, p->src, what, p->d, &field, &slot);
	if (err)
		return err;
	if (field && field->type == EXPR_DURATION)
		return diags__error(p->d, p->src, what, "'%s' differs with every match",
				    field->name);
	if (field && (field->type == EXPR_NAME || field->type == EXPR_TEXT))
		return diags__error(p->d, p->src, what,
				    "'%s' has too many values to count each of them", field->name);
	ret->per = FRBPF_PER_FIELD;
	ret->field = field ? field->field : FRBPF_FIELD_ARG + slot;
	return 0;
}

/* Parse "per WHAT" or nothing. */
static int parse_per(struct parser *p, struct span per, struct rate *ret)
{
	struct span what;

	if (!per.len)
		return 0;
	if (!text__equals(p->src, per, "per"))
		return diags__error(p->d, p->src, per, "'per' is expected here, not " QUOTED,
				    QUOTE_SPAN(p->src, per));
	what = parser__word(p);
	if (!what.len)
		return diags__error(
			p->d, p->src, per,
			"a word must follow 'per': rule, process, thread, cgroup or a field");
	if (p->pos != p->end)
		return diags__error(p->d, p->src, parser__rest(p), "nothing may follow here");
	return parse_what(p, what, ret);
}

static int parse_window(struct parser *p, struct span word, uint64_t max, uint64_t *ret)
{
	char buf[32];
	uint64_t ns;

	if (text__duration(p->src, word, p->d, &ns))
		return -EINVAL;
	if (ns > max)
		return diags__error(p->d, p->src, word, "'%s' must be at most %s", p->key,
				    units__format_duration(max, buf, sizeof(buf)));
	*ret = ns;
	return 0;
}

int rate__parse(const struct source_text *src, struct span span, const char *key, uint32_t n_max,
		const struct field_scope *scope, struct diags *d, struct rate *ret)
{
	struct parser p = { src, d, key, span.off, span.off + span.len, scope };
	struct span number = parser__word(&p), in = parser__word(&p), window = parser__word(&p);
	struct rate rate = { 0 };
	const char *why;
	uint64_t n;
	int err;

	if (units__number(src->text + number.off, number.len, &n, &why) ||
	    !text__equals(src, in, "in") || !window.len)
		return diags__error(d, src, span,
				    "'%s' must be a number and a time, such as 3 in 10s", key);
	if (!n || n > n_max)
		return diags__error(d, src, number, "'%s' must be from 1 to %u", key, n_max);
	rate.n = n;
	if (parse_window(&p, window, WINDOW_MAX, &rate.time))
		return -EINVAL;
	if (!rate.time)
		return diags__error(d, src, window, "the time must be larger than 0");
	if (!scope && p.pos != p.end)
		return diags__error(d, src, parser__rest(&p), "nothing may follow here");
	err = parse_per(&p, parser__word(&p), &rate);
	if (err)
		return err;
	*ret = rate;
	return 0;
}

int rate__parse_cooldown(const struct source_text *src, struct span span, const char *key,
			 uint64_t max, const struct field_scope *scope, struct diags *d,
			 struct rate *ret)
{
	struct parser p = { src, d, key, span.off, span.off + span.len, scope };
	struct span window = parser__word(&p), per = parser__word(&p);
	struct rate rate = { 0 };
	int err;

	if (per.len && !text__equals(src, per, "per")) { /* malformed: "30 s", "ten seconds" */
		window = span;
		per.len = 0;
	}
	err = parse_window(&p, window, max, &rate.time);
	err = err ?: parse_per(&p, per, &rate);
	if (err)
		return err;
	*ret = rate;
	return 0;
}

int rate__parse_per(const struct source_text *src, struct span span,
		    const struct field_scope *scope, struct diags *d, struct rate *ret)
{
	struct parser p = { src, d, NULL, span.off, span.off + span.len, scope };

	return parse_per(&p, parser__word(&p), ret);
}

const char *rate__per_name(const struct rate *r, enum frbpf_source source,
			   const struct rule_args *args)
{
	const struct expr_field_desc *field = expr_field__of(source, r->field);
	int arg;

	for (size_t i = 0; i < ARRAY_SIZE(per_words); i++) {
		if (per_words[i].per == r->per)
			return per_words[i].name;
	}
	if (field)
		return field->name;
	arg = rule_args__by_slot(args, r->field - FRBPF_FIELD_ARG);
	return arg < 0 ? "?" : args->v[arg].name;
}
