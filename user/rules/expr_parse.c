// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/expr_tree.h"
#include "rules/text.h"
#include "rules/when.h"

/*
 * Longer operators come first. Operators of other languages are read as a whole, so that the carets
 * of the error mark all of them.
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

/* "str(arg0)" is one word: get the length of "(arg0)" after it. 0: it is another word. */
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

#define DEPTH_MAX 32 /* parentheses within parentheses */

struct parser {
	const struct source_text *src;
	struct diags *d;
	struct tree *tree;
	const struct field_scope *scope;
	struct token now;  /* the next token */
	uint32_t last_end; /* end of the token before it */
	uint32_t end;
	bool field_failed; /* the field of this comparison is unknown */
	/* a comparison is wrong, but its form is right: parsing goes on, to find further errors */
	bool failed;
};

/* All parse_*() return the index of a tree node or a negative errno. */
static int parse_or(struct parser *p, int depth);

static struct token parser__next(struct parser *p)
{
	struct token t = p->now;

	p->last_end = t.span.off + t.span.len;
	p->now = token__read(p->src, p->last_end, p->end);
	return t;
}

static bool parser__at_word(const struct parser *p, const char *word)
{
	return p->now.type == TOKEN_WORD && text__equals(p->src, p->now.span, word);
}

static int tree__join(struct tree *tree, enum tree_type type, int left, int right)
{
	struct tree_node *n = &tree->nodes[tree->n];
	uint32_t start = tree->nodes[left].span.off;
	struct span last = tree->nodes[right].span;

	*n = (struct tree_node){ .type = type, .left = left, .right = right };
	n->span = (struct span){ start, last.off + last.len - start };
	return tree->n++;
}

/* Operators of other languages and of later versions, with what to write instead. */
static const struct {
	const char *text;
	const char *remedy;
} foreign[] = {
	{ "=", "'=' is not a comparison (did you mean '=='?)" },
	{ "===", "'===' is not a comparison (did you mean '=='?)" },
	{ "<>", "'<>' is not a comparison (did you mean '!='?)" },
	{ "=<", "'=<' is not a comparison (did you mean '<='?)" },
	{ "=>", "'=>' is not a comparison (did you mean '>='?)" },
	{ "~", "'~' stands between a field and its pattern: comm ~ \"post*\"" },
	{ "=~", "'=~' is not an operator (did you mean '~'?)" },
	{ "!~", "'!~' is not an operator: write !(FIELD ~ PATTERN)" },
	{ "&", "'&' stands between a field and a bit mask (did you mean '&&'?)" },
	{ "|", "'|' is not an operator (did you mean '||'?)" },
	{ "and", "'and' is not an operator (did you mean '&&'?)" },
	{ "or", "'or' is not an operator (did you mean '||'?)" },
	{ "not", "'not' is not an operator (did you mean '!'?)" },
	{ "is", "'is' is not a comparison (did you mean '=='?)" },
	{ "eq", "'eq' is not a comparison (did you mean '=='?)" },
	{ NULL, NULL },
};

static const char *foreign_remedy(const struct parser *p)
{
	if (p->now.type != TOKEN_WORD && p->now.type != TOKEN_UNKNOWN &&
	    p->now.type != TOKEN_COMPARE)
		return NULL;
	for (size_t i = 0; foreign[i].text; i++) {
		if (text__equals(p->src, p->now.span, foreign[i].text))
			return foreign[i].remedy;
	}
	return NULL;
}

/* Report that @what is expected, in words that fit the token that is there. */
static int expected_here(struct parser *p, const char *what)
{
	const char *remedy = foreign_remedy(p);
	struct span span = p->now.span;

	if (remedy)
		return diags__error(p->d, p->src, span, "%s", remedy);
	if (p->now.type == TOKEN_END)
		return diags__error(p->d, p->src, span, "the condition ends where %s is expected",
				    what);
	if (p->src->text[span.off] == '\'')
		return diags__error(p->d, p->src, span, "strings need double quotes");
	return diags__error(p->d, p->src, span, "%s is expected here, not " QUOTED, what,
			    QUOTE_SPAN(p->src, span));
}

/* Add a comparison. An error in it does not stop the parser. */
static int add_leaf(struct parser *p, struct span start, const struct leaf_field *field,
		    struct token op, struct token value)
{
	struct frbpf_node leaf = { 0 };
	struct tree_node *n;
	int err;

	if (p->tree->n_leaves == FRBPF_MAX_NODES)
		return diags__error(p->d, p->src, start,
				    "a rule has at most %d comparisons: split the rule in two",
				    FRBPF_MAX_NODES);
	if (!p->field_failed) {
		err = leaf__parse(p->src, field, op, value, p->d, p->tree, &leaf);
		if (err == -ENOMEM)
			return err;
		if (!err && leaf.field == FRBPF_FIELD_CGROUP_PATH && p->scope->source &&
		    !(EXPR_PATH_SOURCES & 1U << p->scope->source))
			err = diags__error(p->d, p->src, op.span,
					   "'%s' cannot compare a cgroup with a pattern: name it, "
					   "with == or in",
					   when__source_name(p->scope->source));
		p->failed |= err;
	}
	n = &p->tree->nodes[p->tree->n];
	*n = (struct tree_node){ .type = TREE_LEAF, .leaf = leaf };
	n->span = (struct span){ start.off, p->last_end - start.off };
	p->tree->n_leaves++;
	return p->tree->n++;
}

