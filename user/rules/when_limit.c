// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threshold of a rule: a duration, a multiple of a percentile of recent values, or a share of
 * time.
 */
#include <errno.h>
#include <string.h>

#include "rules/rate.h"
#include "rules/units.h"
#include "rules/when_parse.h"

#define PERCENTILE_MIN 5000 /* hundredths of a percent */
#define PERCENTILE_MAX 9999
#define FACTOR_MIN     100 /* hundredths */
#define FACTOR_MAX     100000
#define LEARN_DEFAULT  (600 * NSEC_PER_SEC)
#define SHARE_MAX      100000 /* hundredths of a percent */
#define SHARE_TIME_MIN (10 * NSEC_PER_MSEC)
#define SHARE_TIME_MAX (600 * NSEC_PER_SEC)

static int parse_threshold_op(struct when_parser *p)
{
	struct span here = when_parser__here(p), word;

	if (p->pos == p->end)
		return diags__error(
			p->d, p->src, here,
			"a threshold is missing: write '> ' and a duration, such as > 20ms");
	if (when_parser__at(p, ">=")) {
		here.len = 2;
		return diags__error(p->d, p->src, here,
				    "a rule fires above its threshold: write '>' instead of '>='");
	}
	if (when_parser__at(p, ">")) {
		p->pos++;
		return 0;
	}
	if (when_parser__at(p, "->")) {
		here.len = 2;
		return diags__error(p->d, p->src, here,
				    "a span is from one tracepoint to another: write A:start -> "
				    "B:end by KEY > 50ms");
	}
	if (strchr("<=!", p->src->text[p->pos])) {
		here.len += p->pos + 1 < p->end && p->src->text[p->pos + 1] == '=';
		return diags__error(
			p->d, p->src, here,
			"a rule fires above its threshold: write '>' instead of " QUOTED,
			QUOTE_SPAN(p->src, here));
	}
	word = when_parser__word(p);
	if (text__equals(p->src, word, "fails"))
		return diags__error(p->d, p->src, word, "only system calls and connect can fail");
	if (word.len)
		here = word;
	return diags__error(p->d, p->src, here, "'>' is expected here, not " QUOTED,
			    QUOTE_SPAN(p->src, here));
}

/* Get what follows the duration, as in "20ms garbage". len 0: the duration itself is wrong. */
static struct span span_after_duration(const struct when_parser *p, struct span span)
{
	struct when_parser q = *p;
	const char *why;
	struct span first;
	uint64_t ns;

	first = when_parser__word(&q);
	if (q.pos == q.end || units__duration(p->src->text + first.off, first.len, &ns, &why))
		return (struct span){ span.off, 0 };
	return when_parser__rest(&q);
}

static int refuse_after_threshold(struct when_parser *p, struct span rest)
{
	return diags__error(p->d, p->src, rest,
			    "nothing may follow the threshold: put conditions in 'if'");
}

static int check_limit_threshold(struct when_parser *p, struct span span, uint64_t *ret)
{
	if (text__duration(p->src, span, p->d, ret))
		return -EINVAL;
	if (!*ret)
		return diags__error(p->d, p->src, span, "the threshold must be larger than 0");
	return 0;
}

static int parse_threshold_duration(struct when_parser *p, uint64_t *ret)
{
	struct span span = when_parser__rest(p), rest;

	p->pos = span.off;
	if (!span.len)
		return diags__error(p->d, p->src, (struct span){ p->end, 0 },
				    "a duration is expected after '>', such as 20ms");
	rest = span_after_duration(p, span);
	return rest.len ? refuse_after_threshold(p, rest) : check_limit_threshold(p, span, ret);
}

/* In pending(), the threshold follows the ')'. */
static int refuse_threshold(struct when_parser *p)
{
	return diags__error(p->d, p->src, when_parser__rest(p),
			    "the threshold comes after the ')', such as pending(blocked) > 5s");
}

/* ---- thresholds that follow the workload ---- */

static bool at_digit(const struct when_parser *p, uint32_t at)
{
	return at < p->end && p->src->text[at] >= '0' && p->src->text[at] <= '9';
}

