// SPDX-License-Identifier: GPL-2.0-only
/*
 * uprobe:PATH:SYMBOL[+OFFSET] [> DURATION] and usdt:PATH:PROVIDER:PROBE. Hits and durations need
 * different programs, so they are different targets: " latency" ends a target for durations.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/when_parse.h"
#include "rules/when_probe.h"

#define LATENCY	   " latency"
#define SYMBOL_MAX 1024

static bool probe_at_end(const struct when_parser *p, const char *stop)
{
	return p->pos == p->end || strchr(stop, p->src->text[p->pos]) ||
	       (strchr(stop, '>') && when_parser__at(p, "->")) ||
	       text__blank(p->src, p->pos, p->end);
}

/* Read up to a blank or one of @stop. */
static struct span take_until(struct when_parser *p, const char *stop)
{
	struct span span = { .off = p->pos };

	while (!probe_at_end(p, stop))
		p->pos++;
	span.len = p->pos - span.off;
	return span;
}

static bool span_contains(const struct when_parser *p, struct span span, char c)
{
	return memchr(p->src->text + span.off, c, span.len);
}

/* Parse ":PATH". */
static int parse_probe_path(struct when_parser *p, struct span source, struct span *ret)
{
	const char *form = text__equals(p->src, source, "usdt") ? "usdt:PATH:PROVIDER:PROBE"
								: "uprobe:PATH:SYMBOL";
	const char *s;

	if (!when_parser__at(p, ":"))
		return diags__error(p->d, p->src, source, "the program is missing: write %s", form);
	p->pos++;
	*ret = take_until(p, ":");
	s = p->src->text + ret->off;
	if (!ret->len)
		return diags__error(
			p->d, p->src, when_parser__here(p),
			"the path of a program or library is expected here, or its name: "
			"write %s",
			form);
	if (ret->len >= PATH_MAX)
		return diags__error(p->d, p->src, *ret, "this path is too long");
	if (s[0] != '/' && span_contains(p, *ret, '/'))
		return diags__error(p->d, p->src, *ret,
				    "a path must begin with '/': the recorder does not run in your "
				    "directory");
	if (s[0] != '/' && !text__equals(p->src, *ret, "*") &&
	    (span_contains(p, *ret, '*') || span_contains(p, *ret, '?') ||
	     span_contains(p, *ret, '[')))
		return diags__error(p->d, p->src, *ret,
				    "a glob is compared with whole paths: it must begin with '/'");
	if (when_parser__at(p, ":"))
		return 0;
	return diags__error(p->d, p->src, when_parser__here(p),
			    "':' and a name are expected here: write %s", form);
}

/* Parse ":NAME", or ":\"NAME\"" if the name has blanks or '>'. */
static int parse_name(struct when_parser *p, const char *what, const char *stop, struct span *ret)
{
	struct span open;

	p->pos++; /* the colon */
	open = when_parser__here(p);
	if (when_parser__at(p, "\"")) {
		p->pos++;
		ret->off = p->pos;
		while (p->pos < p->end && p->src->text[p->pos] != '"' &&
		       p->src->text[p->pos] != '\n')
			p->pos++;
		ret->len = p->pos - ret->off;
		if (!when_parser__at(p, "\""))
			return diags__error(p->d, p->src, open, "the closing '\"' is missing");
		p->pos++;
	} else {
		*ret = take_until(p, stop);
	}
	if (!ret->len)
		return diags__error(p->d, p->src, open, "%s is expected here", what);
	if (ret->len > SYMBOL_MAX)
		return diags__error(p->d, p->src, *ret, "this name is too long");
	return 0;
}

/* Parse "+0x1c" at @at. */
static int parse_offset(struct when_parser *p, struct span at, uint64_t *ret)
{
	_cleanup_free_ char *text = strndup(p->src->text + at.off, at.len);
	char *end = NULL;

	if (!text)
		return -ENOMEM;
	errno = 0;
	*ret = strtoull(text + 1, &end, 0);
	if (text[1] < '0' || text[1] > '9' || *end || errno || *ret > INT_MAX)
		return diags__error(p->d, p->src, at,
				    "a number of bytes is expected after '+', such as +0x1c");
	return 0;
}

/* Parse the offset: after a name in quotes, or at the end of a name without quotes. */
static int take_offset(struct when_parser *p, struct span *symbol, struct span *ret,
		       uint64_t *offset)
{
	const char *s = p->src->text, *plus = NULL;

	if (when_parser__at(p, "+"))
		*ret = take_until(p, ">");
	else if (s[p->pos - 1] != '"')
		plus = memrchr(s + symbol->off, '+', symbol->len);
	if (plus) {
		ret->off = plus - s;
		ret->len = symbol->len - (ret->off - symbol->off);
		symbol->len -= ret->len;
	}
	return ret->len ? parse_offset(p, *ret, offset) : 0;
}

