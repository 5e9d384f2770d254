// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/format_line.h"
#include "common/rights.h"
#include "detect/tracepoint/event_format.h"
#include "detect/tracepoint/format_names.h"

#define FORMAT_MAX (1U << 20)

/* ---- from a format file ---- */

static bool type_has(const struct format_line *l, const char *word)
{
	return memmem(l->type, l->type_len, word, strlen(word));
}

static bool name_has(const struct format_line *l, const char *word)
{
	return memmem(l->name, l->name_len, word, strlen(word));
}

/* The kernel has no type for addresses: they are arrays of bytes with names such as saddr_v6. */
static bool is_address(const struct format_line *l)
{
	return l->is_array && l->n == l->size && (name_has(l, "addr") || name_has(l, "ip"));
}

static enum event_field_kind kind_of(const struct format_line *l)
{
	bool is_text = l->is_array && type_has(l, "char") && !type_has(l, "*");

	if (type_has(l, "__data_loc"))
		return is_text ? EVENT_FIELD_LOC : EVENT_FIELD_OTHER;
	if (type_has(l, "__rel_loc"))
		return is_text ? EVENT_FIELD_REL_LOC : EVENT_FIELD_OTHER;
	if (is_text)
		return EVENT_FIELD_CHARS;
	if (is_address(l) && l->size == 4)
		return EVENT_FIELD_IPV4;
	if (is_address(l) && l->size == 16)
		return EVENT_FIELD_IPV6;
	if (l->is_array || type_has(l, "*") || !l->size || l->size > 8 || l->size & (l->size - 1))
		return EVENT_FIELD_OTHER;
	return EVENT_FIELD_NUMBER;
}

static int add_format_field(struct event_format *f, size_t *cap, const struct format_line *l)
{
	char *name;

	if (!ARRAY_HAS_ROOM(f->fields, f->n, *cap, 16))
		return -ENOMEM;
	name = strndup(l->name, l->name_len);
	if (!name)
		return -ENOMEM;
	f->fields[f->n++] = (struct event_field){
		.name = name,
		.kind = kind_of(l),
		.offset = l->offset,
		.size = l->size,
		.is_signed = l->is_signed,
	};
	return 0;
}

/* Take the lines after "format:". An empty one ends the fields that all tracepoints have. */
static int take_fields(struct event_format *f, const char *text, const char *end)
{
	const char *line = memchr(text, '\n', end - text) ?: end, *eol;
	struct format_line l;
	bool common = true;
	size_t cap = 0;
	int err = 0;

	for (line++; line < end && !err; line = eol + 1) {
		eol = memchr(line, '\n', end - line) ?: end;
		if (eol == line)
			common = false;
		else if (!common && format_line__parse(line, eol, &l))
			err = add_format_field(f, &cap, &l);
	}
	return err;
}

/* Find the text after @key at the start of a line. NULL: no line begins with @key. */
static const char *find_line(const char *text, const char *end, const char *key)
{
	const size_t len = strlen(key);
	const char *line, *eol;

	for (line = text; line < end; line = eol + 1) {
		eol = memchr(line, '\n', end - line) ?: end;
		if ((size_t)(eol - line) >= len && !memcmp(line, key, len))
			return line + len;
	}
	return NULL;
}

int event_format__parse(const char *text, size_t len, struct event_format **ret)
{
	const char *end = text + len, *id = find_line(text, end, "ID: ");
	const char *fields = find_line(text, end, "format:");
	const char *print = find_line(text, end, "print fmt: ");
	struct event_format *f;
	int err;

	if (!id || !fields)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	err = format_number__parse(id, end, &f->id) ? 0 : -EINVAL;
	err = err ?: take_fields(f, fields, print ?: end);
	if (print)
		err = err ?: format_names__find(print, end - print, f);
	if (err) {
		event_format__free(f);
		return err;
	}
	*ret = f;
	return 0;
}

static int read_text(const char *system, const char *name, struct buf *ret)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	RAISED_RIGHTS(RIGHTS_FILES);
	char path[512];
	int err = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(roots) && err == -ENOENT; i++) {
		snprintf(path, sizeof(path), "%s/events/%s/%s/format", roots[i], system, name);
		err = buf__read_file(ret, path, FORMAT_MAX);
	}
	return err;
}

