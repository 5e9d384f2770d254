// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/span_target.h"

#define WORD "%127[^ ,=]"

char *span_target__format_keys(const struct span_target *t)
{
	size_t size = sizeof(*t) + 64, len = 0;
	char *text = malloc(size);

	if (!text)
		return NULL;
	text[0] = '\0';
	for (uint32_t i = 0; i < t->n_keys; i++) {
		const char *comma = i ? "," : "";

		if (strcmp(t->keys[i].start, t->keys[i].end))
			len += snprintf(text + len, size - len, "%s %s=%s", comma, t->keys[i].start,
					t->keys[i].end);
		else
			len += snprintf(text + len, size - len, "%s %s", comma, t->keys[i].start);
	}
	snprintf(text + len, size - len, "%s", t->nested ? " nested" : "");
	return text;
}

char *span_target__format(const struct span_target *t)
{
	_cleanup_free_ char *keys = span_target__format_keys(t);
	char *text = NULL;

	if (!keys || asprintf(&text, "%s -> %s by%s", t->start, t->end, keys) < 0)
		return NULL;
	return text;
}

static int parse_key(const char **text, struct span_target *t)
{
	char *start, *end;
	int n = 0;

	if (t->n_keys == FRBPF_SPAN_KEYS)
		return -EINVAL;
	start = t->keys[t->n_keys].start;
	end = t->keys[t->n_keys].end;
	if (sscanf(*text, " " WORD "%n", start, &n) != 1)
		return -EINVAL;
	*text += n;
	strcpy(end, start);
	if (**text == '=') {
		n = 0;
		if (sscanf(*text, "=" WORD "%n", end, &n) != 1)
			return -EINVAL;
		*text += n;
	}
	t->n_keys++;
	return 0;
}

int span_target__parse_keys(const char *text, struct span_target *t)
{
	int err;

	t->n_keys = 0;
	for (;;) {
		err = parse_key(&text, t);
		if (err)
			return err;
		if (*text != ',')
			break;
		text++;
	}
	t->nested = !strcmp(text, " nested");
	return *text && !t->nested ? -EINVAL : 0;
}

int span_target__parse(const char *text, struct span_target *ret)
{
	struct span_target t = { .n_keys = 0 };
	int n = 0, err;

	if (sscanf(text, WORD " -> " WORD " by%n", t.start, t.end, &n) != 2 || !n)
		return -EINVAL;
	err = span_target__parse_keys(text + n, &t);
	if (!err)
		*ret = t;
	return err;
}
