// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/tracefs.h"
#include "detect/tracepoint/event_format.h"
#include "detect/tracepoint/format_names.h"

/* ---- from a format file ---- */

static bool field_name_has(const struct format_line *l, const char *word)
{
	return memmem(l->name, l->name_len, word, strlen(word));
}

/* Formats have no type for addresses: they are arrays of bytes with names such as saddr_v6. */
static bool is_address(const struct format_line *l)
{
	return l->is_array && l->n == l->field.size &&
	       (field_name_has(l, "addr") || field_name_has(l, "ip"));
}

static enum event_field_kind format_field_kind(const struct format_line *l)
{
	uint32_t size = l->field.size;

	if (l->field.is_text)
		return EVENT_FIELD_TEXT;
	if (l->field.storage)
		return EVENT_FIELD_OTHER;
	if (is_address(l) && size == 4)
		return EVENT_FIELD_IPV4;
	if (is_address(l) && size == 16)
		return EVENT_FIELD_IPV6;
	if (l->is_array || format_line__type_has(l, "*") || !size || size > 8 || size & (size - 1))
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
		.kind = format_field_kind(l),
		.at = l->field,
	};
	return 0;
}

static int take_fields(struct event_format *f, const char *text, const char *end)
{
	struct format_line l;
	size_t cap = 0;
	int err = 0;

	while (!err && format_text__next(&text, end, &l)) {
		if (!format_line__is_common(&l))
			err = add_format_field(f, &cap, &l);
	}
	return err;
}

int event_format__parse(const char *text, size_t len, struct event_format **ret)
{
	const char *end = text + len, *fields = format_text__after(text, end, "format:");
	const char *print = format_text__after(text, end, "print fmt: ");
	struct event_format *f;
	uint64_t id;
	int err;

	if (!format_text__id(text, len, &id) || !fields)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->id = id;
	err = take_fields(f, fields, print ?: end);
	if (print)
		err = err ?: format_names__find(print, end - print, f);
	if (err) {
		event_format__free(f);
		return err;
	}
	*ret = f;
	return 0;
}

/* The caller owns *ret. */
static int find_tracepoint(const char *target, struct tracepoint **ret, struct err *err)
{
	const char *colon = strchr(target, ':');
	_cleanup_free_ char *system = colon ? strndup(target, colon - target) : NULL;
	struct tracefs *t;
	int code;

	if (!colon)
		return err_set(err, -EINVAL, "%s: no tracepoint", target);
	if (!system)
		return err_set(err, -ENOMEM, "cannot read the format of %s: out of memory", target);
	code = tracefs__open(err, &t);
	if (code)
		return code == -ENOENT ? -ENODEV : code;
	code = tracefs__tracepoint(t, system, colon + 1, err, ret);
	tracefs__free(t);
	return code;
}

int event_format__read(const char *target, struct event_format **ret, struct err *err)
{
	struct tracepoint *tp;
	int code = find_tracepoint(target, &tp, err);

	if (code)
		return code;
	code = event_format__parse(tp->format, tp->format_len, ret);
	if (code == -ENOMEM)
		err_set(err, code, "cannot read the format of %s: out of memory", target);
	else if (code)
		err_set(err, code, "frbpf does not understand the format of %s", target);
	tracepoint__free(tp);
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
	case EVENT_FIELD_TEXT:
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

/* Conditions compare signed numbers: larger ones become the largest signed number. */
static __u64 read_field_number(const struct event_field *f, const char *raw, size_t size)
{
	uint64_t v;

	if (!format_field__number(&f->at, raw, size, &v))
		return 0;
	return !f->at.is_signed && v > INT64_MAX ? INT64_MAX : v;
}

const char *event_field__string(const struct event_field *f, const char *raw, size_t size,
				size_t *ret_len)
{
	*ret_len = 0;
	return format_field__bytes(&f->at, raw, size, ret_len) ?: raw;
}

void event_field__value(const struct event_field *f, const char *raw, size_t size, __u64 ret[2])
{
	uint32_t ip;

	ret[0] = ret[1] = 0;
	if (f->kind == EVENT_FIELD_TEXT) {
		format_field__text(&f->at, raw, size, (char *)ret, FRBPF_COMM_LEN);
		return;
	}
	if (f->kind == EVENT_FIELD_NUMBER) {
		ret[0] = read_field_number(f, raw, size);
		return;
	}
	if (f->at.offset > size || f->at.size > size - f->at.offset)
		return;
	if (f->kind == EVENT_FIELD_IPV4) {
		memcpy(&ip, raw + f->at.offset, sizeof(ip));
		ret[0] = (__u64)be32toh(ip) << 32;
	} else if (f->kind == EVENT_FIELD_IPV6) {
		memcpy(ret, raw + f->at.offset, 2 * sizeof(ret[0]));
		ret[0] = be64toh(ret[0]);
		ret[1] = be64toh(ret[1]);
	}
}
