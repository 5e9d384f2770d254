// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "rules/config.h"
#include "rules/text.h"

#define BOM "\xef\xbb\xbf"

struct parser {
	const struct source_text *src;
	struct config *config;
	struct diags *d;
	uint32_t pos;
	size_t piece; /* index of the current file, see source_text__piece() */
	enum { NO_SECTION, IN_SECTION, IN_BAD_SECTION } state;
};

static int parser__peek(const struct parser *p)
{
	return p->pos < p->src->len ? (unsigned char)p->src->text[p->pos] : EOF;
}

/* Is this the end of a line, as perf sees it? */
static bool parser__at_newline(const struct parser *p)
{
	const char *s = p->src->text + p->pos;
	size_t left = p->src->len - p->pos;

	return !left || s[0] == '\n' || (left > 1 && s[0] == '\r' && s[1] == '\n');
}

/* Skip to the newline. @whole: also skip newlines that a backslash continues, as in a value. */
static void parser__skip_line(struct parser *p, bool whole)
{
	while (!parser__at_newline(p)) {
		size_t n = whole ? text__blank(p->src, p->pos, p->src->len) : 1;

		p->pos += n ? n : 1;
	}
}

static bool is_key_char(int c)
{
	return c != EOF && (isalnum(c) || c == '-' || c == '_');
}

/* The place of an error: a word, another character, or the end of the line. */
static struct span parser__here(const struct parser *p)
{
	struct span here = { p->pos, 0 };
	struct parser q = *p;
	bool printable;

	while (is_key_char(parser__peek(&q)))
		q.pos++;
	here.len = q.pos - p->pos;
	if (!here.len && !parser__at_newline(p))
		here.len = printable__char(p->src->text + p->pos, p->src->len - p->pos, &printable);
	return here;
}

static struct config_section *parser__section(const struct parser *p)
{
	return p->state == IN_SECTION ? &p->config->sections[p->config->n_sections - 1] : NULL;
}

/* Mark the section as damaged after an error in a line, and skip the line. */
static void bad_line(struct parser *p)
{
	struct config_section *section = parser__section(p);

	if (section)
		section->damaged = true;
	else
		p->config->damaged = true;
	parser__skip_line(p, true);
}

static char *lower_case(const struct source_text *src, struct span span)
{
	char *s = strndup(src->text + span.off, span.len);

	for (char *c = s; c && *c; c++)
		*c = tolower((unsigned char)*c);
	return s;
}

/*
 * Make room for one more element of @size in @v, which has @n. The room is always a power of two.
 */
static int grow_array(void **v, size_t n, size_t size)
{
	void *bigger;

	if (n & (n - 1))
		return 0;
	bigger = reallocarray(*v, n ? n * 2 : 1, size);
	if (!bigger)
		return -ENOMEM;
	*v = bigger;
	return 0;
}

static int add_section(struct parser *p, char *name, struct span span)
{
	struct config *c = p->config;

	if (!name || grow_array((void **)&c->sections, c->n_sections, sizeof(*c->sections))) {
		free(name);
		return -ENOMEM;
	}
	c->sections[c->n_sections++] = (struct config_section){ .name = name, .span = span };
	p->state = IN_SECTION;
	return 0;
}

static int add_config_entry(struct parser *p, const struct config_entry *e)
{
	struct config_section *s = parser__section(p);
	struct config_entry **v = s ? &s->entries : &p->config->includes;
	size_t *n = s ? &s->n_entries : &p->config->n_includes;

	if (!e->key || grow_array((void **)v, *n, sizeof(**v))) {
		free(e->key);
		return -ENOMEM;
	}
	(*v)[(*n)++] = *e;
	return 0;
}

/* Read the sub-section of [section "sub"], from its blank to its last quote. */
static int parse_subsection(struct parser *p, struct span *ret)
{
	uint32_t start;

	while (!parser__at_newline(p) && isspace(parser__peek(p)))
		p->pos++;
	if (parser__peek(p) != '"')
		return -EINVAL;
	start = ++p->pos;
	for (; parser__peek(p) != '"'; p->pos++) {
		if (parser__peek(p) == '\\')
			p->pos++;
		if (parser__at_newline(p))
			return -EINVAL;
	}
	*ret = (struct span){ start, p->pos - start };
	p->pos++;
	return 0;
}

