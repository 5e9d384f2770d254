// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "rules/app_message.h"
#include "rules/units.h"

struct reader {
	const char *s;
	size_t pos, len;
	const char *why;
};

static int message_fails(struct reader *r, size_t at, const char *why)
{
	r->pos = at;
	r->why = why;
	return -EINVAL;
}

static bool is_message_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_message_key_char(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static size_t name_length(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && is_message_key_char(s[n]))
		n++;
	return n;
}

bool app_name__is_valid(const char *s, size_t len)
{
	return len && len <= APP_NAME_MAX && name_length(s, len) == len;
}

bool app_key__is_valid(const char *s, size_t len)
{
	return len && len <= APP_KEY_MAX && is_letter(s[0]) && name_length(s, len) == len;
}

/* Reject bytes that are not text, or that a terminal might take for a command. */
static int check_bytes(struct reader *r)
{
	for (size_t i = 0; i < r->len; i++) {
		unsigned char c = r->s[i];

		if (!c)
			return message_fails(r, i, "a message must not contain a NUL byte");
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return message_fails(r, i, "a message must not contain control characters");
	}
	return 0;
}

static void skip_message_blanks(struct reader *r)
{
	while (r->pos < r->len && is_message_blank(r->s[r->pos]))
		r->pos++;
}

static size_t message_word_length(const struct reader *r)
{
	size_t n = 0;

	while (r->pos + n < r->len && !is_message_blank(r->s[r->pos + n]))
		n++;
	return n;
}

static int read_name(struct reader *r, char *ret)
{
	size_t n = message_word_length(r);

	if (!n)
		return message_fails(r, r->pos, "a name is missing");
	if (n > APP_NAME_MAX)
		return message_fails(r, r->pos, "the name is longer than 63 bytes");
	if (!app_name__is_valid(r->s + r->pos, n))
		return message_fails(r, r->pos,
				     "a name may contain only letters, digits, '_', '-' and '.'");
	memcpy(ret, r->s + r->pos, n);
	ret[n] = '\0';
	r->pos += n;
	return 0;
}

static int read_duration(struct reader *r, uint64_t *ret)
{
	size_t n = message_word_length(r);
	const char *why = NULL;

	switch (units__duration(r->s + r->pos, n, ret, &why)) {
	case 0:
		break;
	case -ERANGE:
		return message_fails(r, r->pos, "the duration is too long");
	default:
		return message_fails(r, r->pos,
				     "a duration, such as 812ms, or KEY=VALUE is expected here");
	}
	if (*ret > APP_DURATION_MAX)
		return message_fails(r, r->pos, "the duration is longer than 30 days");
	r->pos += n;
	return 0;
}

/* The whole text of a value: a number or duration may be longer than the 15 bytes in app_arg. */
struct value {
	char text[APP_MESSAGE_MAX];
	size_t len;
};

static int read_quoted_value(struct reader *r, struct value *v)
{
	size_t start = r->pos++;

	for (; r->pos < r->len && r->s[r->pos] != '"'; r->pos++) {
		char c = r->s[r->pos];

		if (c == '\\') {
			if (++r->pos == r->len)
				break;
			c = r->s[r->pos];
			if (c != '"' && c != '\\')
				return message_fails(r, r->pos - 1,
						     "only \\\" and \\\\ are valid escapes");
		}
		v->text[v->len++] = c;
	}
	if (r->pos >= r->len)
		return message_fails(r, start, "the closing '\"' is missing");
	r->pos++;
	if (r->pos < r->len && !is_message_blank(r->s[r->pos]))
		return message_fails(r, r->pos, "a blank is missing after the '\"'");
	return 0;
}

static int read_bare(struct reader *r, struct value *v)
{
	size_t n = message_word_length(r);

	if (memchr(r->s + r->pos, '"', n))
		return message_fails(r, r->pos, "a value that contains '\"' must be in quotes");
	memcpy(v->text, r->s + r->pos, n);
	v->len = n;
	r->pos += n;
	return 0;
}

/* Get a number, or ns of a duration; 0: neither, or too large. */
static int64_t message_number(const char *s, size_t len)
{
	bool minus = len && s[0] == '-';
	uint64_t n = 0;
	const char *why;

	if (units__number(s + minus, len - minus, &n, &why) &&
	    units__duration(s + minus, len - minus, &n, &why))
		return 0;
	if (n > INT64_MAX)
		return 0;
	return minus ? -(int64_t)n : (int64_t)n;
}

static int read_arg(struct reader *r, struct app_message *m)
{
	size_t start = r->pos, n = name_length(r->s + r->pos, r->len - r->pos);
	struct app_arg *arg = &m->args[m->n_args];
	struct value v;
	int err;

	v.len = 0;
	if (start + n == r->len || r->s[start + n] != '=')
		return message_fails(r, start, "KEY=VALUE is expected here");
	if (!app_key__is_valid(r->s + start, n))
		return message_fails(
			r, start,
			"a key is a letter, then at most 30 letters, digits, '_', '-' or '.'");
	if (m->n_args == APP_ARGS_MAX)
		return message_fails(r, start, "a message has at most 32 values");
	memset(arg, 0, sizeof(*arg));
	memcpy(arg->key, r->s + start, n);
	if (app_message__arg(m, arg->key))
		return message_fails(r, start, "this key appears twice");
	r->pos = start + n + 1;
	err = r->pos < r->len && r->s[r->pos] == '"' ? read_quoted_value(r, &v) : read_bare(r, &v);
	if (err)
		return err;
	memcpy(arg->text, v.text, v.len < sizeof(arg->text) ? v.len : sizeof(arg->text) - 1);
	arg->number = message_number(v.text, v.len);
	m->n_args++;
	return 0;
}

static int read_message(struct reader *r, struct app_message *m)
{
	int err = check_bytes(r);

	m->n_args = 0;
	m->duration = 0;
	skip_message_blanks(r);
	err = err ?: read_name(r, m->name);
	if (err)
		return err;
	skip_message_blanks(r);
	if (!memchr(r->s + r->pos, '=', message_word_length(r)) && r->pos < r->len)
		err = read_duration(r, &m->duration);
	for (skip_message_blanks(r); !err && r->pos < r->len; skip_message_blanks(r))
		err = read_arg(r, m);
	return err;
}

int app_message__parse(const char *data, size_t len, struct app_message *ret, const char **ret_why,
		       size_t *ret_at)
{
	struct reader r = { .s = data, .len = len };
	int err;

	if (len && data[len - 1] == '\n')
		r.len--;
	err = r.len > APP_MESSAGE_MAX ? message_fails(&r, APP_MESSAGE_MAX, "longer than 1024 bytes")
				      : read_message(&r, ret);
	if (err) {
		*ret_why = r.why;
		*ret_at = r.pos;
	}
	return err;
}

const struct app_arg *app_message__arg(const struct app_message *m, const char *key)
{
	for (uint32_t i = 0; i < m->n_args; i++) {
		if (!strcmp(m->args[i].key, key))
			return &m->args[i];
	}
	return NULL;
}
