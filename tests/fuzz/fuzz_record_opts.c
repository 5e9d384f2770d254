// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/event_list.h"
#include "record/filter_check.h"

/*
 * A `run` line, and those of its events that need no tracefs. Every message must have its place
 * within the text.
 */
static void check(const struct diags *d, const struct source_text *src)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].span.off > src->len || d->v[i].span.len > src->len - d->v[i].span.off)
			abort();
}

/* The line as a filter of a tracepoint. */
static void check_filter(const char *text)
{
	static char format[] = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			       "\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;\n";
	const struct tracepoint tp = { "sched", "x", 1, format, sizeof(format) - 1 };
	struct err err;

	filter_check__run(&tp, text, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct source_text *src;
	struct record_opts *opts;
	struct event_list *list;
	struct diags d = { 0 };
	struct buf out = { 0 };

	if (text)
		check_filter(text);
	if (!text || source_text__from_string("run", text, &src))
		abort();
	if (!record_opts__parse(src, (struct span){ 0, src->len }, 4096, &d, &opts)) {
		if (!event_list__resolve(opts, src, NULL, &d, &list))
			event_list__free(list);
		record_opts__free(opts);
	}
	check(&d, src);
	diags__format(&d, &out);
	buf__free(&out);
	diags__free(&d);
	source_text__free(src);
	free(text);
	return 0;
}