/* Parse "(a, b, c)" after `in`: one comparison for each value. */
static int parse_list(struct parser *p, struct span start, const struct leaf_field *field)
{
	struct token op = { .type = TOKEN_COMPARE, .op = FRBPF_OP_EQ, .span = p->now.span };
	int list = -1;

	parser__next(p);
	if (p->now.type != TOKEN_OPEN)
		return expected_here(p, "'(' and a list of values");
	do {
		struct token value;
		int leaf;

		parser__next(p);
		if (p->now.type != TOKEN_WORD && p->now.type != TOKEN_STRING)
			return expected_here(p, "a value");
		value = parser__next(p);
		leaf = add_leaf(p, list < 0 ? start : value.span, field, op, value);
		if (leaf < 0)
			return leaf;
		list = list < 0 ? leaf : tree__join(p->tree, TREE_OR, list, leaf);
	} while (p->now.type == TOKEN_COMMA);
	if (p->now.type != TOKEN_CLOSE)
		return expected_here(p, "',' or ')'");
	parser__next(p);
	p->tree->nodes[list].span = (struct span){ start.off, p->last_end - start.off };
	return list;
}

static int parse_comparison(struct parser *p)
{
	struct leaf_field field = { NULL };
	struct token name, op;
	int err;

	if (p->now.type != TOKEN_WORD || parser__at_word(p, "not") ||
	    isdigit((unsigned char)p->src->text[p->now.span.off]))
		return expected_here(p, "a field");
	name = parser__next(p);
	if (p->now.type != TOKEN_COMPARE && !parser__at_word(p, "in"))
		return expected_here(p, "a comparison (== != < <= > >= & ~ in)");
	err = leaf__field(p->src, name, p->scope, p->d, &field);
	if (err == -ENOMEM)
		return err;
	p->field_failed = err;
	p->failed |= err;
	if (p->now.type != TOKEN_COMPARE)
		return parse_list(p, name.span, &field);
	op = parser__next(p);
	if (p->now.type != TOKEN_WORD && p->now.type != TOKEN_STRING)
		return expected_here(p, "a value");
	return add_leaf(p, name.span, &field, op, parser__next(p));
}

static int parse_group(struct parser *p, int depth)
{
	struct token open = p->now;
	int n;

	if (depth == DEPTH_MAX)
		return diags__error(p->d, p->src, open.span, "more than %d nested parentheses",
				    DEPTH_MAX);
	parser__next(p);
	n = parse_or(p, depth + 1);
	if (n < 0)
		return n;
	if (p->now.type == TOKEN_END)
		return diags__error(p->d, p->src, open.span, "the ')' of this '(' is missing");
	if (p->now.type != TOKEN_CLOSE)
		return expected_here(p, "'&&', '||' or ')'");
	parser__next(p);
	p->tree->nodes[n].span = (struct span){ open.span.off, p->last_end - open.span.off };
	return n;
}

static int parse_unary(struct parser *p, int depth)
{
	uint32_t start = p->now.span.off;
	bool negated = false;
	int n;

	while (p->now.type == TOKEN_NOT) {
		negated = !negated;
		parser__next(p);
	}
	n = p->now.type == TOKEN_OPEN ? parse_group(p, depth) : parse_comparison(p);
	if (n >= 0) {
		struct tree_node *node = &p->tree->nodes[n];

		node->negated ^= negated;
		node->span = (struct span){ start, p->last_end - start };
	}
	return n;
}

static int parse_and(struct parser *p, int depth)
{
	int left = parse_unary(p, depth);

	while (left >= 0 && p->now.type == TOKEN_AND) {
		int right;

		parser__next(p);
		right = parse_unary(p, depth);
		left = right < 0 ? right : tree__join(p->tree, TREE_AND, left, right);
	}
	return left;
}

static int parse_or(struct parser *p, int depth)
{
	int left = parse_and(p, depth);

	while (left >= 0 && p->now.type == TOKEN_OR) {
		int right;

		parser__next(p);
		right = parse_and(p, depth);
		left = right < 0 ? right : tree__join(p->tree, TREE_OR, left, right);
	}
	return left;
}

void tree__free(struct tree *tree)
{
	for (uint8_t i = 0; i < tree->n_strings; i++)
		free(tree->strings[i]);
	tree->n_strings = 0;
}

int tree__parse(const struct source_text *src, struct span span, const struct field_scope *scope,
		struct diags *d, struct tree *ret)
{
	struct parser p = {
		.src = src, .d = d, .tree = ret, .scope = scope, .end = span.off + span.len
	};
	int root;

	*ret = (struct tree){ 0 };
	p.now = token__read(src, span.off, p.end);
	p.last_end = span.off;
	if (p.now.type == TOKEN_END)
		return diags__error(d, src, span,
				    "the condition is empty: write a comparison such as cpu < 8");
	root = parse_or(&p, 0);
	if (root < 0)
		return root;
	if (p.now.type == TOKEN_CLOSE)
		return diags__error(d, src, p.now.span, "this ')' has no '('");
	if (p.now.type != TOKEN_END)
		return expected_here(&p, "'&&' or '||'");
	ret->root = root;
	return p.failed ? -EINVAL : 0;
}