static int make_target(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int make_target(char **ret, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(ret, format, ap);
	va_end(ap);
	if (n < 0)
		*ret = NULL;
	return *ret ? 0 : -ENOMEM;
}

static int check_probe_symbol(struct when_parser *p, struct span symbol)
{
	if (!symbol.len)
		return diags__error(p->d, p->src, symbol,
				    "the name of a function is expected here");
	if ((span_contains(p, symbol, '*') || span_contains(p, symbol, '?')) &&
	    !span_contains(p, symbol, '('))
		return diags__error(p->d, p->src, symbol,
				    "a rule takes one function, not a glob: `frbpf events "
				    "'uprobe:PATH:GLOB'` lists the functions");
	return 0;
}

/* The parts of "uprobe:PATH:SYMBOL+OFFSET". */
struct function_words {
	struct span path, symbol, at; /* @at: the offset's place; empty: there is none */
	uint64_t offset;
};

static int parse_function(struct when_parser *p, struct span source, struct function_words *w)
{
	int err = parse_probe_path(p, source, &w->path);

	err = err ?: parse_name(p, "the name of a function", ">", &w->symbol);
	err = err ?: take_offset(p, &w->symbol, &w->at, &w->offset);
	err = err ?: check_probe_symbol(p, w->symbol);
	if (!err)
		when_parser__skip_blanks(p);
	return err;
}

static int function_target(const struct when_parser *p, const struct function_words *w,
			   const char *end, char **ret)
{
	const char *s = p->src->text;

	if (w->offset)
		return make_target(ret, "%.*s:%.*s+0x%llx", (int)w->path.len, s + w->path.off,
				   (int)w->symbol.len, s + w->symbol.off,
				   (unsigned long long)w->offset);
	return make_target(ret, "%.*s:%.*s%s", (int)w->path.len, s + w->path.off,
			   (int)w->symbol.len, s + w->symbol.off, end);
}

int when__parse_uprobe(struct when_parser *p, struct span name, struct when *ret)
{
	struct function_words w = { 0 };
	int err = parse_function(p, name, &w);

	if (err)
		return err;
	if (when_parser__at(p, "->"))
		return function_target(p, &w, "", &ret->target)
			       ?: when_parser__probe_span(p, name, ret);
	ret->hit = p->pos == p->end && p->open != OPEN_PENDING;
	if (!ret->hit)
		err = when_parser__threshold(p, ret);
	if (!err && !ret->hit && w.at.len)
		return diags__error(p->d, p->src, w.at,
				    "a call is measured from the beginning of the function: a rule "
				    "with a threshold takes no offset");
	return err ?: function_target(p, &w, ret->hit ? "" : LATENCY, &ret->target);
}

/* Parse "usdt:PATH:PROVIDER:PROBE" into its target. */
static int parse_static_probe(struct when_parser *p, struct span source, char **ret)
{
	struct span path, provider, probe;
	const char *s = p->src->text;
	int err = parse_probe_path(p, source, &path);

	err = err ?: parse_name(p, "the provider of a static probe", ":>", &provider);
	if (!err && !when_parser__at(p, ":"))
		err = diags__error(p->d, p->src, when_parser__here(p),
				   "':' and the probe's name are expected here: write "
				   "usdt:PATH:PROVIDER:PROBE");
	err = err ?: parse_name(p, "the name of a static probe", ":>", &probe);
	if (err)
		return err;
	when_parser__skip_blanks(p);
	return make_target(ret, "%.*s:%.*s:%.*s", (int)path.len, s + path.off, (int)provider.len,
			   s + provider.off, (int)probe.len, s + probe.off);
}

int when__parse_usdt(struct when_parser *p, struct span name, struct when *ret)
{
	int err = parse_static_probe(p, name, &ret->target);

	if (err)
		return err;
	if (when_parser__at(p, "->"))
		return when_parser__probe_span(p, name, ret);
	if (when_parser__at(p, ">"))
		return diags__error(p->d, p->src, when_parser__rest(p),
				    "a static probe takes no time: it has no threshold; for the "
				    "time between two, write usdt:A -> usdt:B by tid > 50ms");
	if (p->pos < p->end)
		return diags__error(p->d, p->src, when_parser__rest(p),
				    "nothing may follow the probe: put conditions in 'if'");
	ret->hit = true;
	return 0;
}

int when_parser__probe_place(struct when_parser *p, struct span source, char **ret)
{
	struct function_words w = { 0 };

	if (text__equals(p->src, source, "usdt"))
		return parse_static_probe(p, source, ret);
	return parse_function(p, source, &w) ?: function_target(p, &w, "", ret);
}

/* ---- split ---- */

static bool cut_probe_end(char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	if (len < n || strcmp(text + len - n, end) != 0)
		return false;
	text[len - n] = '\0';
	return true;
}

/* Cut off an offset that when__parse_uprobe() put into the target. */
static uint64_t cut_offset(char *symbol)
{
	char *plus = strrchr(symbol, '+'), *end;
	uint64_t offset;

	if (!plus || strncmp(plus, "+0x", 3) != 0)
		return 0;
	offset = strtoull(plus + 1, &end, 16);
	if (*end)
		return 0;
	*plus = '\0';
	return offset;
}

int when_probe__split(enum frbpf_source source, const char *target, struct when_probe *ret)
{
	const char *colon = strchr(target, ':'), *second;
	struct when_probe p = { 0 };

	if (!colon)
		return -EINVAL;
	second = source == FRBPF_SOURCE_USDT ? strchr(colon + 1, ':') : colon;
	if (!second)
		return -EINVAL;
	p.path = strndup(target, colon - target);
	p.symbol = strdup(second + 1);
	if (source == FRBPF_SOURCE_USDT)
		p.provider = strndup(colon + 1, second - colon - 1);
	if (!p.path || !p.symbol || (source == FRBPF_SOURCE_USDT && !p.provider)) {
		when_probe__free(&p);
		return -ENOMEM;
	}
	if (source == FRBPF_SOURCE_UPROBE) {
		p.latency = cut_probe_end(p.symbol, LATENCY);
		p.offset = p.latency ? 0 : cut_offset(p.symbol);
	}
	*ret = p;
	return 0;
}

void when_probe__free(struct when_probe *p)
{
	free(p->path);
	free(p->provider);
	free(p->symbol);
}
