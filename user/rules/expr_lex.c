// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "common/cleanup.h"
#include "rules/expr_tree.h"
#include "rules/text.h"

/*
 * Longer operators first. Foreign operators are read as a whole, so that the caret is below all of
 * it.
 */
static const struct {
	const char *text;
	enum token_type type;
	enum frbpf_op op;
} operators[] = {
	{ "===", TOKEN_UNKNOWN, 0 },
	{ "==", TOKEN_COMPARE, FRBPF_OP_EQ },
	{ "=~", TOKEN_UNKNOWN, 0 },
	{ "=<", TOKEN_UNKNOWN, 0 },
	{ "=>", TOKEN_UNKNOWN, 0 },
	{ "=", TOKEN_UNKNOWN, 0 },
	{ "!=", TOKEN_COMPARE, FRBPF_OP_NE },
	{ "!~", TOKEN_UNKNOWN, 0 },
	{ "!", TOKEN_NOT, 0 },
	{ "<=", TOKEN_COMPARE, FRBPF_OP_LE },
	{ "<>", TOKEN_UNKNOWN, 0 },
	{ "<<", TOKEN_UNKNOWN, 0 },
	{ "<", TOKEN_COMPARE, FRBPF_OP_LT },
	{ ">=", TOKEN_COMPARE, FRBPF_OP_GE },
	{ ">>", TOKEN_UNKNOWN, 0 },
	{ ">", TOKEN_COMPARE, FRBPF_OP_GT },
	{ "&&", TOKEN_AND, 0 },
	{ "&", TOKEN_COMPARE, FRBPF_OP_BITS },
	{ "||", TOKEN_OR, 0 },
	{ "|", TOKEN_UNKNOWN, 0 },
	{ "(", TOKEN_OPEN, 0 },
	{ ")", TOKEN_CLOSE, 0 },
	{ "~", TOKEN_COMPARE, FRBPF_OP_GLOB },
	{ "^", TOKEN_UNKNOWN, 0 },
	{ ",", TOKEN_COMMA, 0 },
};

static bool read_operator(const char *s, size_t len, struct token *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t n = strlen(operators[i].text);

		if (n > len || memcmp(s, operators[i].text, n))
			continue;
		t->type = operators[i].type;
		t->op = operators[i].op;
		t->span.len = n;
		return true;
	}
	return false;
}

/*
 * Length of a string with its quotes. Without a closing quote it is the rest of the text: the
 * caller checks.
 */
static uint32_t string_length(const char *s, size_t len)
{
	char quote = s[0];

	for (size_t i = 1; i < len; i++) {
		if (s[i] == quote)
			return i + 1;
		if (s[i] == '\\')
			i++;
	}
	return len;
}

static uint32_t word_length(const struct source_text *src, uint32_t pos, uint32_t end)
{
	uint32_t start = pos;

	while (pos < end && !strchr("()=!<>&|~^,\"'\\", src->text[pos]) &&
	       !text__blank(src, pos, end))
		pos++;
	return pos - start;
}

/* "str(arg0)" is one word: get the length of "(arg0)" behind it. 0: it is another word. */
static uint32_t call_length(const struct source_text *src, struct span word, uint32_t end)
{
	uint32_t open = word.off + word.len, len;

	if (!text__equals(src, word, "str") || open == end || src->text[open] != '(')
		return 0;
	len = word_length(src, open + 1, end);
	return open + 1 + len < end && src->text[open + 1 + len] == ')' ? len + 2 : 0;
}

struct token token__read(const struct source_text *src, uint32_t pos, uint32_t end)
{
	struct token t = { .type = TOKEN_END };
	bool printable;

	t.span.off = text__skip_blanks(src, pos, end);
	if (t.span.off == end) {
		t.span.off = pos;
		return t;
	}
	pos = t.span.off;
	if (read_operator(src->text + pos, end - pos, &t))
		return t;
	t.span.len = word_length(src, pos, end);
	if (t.span.len) {
		t.span.len += call_length(src, t.span, end);
		t.type = TOKEN_WORD;
		return t;
	}
	if (src->text[pos] == '"' || src->text[pos] == '\'') {
		t.type = src->text[pos] == '"' ? TOKEN_STRING : TOKEN_UNKNOWN;
		t.span.len = string_length(src->text + pos, end - pos);
		return t;
	}
	t.type = TOKEN_UNKNOWN;
	t.span.len = printable__char(src->text + pos, end - pos, &printable);
	return t;
}
