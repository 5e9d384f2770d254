// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "rules/symbols.h"
#include "rules/text.h"
#include "rules/units.h"
#include "rules/when.h"

const struct when_source_desc when_sources[] = {
	{ "runqlat", FRBPF_SOURCE_RUNQLAT,
	  .meaning = "a runnable task waited that long for a CPU; its subject is the task that "
		     "waited" },
	{ "blocked", FRBPF_SOURCE_BLOCKED,
	  .meaning = "a task was in uninterruptible sleep that long; its subject is that task" },
	{ "offcpu", FRBPF_SOURCE_OFFCPU, .needs_if = true,
	  .meaning = "a task was off its CPU that long for any reason; its subject is that task" },
	{ "syscall", FRBPF_SOURCE_SYSCALL, .has_keys = true,
	  .meaning = "one of the system calls named took that long, or failed; its subject is the "
		     "caller" },
	{ NULL },
};

static const char *const source_names[] = { "runqlat", "blocked", "offcpu", "syscall", NULL };

/* Of the design, for later versions. */
static const char *const later_sources[] = {
	"blkio", "blkio.device", "hardirq", "softirq", "reclaim", "uprobe",
	"usdt",	 "app",		 "psi",	    "pending", "absent",  NULL,
};

struct parser {
	const struct source_text *src;
	struct diags *d;
	uint32_t pos;
	uint32_t end;
	bool failed; /* something was wrong, but its form is right: go on for the errors behind it
		      */
};

static struct span parser__rest(const struct parser *p)
{
	return text__trim(p->src, (struct span){ p->pos, p->end - p->pos });
}

static bool parser__at(const struct parser *p, const char *s)
{
	return p->end - p->pos >= strlen(s) && !memcmp(p->src->text + p->pos, s, strlen(s));
}

static void parser__skip_blanks(struct parser *p)
{
	p->pos = text__skip_blanks(p->src, p->pos, p->end);
}

/* What stands here up to a blank or one of the signs of the language; perhaps nothing. */
static struct span parser__word(struct parser *p)
{
	struct span span;

	parser__skip_blanks(p);
	span.off = p->pos;
	while (p->pos < p->end && !strchr(":,<>=!()*\\\"", p->src->text[p->pos]) &&
	       !text__blank(p->src, p->pos, p->end) && !parser__at(p, "->"))
		p->pos++;
	span.len = p->pos - span.off;
	parser__skip_blanks(p);
	return span;
}

/* The place of an error: the character here, or the one behind the last word at the end. */
static struct span parser__here(const struct parser *p)
{
	struct span here = { p->pos, 1 };
	bool printable;

	if (p->pos == p->end)
		return (struct span){ p->end, 0 };
	here.len = text__char(p->src->text + p->pos, p->end - p->pos, &printable);
	return here;
}

static int unknown_source(struct parser *p, struct span name)
{
	const char *s = p->src->text + name.off;
	const char *nearest = nearest_word(s, name.len, source_names);
	struct span here = parser__here(p);

	for (const char *const *later = later_sources; *later; later++) {
		if (text__equals(p->src, name, *later))
			return diags__error(p->d, p->src, name,
					    "the source '%s' is not supported yet", *later);
	}
	if (parser__at(p, "->"))
		return diags__error(p->d, p->src, (struct span){ p->pos, 2 },
				    "spans ('A -> B by KEY') are not supported yet");
	if (!name.len)
		return diags__error(p->d, p->src, here,
				    "a source is expected here, such as runqlat");
	if (parser__at(p, ":") &&
	    (!nearest || strcmp(nearest, "syscall") || text__equals(p->src, name, "syscalls")))
		return diags__error(p->d, p->src, name,
				    "tracepoints (" QUOTED ":...) are not supported yet",
				    QUOTE(s, name.len));
	return diags__error(p->d, p->src, name, "unknown source " QUOTED DID_YOU_MEAN "%s",
			    QUOTE(s, name.len), SUGGEST(nearest),
			    nearest ? "" : ": there are runqlat, blocked, offcpu and syscall:NAME");
}

static const struct when_source_desc *find_source(const struct parser *p, struct span name)
{
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		if (text__equals(p->src, name, s->name))
			return s;
	}
	return NULL;
}