/* Report what stands in the name of a section, or in place of its ']'. */
static void bad_section(struct parser *p, uint32_t open, uint32_t name_end)
{
	struct span here = parser__here(p);

	if (!here.len)
		diags__error(p->d, p->src, (struct span){ open, 1 },
			     "the ']' of this '[' is missing");
	else if (here.off == open + 1)
		diags__error(p->d, p->src, here,
			     "the name of a section is expected after '[', not " QUOTED,
			     QUOTE_SPAN(p->src, here));
	else if (here.off == name_end)
		diags__error(p->d, p->src, here,
			     QUOTED " is not allowed in the name of a section: use letters, "
				    "digits, '-' and '_'",
			     QUOTE_SPAN(p->src, here));
	else
		diags__error(p->d, p->src, here,
			     "']' is expected here, not " QUOTED ": a name is joined with '-', "
			     "such as [%.*s-NAME]",
			     QUOTE_SPAN(p->src, here), (int)(name_end - open - 1),
			     p->src->text + open + 1);
	p->config->damaged = true;
	p->state = IN_BAD_SECTION;
	parser__skip_line(p, false);
}

/* Parse [section], [section.sub] or [section "sub"]. */
static int parse_section(struct parser *p)
{
	uint32_t open = p->pos++;
	struct span base = { p->pos, 0 }, sub = { 0 };
	_cleanup_free_ char *name = NULL;
	struct span whole;
	int bad = 0;

	while (is_key_char(parser__peek(p)) || parser__peek(p) == '.')
		p->pos++;
	base.len = p->pos - base.off;
	if (base.len && !parser__at_newline(p) && isspace(parser__peek(p)))
		bad = parse_subsection(p, &sub);
	if (bad || !base.len || parser__peek(p) != ']') {
		bad_section(p, open, base.off + base.len);
		return 0;
	}
	whole = (struct span){ base.off, p->pos++ - base.off };
	name = lower_case(p->src, base);
	if (name && whole.len > base.len) {
		char *full;

		if (asprintf(&full, "%s.%.*s", name, (int)sub.len, p->src->text + sub.off) < 0)
			return -ENOMEM;
		free(name);
		name = full;
	}
	return add_section(p, TAKE_PTR(name), whole);
}

/* Is the backslash legal? perf knows five escapes and the continued line. */
static bool is_escape(const struct source_text *src, uint32_t pos)
{
	return text__blank(src, pos, src->len) || strchr("tbn\\\"", src->text[pos + 1]);
}

static int bad_escape(struct parser *p)
{
	struct span span = { p->pos, 2 };
	bool printable;

	span.len = 1 +
		   printable__char(p->src->text + p->pos + 1, p->src->len - p->pos - 1, &printable);
	return diags__error(
		p->d, p->src, span,
		"unknown escape " QUOTED
		": use one of \\\\ \\\" \\t \\n \\b; a single backslash is written \\\\",
		QUOTE_SPAN(p->src, span));
}

/* Read from after the '=' to the end of the line or a comment. 0 or -EINVAL. */
static int parse_value(struct parser *p, struct span *ret)
{
	uint32_t start = p->pos, quote = 0;

	while (!parser__at_newline(p)) {
		int c = parser__peek(p);

		if (c == '\\') {
			size_t n = text__blank(p->src, p->pos, p->src->len);

			if (!is_escape(p->src, p->pos))
				return bad_escape(p);
			p->pos += n ? n : 2;
			continue;
		}
		if (!quote && (c == '#' || c == ';'))
			break;
		if (c == '"')
			quote = quote ? 0 : p->pos;
		p->pos++;
	}
	if (quote)
		return diags__error(p->d, p->src, (struct span){ quote, 1 },
				    "the closing '\"' of this one is missing");
	*ret = text__trim(p->src, (struct span){ start, p->pos - start });
	if (!ret->len)
		ret->off = start;
	parser__skip_line(p, false);
	return 0;
}

static bool is_include(const struct parser *p, struct span key)
{
	return key.len == strlen("include") &&
	       !strncasecmp(p->src->text + key.off, "include", key.len);
}

