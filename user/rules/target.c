// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/target.h"

/* ---- spans ---- */

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

bool span_target__outlives_task(const struct span_target *t)
{
	for (uint32_t i = 0; i < t->n_keys; i++) {
		if (!strcmp(t->keys[i].start, "tid") || !strcmp(t->keys[i].start, "pid"))
			return false;
	}
	return true;
}

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

/* ---- pressure ---- */

char *psi_target__format(const struct psi_target *t)
{
	char *text;

	if (asprintf(&text, "%s %s > %" PRIu64 "us in %" PRIu64 "us%s%s", t->resource, t->kind,
		     t->threshold_us, t->window_us, t->cgroup[0] ? " of " : "", t->cgroup) < 0)
		return NULL;
	return text;
}

int psi_target__parse(const char *text, struct psi_target *ret)
{
	struct psi_target t = { .cgroup = "" };
	int end = 0;

	if (sscanf(text, "%7s %7s > %" SCNu64 "us in %" SCNu64 "us%n", t.resource, t.kind,
		   &t.threshold_us, &t.window_us, &end) != 4 ||
	    !end)
		return -EINVAL;
	if (!strncmp(text + end, " of ", 4))
		snprintf(t.cgroup, sizeof(t.cgroup), "%s", text + end + 4);
	*ret = t;
	return 0;
}