/* Parse "p99 * 4". */
static int take_percentile(struct when_parser *p, struct when_learn *ret)
{
	struct span word = when_parser__word(p);
	const char *s = p->src->text + word.off;

	if (!word.len || s[0] != 'p' || units__hundredths(s + 1, word.len - 1, &ret->percentile) ||
	    ret->percentile < PERCENTILE_MIN || ret->percentile > PERCENTILE_MAX)
		return diags__error(p->d, p->src, word.len ? word : when_parser__here(p),
				    "a percentile from p50 to p99.99 is expected here, such as "
				    "p99 * 4");
	if (!when_parser__at(p, "*"))
		return diags__error(p->d, p->src, when_parser__here(p),
				    "a factor is missing after the percentile: write %.*s * 4",
				    (int)word.len, s);
	p->pos++;
	word = when_parser__word(p);
	if (units__hundredths(p->src->text + word.off, word.len, &ret->factor) ||
	    ret->factor < FACTOR_MIN || ret->factor > FACTOR_MAX)
		return diags__error(p->d, p->src, word.len ? word : when_parser__here(p),
				    "a number from 1 to 1000 is expected after '*', such as 4");
	ret->time = LEARN_DEFAULT;
	return 0;
}

/* Parse ", 5ms)" after "max(p99 * 4". */
static int take_least_threshold(struct when_parser *p, uint64_t *ret)
{
	struct span word;

	if (!when_parser__at(p, ","))
		return diags__error(p->d, p->src, when_parser__here(p),
				    "the minimum threshold is missing: write max(p99 * 4, 5ms)");
	p->pos++;
	word = when_parser__word(p);
	if (!word.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "a duration is expected here, such as 5ms");
	if (check_limit_threshold(p, word, ret))
		return -EINVAL;
	if (!when_parser__at(p, ")"))
		return diags__error(p->d, p->src, when_parser__here(p), "')' is expected here");
	p->pos++;
	when_parser__skip_blanks(p);
	return 0;
}

static int parse_percentile(struct when_parser *p, bool has_least, struct when *ret)
{
	int err;

	if (has_least) {
		when_parser__word(p);
		p->pos++; /* the parenthesis */
	}
	err = take_percentile(p, &ret->learn);
	if (!err && has_least)
		err = take_least_threshold(p, &ret->threshold);
	if (!err && p->pos != p->end)
		err = refuse_after_threshold(p, when_parser__rest(p));
	return err;
}

/* Does a percentile begin here, with or without max()? */
static bool at_percentile(const struct when_parser *p, bool *ret_has_least)
{
	struct when_parser q = *p;
	struct span word = when_parser__word(&q);

	*ret_has_least = text__equals(p->src, word, "max") && when_parser__at(&q, "(");
	return *ret_has_least ||
	       (word.len && p->src->text[word.off] == 'p' && at_digit(p, word.off + 1));
}

/* ---- shares of time ---- */

static bool at_share(const struct when_parser *p)
{
	struct when_parser q = *p;
	struct span word = when_parser__word(&q);

	return word.len && p->src->text[word.off + word.len - 1] == '%';
}

/* Convert "50%" of @window to ns. */
static int read_share(struct when_parser *p, struct span word, uint64_t window, uint64_t *ret)
{
	uint32_t hundredths;

	if (units__hundredths(p->src->text + word.off, word.len - 1, &hundredths) || !hundredths ||
	    hundredths > SHARE_MAX)
		return diags__error(
			p->d, p->src, word,
			"a share of time must be more than 0 and at most 1000%%, such as 50%%");
	*ret = window / 10000 * hundredths + window % 10000 * hundredths / 10000;
	return 0;
}

/* Parse "in 1s". */
static int take_share_window(struct when_parser *p, struct span share, uint64_t *ret)
{
	struct span in = when_parser__word(p), word;

	if (!text__equals(p->src, in, "in"))
		return diags__error(p->d, p->src, in.len ? in : when_parser__here(p),
				    "the time is missing: write > %.*s in 1s", (int)share.len,
				    p->src->text + share.off);
	word = when_parser__word(p);
	if (!word.len)
		return diags__error(p->d, p->src, when_parser__here(p),
				    "a time is expected after 'in', such as 1s");
	if (text__duration(p->src, word, p->d, ret))
		return -EINVAL;
	if (*ret < SHARE_TIME_MIN || *ret > SHARE_TIME_MAX)
		return diags__error(p->d, p->src, word,
				    "the time of a share must be from 10ms to 10m");
	return 0;
}