/* One system call's name. Errors of the name do not stop the parser. */
static void add_syscall(struct parser *p, struct span name, uint64_t *keys)
{
	const char *s = p->src->text + name.off, *nearest;
	int nr = syscall__number(s, name.len);

	if (nr < 0) {
		nearest = nearest_word(s, name.len, syscall_names);
		diags__error(p->d, p->src, name, "unknown system call " QUOTED DID_YOU_MEAN,
			     QUOTE(s, name.len), SUGGEST(nearest));
		p->failed = true;
	} else if (syscall__kind(syscall__name(nr)) == SYSCALL_ENDLESS) {
		diags__error(p->d, p->src, name, QUOTED " never returns", QUOTE(s, name.len));
		p->failed = true;
	} else if (nr >= FRBPF_KEY_MAX) {
		diags__error(p->d, p->src, name,
			     QUOTED " has number %d: only those below %d can be "
				    "watched",
			     QUOTE(s, name.len), nr, FRBPF_KEY_MAX);
		p->failed = true;
	} else if (keys[nr / 64] >> (nr % 64) & 1) {
		diags__error(p->d, p->src, name, QUOTED " is named twice", QUOTE(s, name.len));
		p->failed = true;
	} else {
		keys[nr / 64] |= 1ULL << (nr % 64);
	}
}

static int parse_syscalls(struct parser *p, struct span source, struct when *ret)
{
	struct span name;
	int n = 0;

	if (!parser__at(p, ":"))
		return diags__error(p->d, p->src, source,
				    "which system calls? write syscall:NAME or syscall:NAME,NAME");
	do {
		p->pos++; /* the colon or comma */
		name = parser__word(p);
		if (!name.len && !n && parser__at(p, "*")) {
			p->pos++;
			parser__skip_blanks(p);
			ret->all_calls = true;
			return 0;
		}
		if (!name.len)
			return diags__error(p->d, p->src, parser__here(p),
					    "the name of a system call is expected here");
		if (++n > FRBPF_KEY_MAX)
			return diags__error(p->d, p->src, name,
					    "more names than there are system calls");
		add_syscall(p, name, ret->keys);
	} while (parser__at(p, ","));
	return 0;
}

static int parse_comparison(struct parser *p)
{
	struct span here = parser__here(p), word;

	if (p->pos == p->end)
		return diags__error(
			p->d, p->src, here,
			"a threshold is missing: write '> ' and a duration, such as > 20ms");
	if (parser__at(p, ">=")) {
		here.len = 2;
		return diags__error(p->d, p->src, here,
				    "a rule fires above its threshold: write '>' instead of '>='");
	}
	if (parser__at(p, ">")) {
		p->pos++;
		return 0;
	}
	if (parser__at(p, "->")) {
		here.len = 2;
		return diags__error(p->d, p->src, here,
				    "spans ('A -> B by KEY') are not supported yet");
	}
	if (strchr("<=!", p->src->text[p->pos])) {
		here.len += p->pos + 1 < p->end && p->src->text[p->pos + 1] == '=';
		return diags__error(
			p->d, p->src, here,
			"a rule fires above its threshold: write '>' instead of " QUOTED,
			QUOTE_SPAN(p->src, here));
	}
	word = parser__word(p);
	if (text__equals(p->src, word, "fails"))
		return diags__error(p->d, p->src, word, "only system calls can fail");
	if (word.len)
		here = word;
	return diags__error(p->d, p->src, here, "'>' is expected here, not " QUOTED,
			    QUOTE_SPAN(p->src, here));
}

/* "20ms garbage": the duration is right, what follows is not. Otherwise the duration is to blame.
 */
static struct span behind_duration(const struct parser *p, struct span span)
{
	struct parser q = *p;
	const char *why;
	struct span first;
	uint64_t ns;

	first = parser__word(&q);
	if (q.pos == q.end || units__duration(p->src->text + first.off, first.len, &ns, &why))
		return (struct span){ span.off, 0 };
	return parser__rest(&q);
}

static int parse_threshold(struct parser *p, uint64_t *ret)
{
	struct span span = parser__rest(p), behind;
	const char *s = p->src->text + span.off;

	p->pos = span.off;
	if (!span.len)
		return diags__error(p->d, p->src, (struct span){ p->end, 0 },
				    "a duration is expected behind '>', such as 20ms");
	if ((s[0] == 'p' && span.len > 1 && s[1] >= '0' && s[1] <= '9') || parser__at(p, "max("))
		return diags__error(p->d, p->src, span,
				    "thresholds relative to a percentile are not supported yet");
	behind = behind_duration(p, span);
	if (behind.len)
		return diags__error(p->d, p->src, behind,
				    "nothing may follow the threshold: conditions stand in 'if'");
	if (text__duration(p->src, span, p->d, ret))
		return -EINVAL;
	if (!*ret)
		return diags__error(p->d, p->src, span, "the threshold must be larger than 0");
	return 0;
}