static int parse_entry(struct parser *p)
{
	struct config_entry e = { .key_span.off = p->pos };
	struct span here;
	int c;

	while (is_key_char(parser__peek(p)))
		p->pos++;
	e.key_span.len = p->pos - e.key_span.off;
	while (parser__peek(p) == ' ' || parser__peek(p) == '\t')
		p->pos++;
	c = parser__peek(p);
	here = parser__here(p);
	if (p->state == NO_SECTION && !is_include(p, e.key_span)) {
		diags__error(p->d, p->src, e.key_span,
			     QUOTED " comes before any section: start with one, such as [daemon]",
			     QUOTE_SPAN(p->src, e.key_span));
		p->config->damaged = true;
		p->state = IN_BAD_SECTION;
	}
	if (c == '=') {
		p->pos++;
		e.has_value = true;
		if (p->state == IN_BAD_SECTION || parse_value(p, &e.value)) {
			bad_line(p);
			return 0;
		}
	} else if (p->state == IN_BAD_SECTION) {
		bad_line(p);
		return 0;
	} else if (here.len && c != '#' && c != ';') {
		diags__error(p->d, p->src, here, "'=' is expected after " QUOTED ", not " QUOTED,
			     QUOTE_SPAN(p->src, e.key_span), QUOTE_SPAN(p->src, here));
		bad_line(p);
		return 0;
	}
	e.key = lower_case(p->src, e.key_span);
	return add_config_entry(p, &e);
}

static void diagnose_bad_start(struct parser *p)
{
	struct span here = parser__here(p);

	if (p->state != IN_BAD_SECTION)
		diags__error(p->d, p->src, here,
			     "a line is [section], key = value or a # comment: it cannot begin "
			     "with " QUOTED,
			     QUOTE_SPAN(p->src, here));
	bad_line(p);
}

/* Enter the next file, where no section has begun yet: a section ends with its file. */
static void parser__enter_piece(struct parser *p)
{
	size_t piece = source_text__piece(p->src, p->pos);

	if (piece != p->piece)
		p->state = NO_SECTION;
	p->piece = piece;
}

static int parse_config_lines(struct parser *p)
{
	int err = 0;

	while (!err && p->pos < p->src->len) {
		int c = parser__peek(p);

		parser__enter_piece(p);
		if (isspace(c))
			p->pos++;
		else if (c == '#' || c == ';')
			parser__skip_line(p, false);
		else if (c == '[')
			err = parse_section(p);
		else if (isalpha(c))
			err = parse_entry(p);
		else
			diagnose_bad_start(p);
	}
	return err;
}

int config__parse_damaged(struct source_text *src, struct diags *d, struct config **ret)
{
	struct config *c = calloc(1, sizeof(*c));
	struct parser p = { .src = src, .config = c, .d = d };
	const char *nul = memchr(src->text, '\0', src->len);
	int err = 0;

	if (!c) {
		diags__keep(d, src);
		return -ENOMEM;
	}
	c->src = src;
	if (src->len >= strlen(BOM) && !memcmp(src->text, BOM, strlen(BOM)))
		p.pos = strlen(BOM);
	if (nul) {
		diags__error(d, src, (struct span){ nul - src->text, 1 },
			     "a NUL byte: this is not a text file");
		c->damaged = true;
	} else {
		err = parse_config_lines(&p);
	}
	if (err) {
		diags__keep(d, TAKE_PTR(c->src));
		config__free(c);
		return err;
	}
	*ret = c;
	return 0;
}

int config__parse(struct source_text *src, struct diags *d, struct config **ret)
{
	size_t errors = d->n_errors;
	struct config *c;
	int err = config__parse_damaged(src, d, &c);

	if (err)
		return err;
	if (d->n_errors > errors) {
		diags__keep(d, TAKE_PTR(c->src));
		config__free(c);
		return -EINVAL;
	}
	*ret = c;
	return 0;
}

void config__free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_sections; i++) {
		struct config_section *s = &c->sections[i];

		for (size_t k = 0; k < s->n_entries; k++)
			free(s->entries[k].key);
		free(s->entries);
		free(s->name);
	}
	for (size_t i = 0; i < c->n_includes; i++)
		free(c->includes[i].key);
	free(c->includes);
	free(c->sections);
	source_text__free(c->src);
	free(c);
}

char *config__perf_value(const struct config *c, const struct config_entry *e)
{
	const char *s = c->src->text + e->value.off, *end = s + e->value.len;
	char *out = malloc((size_t)e->value.len + 1), *o = out;
	bool quote = false, blank = false;

	if (!out)
		return NULL;
	for (; s < end; s++) {
		if (isspace((unsigned char)*s) && !quote) {
			blank = true;
			continue;
		}
		if (blank && o > out)
			*o++ = ' ';
		blank = false;
		if (*s == '"') {
			quote = !quote;
			continue;
		}
		if (*s != '\\' || s + 1 == end) {
			*o++ = *s;
			continue;
		}
		s++;
		if (*s == '\r')
			s++;
		if (*s != '\n')
			*o++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : *s == 'b' ? '\b' : *s;
	}
	*o = '\0';
	return out;
}
