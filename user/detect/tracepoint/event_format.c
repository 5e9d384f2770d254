// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <errno.h>
#include <traceevent/event-parse.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/rights.h"
#include "detect/tracepoint/event_format.h"
#include "detect/tracepoint/format_names.h"

#define FORMAT_MAX (1U << 20)

/* ---- out of a format file ---- */

/* The library takes arrays of u8 for strings, too. */
static bool is_text(const struct tep_format_field *f)
{
	return f->flags & TEP_FIELD_IS_STRING && strstr(f->type, "char");
}

/* The kernel has no type for addresses: they are arrays of bytes with names such as saddr_v6. */
static bool is_address(const struct tep_format_field *f)
{
	return f->flags & TEP_FIELD_IS_ARRAY && !is_text(f) && f->elementsize <= 1 &&
	       (strstr(f->name, "addr") || strstr(f->name, "ip"));
}

static enum event_field_kind kind_of(const struct tep_format_field *f)
{
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (!is_text(f))
			return EVENT_FIELD_OTHER;
		return f->flags & TEP_FIELD_IS_RELATIVE ? EVENT_FIELD_REL_LOC : EVENT_FIELD_LOC;
	}
	if (is_text(f))
		return EVENT_FIELD_CHARS;
	if (is_address(f) && f->size == 4)
		return EVENT_FIELD_IPV4;
	if (is_address(f) && f->size == 16)
		return EVENT_FIELD_IPV6;
	if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_POINTER) || !f->size || f->size > 8 ||
	    f->size & (f->size - 1))
		return EVENT_FIELD_OTHER;
	return EVENT_FIELD_NUMBER;
}

static int take_fields(struct event_format *f, const struct tep_event *event)
{
	size_t n = 0;

	for (const struct tep_format_field *t = event->format.fields; t; t = t->next)
		n++;
	f->fields = calloc(n + 1, sizeof(*f->fields));
	if (!f->fields)
		return -ENOMEM;
	for (const struct tep_format_field *t = event->format.fields; t; t = t->next) {
		struct event_field *field = &f->fields[f->n];

		*field = (struct event_field){
			.name = strdup(t->name),
			.kind = kind_of(t),
			.offset = t->offset,
			.size = t->size,
			.is_signed = t->flags & TEP_FIELD_IS_SIGNED,
		};
		if (!field->name)
			return -ENOMEM;
		f->n++;
	}
	format_names__find(event, f);
	return 0;
}

int event_format__parse(const char *text, size_t len, struct event_format **ret)
{
	struct event_format *f = calloc(1, sizeof(*f));
	struct tep_handle *tep = tep_alloc();
	struct tep_event *event = NULL;
	int err = -ENOMEM;

	if (f && tep) {
		tep_set_loglevel(TEP_LOG_NONE);
		tep_set_long_size(tep, sizeof(long));
		/* a print format that it does not understand leaves us the fields */
		tep_parse_format(tep, &event, text, len, "frbpf");
		err = event ? take_fields(f, event) : -EINVAL;
	}
	if (!err)
		f->id = event->id;
	if (tep)
		tep_free(tep);
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
	RAISED_RIGHTS;
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

	if (!system)
		return err_set(err, colon ? -ENOMEM : -EINVAL, "%s: no tracepoint", target);
	if (strchr(target, '/') || system[0] == '.' || colon[1] == '.')
		return err_set(err, -ENOENT, "this kernel has no tracepoint '%s'", target);
	code = read_text(system, colon + 1, &text);
	if (code == -ENOENT)
		err_set(err, code, "this kernel has no tracepoint '%s'", target);
	else if (code)
		err_set(err, code, "cannot read the format of %s: %s", target, strerror(-code));
	if (!code && (code = event_format__parse(text.data, text.len, ret)))
		err_set(err, code, "the format of %s is none that frbpf understands", target);
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

/* ---- out of a sample ---- */

static __u64 read_number(const struct event_field *f, const char *raw)
{
	uint64_t v = 0;

	memcpy(&v, raw + f->offset, f->size); /* little endian, as all machines that we know */
	if (f->size < 8 && f->is_signed)
		return (int64_t)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size);
	/* conditions compare signed numbers: what is too large is taken for the largest */
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
