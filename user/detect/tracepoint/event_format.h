/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fields of a tracepoint, from its format file in tracefs, and how to read them from the raw
 * data of a perf sample.
 *
 * libtraceevent is not used: it does not check its allocations, some 18,000 for four rules, and its
 * version 1.8.4 follows null pointers when a format is malformed. On 2,323 formats of a kernel,
 * 11,802 fields and 7,411 names of numbers were equal to those of libtraceevent. It got 14 more
 * names wrong: for it, (1 << NAME) is 1 << 0.
 */
#ifndef FRBPF_DETECT_EVENT_FORMAT_H
#define FRBPF_DETECT_EVENT_FORMAT_H

#include "common/err.h"
#include "common/format_field.h"
#include "rules/expr.h"

enum event_field_kind {
	EVENT_FIELD_OTHER, /* rules cannot compare it */
	EVENT_FIELD_NUMBER,
	EVENT_FIELD_TEXT,
	EVENT_FIELD_IPV4, /* the bytes of an address */
	EVENT_FIELD_IPV6,
};

struct event_field {
	char *name;
	enum event_field_kind kind;
	struct format_field at;
	struct constant
		*symbols; /* names that the print format has for its numbers, or NULL; owned */
};

struct event_format {
	uint64_t id; /* for perf_event_attr.config */
	struct event_field *fields;
	size_t n;
};

/*
 * Read the format of @target, "system:name", from tracefs. -ENOENT: there is no such tracepoint;
 * -ENODEV: no tracefs; -EACCES, -EPERM, -ENOMEM or -EINVAL. All have a message in @err, which may
 * be NULL.
 */
int event_format__read(const char *target, struct event_format **ret, struct err *err);
/* Parse a format from @text. -EINVAL: the text is not a format. */
int event_format__parse(const char *text, size_t len, struct event_format **ret);
void event_format__free(struct event_format *f);

/* NULL: there is no such field. */
const struct event_field *event_format__find(const struct event_format *f, const char *name,
					     size_t len);
enum expr_type event_field__type(const struct event_field *f);

/*
 * Get the value of the field from @raw, which has @size bytes, in the form of frbpf_trigger.args.
 * Bytes beyond the end of @raw count as 0.
 */
void event_field__value(const struct event_field *f, const char *raw, size_t size, __u64 ret[2]);
/* Get the bytes of a string in @raw, and in *ret_len their number without the NUL. */
const char *event_field__string(const struct event_field *f, const char *raw, size_t size,
				size_t *ret_len);

#endif
