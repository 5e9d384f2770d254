// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "dump/base/removal_log.h"

int removal_log__add(struct buf *lines, const char *name, const json_t *manifest, const char *why,
		     uint64_t bytes)
{
	const json_t *first = json_array_get(json_object_get(manifest, "triggers"), 0);
	json_t *trigger = first ? json_copy((json_t *)first) : json_null(), *j;
	_cleanup_free_ char *text = NULL;

	if (first)
		json_object_del(trigger, "stacks");
	j = json_pack("{s:s, s:I, s:s, s:I, s:o}", "incident", name, "base_ns",
		      json_integer_value(json_object_get(manifest, "base_ns")), "removed", why,
		      "bytes", (json_int_t)bytes, "trigger", trigger);
	text = j ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
	return text ? buf__printf(lines, "%s\n", text) : -ENOMEM;
}

static void read_removal_log(const char *path, struct buf *ret)
{
	char file[PATH_MAX + 32];

	snprintf(file, sizeof(file), "%s/" REMOVAL_LOG_FILE, path);
	if (buf__read_file(ret, file, 2 * REMOVAL_LOG_MAX)) {
		buf__free(ret);
		*ret = (struct buf){ 0 };
	}
}

int removal_log__write(const struct base_dir *b, const struct buf *lines, struct err *err)
{
	struct buf all = { 0 };
	const char *from, *end;
	int code;

	read_removal_log(b->path, &all);
	code = buf__add(&all, lines->data, lines->len);
	from = all.data;
	end = all.data + all.len;
	while (!code && end - from > REMOVAL_LOG_MAX) {
		const char *next = memchr(from, '\n', end - from);

		from = next ? next + 1 : end;
	}
	if (code)
		code = err_set(err, code, "out of memory");
	else
		code = base_dir__write_file(b, REMOVAL_LOG_FILE, from, end - from, err);
	buf__free(&all);
	return code;
}

json_t *removal_log__read(const char *path)
{
	json_t *list = json_array(), *j;
	struct buf all = { 0 };
	size_t at = 0, len;

	read_removal_log(path, &all);
	for (; at < all.len; at += len + 1) {
		const char *end = memchr(all.data + at, '\n', all.len - at);

		len = end ? (size_t)(end - all.data) - at : all.len - at;
		j = json_loadb(all.data + at, len, 0, NULL);
		if (json_is_object(j))
			json_array_append_new(list, j);
		else
			json_decref(j);
	}
	buf__free(&all);
	return list;
}
