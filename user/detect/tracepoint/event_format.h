/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fields of a tracepoint as its format file in tracefs tells of them, and how to read them out of
 * the raw data of a perf sample.
 */
#ifndef FRBPF_DETECT_EVENT_FORMAT_H
#define FRBPF_DETECT_EVENT_FORMAT_H

#include "common/err.h"
#include "rules/expr.h"

enum event_field_kind {
	EVENT_FIELD_OTHER, /* nothing that a rule could compare */
	EVENT_FIELD_NUMBER,
	EVENT_FIELD_CHARS, /* a string in an array */
	EVENT_FIELD_LOC,   /* a string at the end of the event: __data_loc */
	EVENT_FIELD_REL_LOC,
	EVENT_FIELD_IPV4, /* bytes of an address */
	EVENT_FIELD_IPV6,
};

struct event_field {
	char *name;
	enum event_field_kind kind;
	uint32_t offset, size;
	bool is_signed;
	struct constant
		*symbols; /* names that its print format has for its numbers, or NULL; owned */
};

struct event_format {
	uint64_t id; /* of perf_event_attr.config */
	struct event_field *fields;
	size_t n;
};

/* Read that of @target, "system:name". -ENOENT: there is no such one; -EACCES, -EPERM, -ENOMEM,
 * -EINVAL: with words in @err. */
int event_format__read(const char *target, struct event_format **ret, struct err *err);
/* The same of a text. -EINVAL: it is none. */
int event_format__parse(const char *text, size_t len, struct event_format **ret);
void event_format__free(struct event_format *f);

/* NULL: no such field. */
const struct event_field *event_format__find(const struct event_format *f, const char *name,
					     size_t len);
enum expr_type event_field__type(const struct event_field *f);

/* The field's value out of @raw of @size bytes, as rules see it: see frbpf_trigger.args. What lies
 * outside of @raw is 0. */
void event_field__value(const struct event_field *f, const char *raw, size_t size, __u64 ret[2]);
/* A string's bytes and their number, up to its NUL. */
const char *event_field__string(const struct event_field *f, const char *raw, size_t size,
				size_t *ret_len);

#endif
