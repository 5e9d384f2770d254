// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/probe_span_target.h"

#define ARROW " -> "
#define BY    " by"
#define START "start."

static const struct {
	const char *prefix;
	enum frbpf_source source;
} kinds[] = {
	{ "uprobe:", FRBPF_SOURCE_UPROBE },
	{ "usdt:", FRBPF_SOURCE_USDT },
};

int probe_span__arg(const char *name)
{
	if (strncmp(name, "arg", 3) != 0 || name[3] < '0' || name[3] >= '0' + FRBPF_MAX_ARGS ||
	    name[4])
		return -EINVAL;
	return name[3] - '0';
}

int probe_span__value(const char *name, bool *ret_start)
{
	*ret_start = !strncmp(name, START, strlen(START));
	return probe_span__arg(name + (*ret_start ? strlen(START) : 0));
}

static const char *prefix_of(enum frbpf_source source)
{
	return kinds[source == FRBPF_SOURCE_USDT].prefix;
}

char *probe_span_target__format(const struct probe_span_target *t)
{
	_cleanup_free_ char *keys = span_target__format_keys(&t->keys);
	char *text = NULL;

	if (!keys ||
	    asprintf(&text, "%s%s" ARROW "%s%s" BY "%s", prefix_of(t->end[0].source),
		     t->end[0].target, prefix_of(t->end[1].source), t->end[1].target, keys) < 0)
		return NULL;
	return text;
}

static int parse_end(const char *text, size_t len, struct probe_end *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (len <= n || strncmp(text, kinds[i].prefix, n) != 0)
			continue;
		ret->source = kinds[i].source;
		ret->target = strndup(text + n, len - n);
		return ret->target ? 0 : -ENOMEM;
	}
	return -EINVAL;
}

int probe_span_target__parse(const char *text, struct probe_span_target *ret)
{
	const char *arrow = strstr(text, ARROW), *by;
	struct probe_span_target t = { 0 };
	int err;

	by = arrow ? strstr(arrow, BY " ") : NULL;
	if (!by)
		return -EINVAL;
	err = parse_end(text, arrow - text, &t.end[0]);
	arrow += strlen(ARROW);
	err = err ?: by <= arrow ? -EINVAL : parse_end(arrow, by - arrow, &t.end[1]);
	err = err ?: span_target__parse_keys(by + strlen(BY), &t.keys);
	if (err)
		probe_span_target__free(&t);
	else
		*ret = t;
	return err;
}

void probe_span_target__free(struct probe_span_target *t)
{
	free(t->end[0].target);
	free(t->end[1].target);
	t->end[0].target = t->end[1].target = NULL;
}