int event_format__read(const char *target, struct event_format **ret, struct err *err)
{
	const char *colon = strchr(target, ':');
	_cleanup_free_ char *system = colon ? strndup(target, colon - target) : NULL;
	struct buf text = { 0 };
	int code;

	if (!colon)
		return err_set(err, -EINVAL, "%s: no tracepoint", target);
	if (!system)
		return err_set(err, -ENOMEM, "cannot read the format of %s: out of memory", target);
	if (strchr(target, '/') || system[0] == '.' || colon[1] == '.')
		return err_set(err, -ENOENT, "this kernel has no tracepoint '%s'", target);
	code = read_text(system, colon + 1, &text);
	if (code == -ENOENT)
		err_set(err, code, "this kernel has no tracepoint '%s'", target);
	code = code ?: event_format__parse(text.data, text.len, ret);
	if (code == -EINVAL)
		err_set(err, code, "frbpf does not understand the format of %s", target);
	else if (code && code != -ENOENT)
		err_set(err, code, "cannot read the format of %s: %s", target, strerror(-code));
	buf__free(&text);
	return code;
}

void event_format__free(struct event_format *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++) {
		free(f->fields[i].name);
		format_names__free(f->fields[i].symbols);
	}
	free(f->fields);
	free(f);
}

const struct event_field *event_format__find(const struct event_format *f, const char *name,
					     size_t len)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strlen(f->fields[i].name) == len && !memcmp(f->fields[i].name, name, len))
			return &f->fields[i];
	}
	return NULL;
}

enum expr_type event_field__type(const struct event_field *f)
{
	switch (f->kind) {
	case EVENT_FIELD_CHARS:
	case EVENT_FIELD_LOC:
	case EVENT_FIELD_REL_LOC:
		return EXPR_STRING;
	case EVENT_FIELD_IPV4:
		return EXPR_IPV4;
	case EVENT_FIELD_IPV6:
		return EXPR_IPV6;
	case EVENT_FIELD_NUMBER:
	case EVENT_FIELD_OTHER:
		break;
	}
	return EXPR_NUMBER;
}

/* ---- from a sample ---- */

static __u64 read_number(const struct event_field *f, const char *raw)
{
	uint64_t v = 0;

	memcpy(&v, raw + f->offset, f->size); /* all supported machines are little-endian */
	if (f->size < 8 && f->is_signed)
		return (int64_t)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size);
	/* conditions compare signed numbers: larger ones become the largest signed number */
	return !f->is_signed && v > INT64_MAX ? INT64_MAX : v;
}

const char *event_field__string(const struct event_field *f, const char *raw, size_t size,
				size_t *ret_len)
{
	size_t off = f->offset, len = f->size;
	uint32_t loc;

	*ret_len = 0;
	if (off + len > size)
		return raw;
	if (f->kind != EVENT_FIELD_CHARS) {
		if (len < sizeof(loc))
			return raw;
		memcpy(&loc, raw + off, sizeof(loc));
		off = (loc & 0xffff) + (f->kind == EVENT_FIELD_REL_LOC ? off + sizeof(loc) : 0);
		len = loc >> 16;
		if (off > size || len > size - off)
			return raw;
	}
	*ret_len = strnlen(raw + off, len);
	return raw + off;
}

void event_field__value(const struct event_field *f, const char *raw, size_t size, __u64 ret[2])
{
	const char *s;
	size_t len;
	uint32_t ip;

	ret[0] = ret[1] = 0;
	if (event_field__type(f) == EXPR_STRING) {
		s = event_field__string(f, raw, size, &len);
		memcpy(ret, s, len < FRBPF_COMM_LEN ? len : FRBPF_COMM_LEN - 1);
		return;
	}
	if (f->offset > size || f->size > size - f->offset)
		return;
	if (f->kind == EVENT_FIELD_NUMBER) {
		ret[0] = read_number(f, raw);
	} else if (f->kind == EVENT_FIELD_IPV4) {
		memcpy(&ip, raw + f->offset, sizeof(ip));
		ret[0] = (__u64)be32toh(ip) << 32;
	} else if (f->kind == EVENT_FIELD_IPV6) {
		memcpy(ret, raw + f->offset, 2 * sizeof(ret[0]));
		ret[0] = be64toh(ret[0]);
		ret[1] = be64toh(ret[1]);
	}
}