static bool is_of_cpu(const struct when *when)
{
	return when->share.per == FRBPF_PER_FIELD && when->share.field == FRBPF_FIELD_CPU;
}

/* Parse "per WHAT", or set its default. */
static int take_share_per(struct when_parser *p, struct when *ret)
{
	const struct field_scope scope = { .source = ret->source };
	bool has_subject = when__has_subject(ret->source);
	struct when_parser q = *p;
	struct span per = when_parser__word(&q), what;
	struct rate rate = { 0 };

	ret->share.per = has_subject ? FRBPF_PER_CGROUP : FRBPF_PER_FIELD;
	ret->share.field = FRBPF_FIELD_CPU;
	if (!text__equals(p->src, per, "per")) {
		if (text__equals(p->src, per, "of"))
			ret->share.per = FRBPF_PER_RULE;
		return 0;
	}
	what = when_parser__word(&q);
	if (rate__parse_per(p->src, (struct span){ per.off, what.off + what.len - per.off }, &scope,
			    p->d, &rate))
		return -EINVAL;
	if (!has_subject && rate.per != FRBPF_PER_RULE && rate.per != FRBPF_PER_FIELD)
		return diags__error(p->d, p->src, what,
				    "'%s' has no subject: write per cpu, or per rule for all CPUs",
				    when__source_name(ret->source));
	ret->share.per = rate.per;
	ret->share.field = rate.field;
	*p = q;
	return 0;
}

static int take_share_cgroup(struct when_parser *p, struct when *ret)
{
	char path[FRBPF_PATH_LEN];

	if (!when__has_subject(ret->source))
		return diags__error(p->d, p->src, when_parser__rest(p),
				    "'%s' has no subject, so it has no cgroup",
				    when__source_name(ret->source));
	if (when_parser__of_cgroup(p, path, sizeof(path)))
		return -EINVAL;
	ret->share.cgroup = path[0] ? strdup(path) : NULL;
	return path[0] && !ret->share.cgroup ? -ENOMEM : 0;
}

/* Reject 100% or more of a CPU's time: events of these sources do not overlap on a CPU. */
static int check_share(struct when_parser *p, struct span share, const struct when *when)
{
	if (when->threshold < when->share.time || !is_of_cpu(when) ||
	    (when->source != FRBPF_SOURCE_HARDIRQ && when->source != FRBPF_SOURCE_SOFTIRQ &&
	     when->source != FRBPF_SOURCE_ONCPU))
		return 0;
	return diags__error(p->d, p->src, share, "one CPU cannot be above 100%%: this never fires");
}

/* Parse "50% in 1s", then "per WHAT" and "of CGROUP", both optional. */
static int parse_share(struct when_parser *p, struct when *ret)
{
	struct span share = when_parser__word(p);
	int err = take_share_window(p, share, &ret->share.time);

	err = err ?: read_share(p, share, ret->share.time, &ret->threshold);
	err = err ?: take_share_per(p, ret);
	err = err ?: check_share(p, share, ret);
	if (!err && p->pos < p->end)
		err = take_share_cgroup(p, ret);
	return err;
}

int when_parser__duration(struct when_parser *p, uint64_t *ret)
{
	bool has_least;
	int err = parse_threshold_op(p);

	if (!err && (at_percentile(p, &has_least) || at_share(p)))
		return diags__error(p->d, p->src, when_parser__rest(p),
				    "percentiles and shares of time count only what has ended: a "
				    "duration is expected here, such as 5s");
	return err ?: parse_threshold_duration(p, ret);
}

int when_parser__threshold(struct when_parser *p, struct when *ret)
{
	bool has_least;
	int err;

	if (p->open && p->pos == p->end)
		return 0;
	if (p->open == OPEN_PENDING)
		return refuse_threshold(p);
	if (p->open == OPEN_ABSENT)
		return when_parser__duration(p, &ret->threshold);
	err = parse_threshold_op(p);
	if (err)
		return err;
	if (at_share(p))
		return parse_share(p, ret);
	return at_percentile(p, &has_least) ? parse_percentile(p, has_least, ret)
					    : parse_threshold_duration(p, &ret->threshold);
}