/* One name of an error. A wrong one does not stop the parser. */
static void add_errno(struct parser *p, struct span name, struct when *ret)
{
	const char *s = p->src->text + name.off, *nearest;
	long value;

	if (symbol__find(symbols_errno, s, name.len, &value)) {
		nearest = symbol__nearest(symbols_errno, s, name.len);
		diags__error(p->d, p->src, name, "unknown error " QUOTED DID_YOU_MEAN "%s",
			     QUOTE(s, name.len), SUGGEST(nearest),
			     nearest ? "" : ": write names such as EMFILE");
		p->failed = true;
	} else if (ret->errnos[value / 64] >> (value % 64) & 1) {
		diags__error(p->d, p->src, name, QUOTED " is named twice", QUOTE(s, name.len));
		p->failed = true;
	} else {
		ret->errnos[value / 64] |= 1ULL << (value % 64);
	}
}

/* What stands behind "fails": nothing, or "(EMFILE, ENFILE)". */
static int parse_errors(struct parser *p, struct when *ret)
{
	struct span name;

	ret->fails = true;
	ret->any_errno = !parser__at(p, "(");
	if (!ret->any_errno) {
		do {
			p->pos++; /* the parenthesis or comma */
			name = parser__word(p);
			if (!name.len)
				return diags__error(p->d, p->src, parser__here(p),
						    "the name of an error is expected here, such "
						    "as EMFILE");
			add_errno(p, name, ret);
		} while (parser__at(p, ","));
		if (!parser__at(p, ")"))
			return diags__error(p->d, p->src, parser__here(p),
					    "',' or ')' is expected here");
		p->pos++;
		parser__skip_blanks(p);
	}
	if (p->pos == p->end)
		return 0;
	return diags__error(p->d, p->src, parser__rest(p),
			    "nothing may follow 'fails': conditions stand in 'if'");
}

/* "fails" behind the names of system calls? Then it is read over. */
static bool parser__take_fails(struct parser *p)
{
	struct parser q = *p;

	if (!text__equals(p->src, parser__word(&q), "fails"))
		return false;
	*p = q;
	return true;
}

/* "*": all calls that end, and for durations less those whose job it is to wait. */
static void fill_all_calls(struct when *when)
{
	unsigned int kinds = 1U << SYSCALL_WORKS | 1U << SYSCALL_READS;

	if (when->fails)
		kinds |= 1U << SYSCALL_WAITS;
	syscall__keys(kinds, when->keys);
}

static int parse_condition(struct parser *p, const struct when_source_desc *source,
			   struct when *ret)
{
	int err;

	if (source->has_keys && parser__take_fails(p)) {
		err = parse_errors(p, ret);
	} else {
		err = parse_comparison(p);
		err = err ? err : parse_threshold(p, &ret->threshold);
	}
	if (!err && ret->all_calls)
		fill_all_calls(ret);
	return err;
}

int when__parse(const struct source_text *src, struct span span, struct diags *d, struct when *ret)
{
	struct parser p = { .src = src, .d = d, .pos = span.off, .end = span.off + span.len };
	const struct when_source_desc *source;
	struct when when = { 0 };
	struct span name;
	int err = 0;

	span = text__trim(src, span);
	p.end = span.off + span.len;
	name = parser__word(&p);
	source = find_source(&p, name);
	if (!source)
		return unknown_source(&p, name);
	when.source = source->source;
	if (source->has_keys)
		err = parse_syscalls(&p, name, &when);
	else if (parser__at(&p, ":"))
		err = diags__error(d, src, parser__here(&p), "'%s' takes nothing behind ':'",
				   source->name);
	err = err ? err : parse_condition(&p, source, &when);
	if (err || p.failed)
		return -EINVAL;
	*ret = when;
	return 0;
}

const struct when_source_desc *when__source(enum frbpf_source source)
{
	for (const struct when_source_desc *s = when_sources; s->name; s++) {
		if (s->source == source)
			return s;
	}
	return NULL;
}

const char *when__source_name(enum frbpf_source source)
{
	const struct when_source_desc *s = when__source(source);

	return s ? s->name : NULL;
}
