/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses untrusted bytes in the host's byte order, at any alignment. A read beyond the end gives 0
 * or NULL, and marks the cursor as bad for good. So the caller checks the cursor only once, at the
 * end.
 */
#ifndef FRBPF_PERFDATA_CURSOR_H
#define FRBPF_PERFDATA_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const char *p, *end; /* borrowed */
	bool bad;
};

static inline struct cursor cursor__init(const void *data, size_t len)
{
	return (struct cursor){ .p = data, .end = (const char *)data + len };
}

static inline size_t cursor__left(const struct cursor *c)
{
	return c->end - c->p;
}

/* The next @len bytes, or NULL. */
static inline const void *cursor__bytes(struct cursor *c, uint64_t len)
{
	const char *p = c->p;

	if (c->bad || len > cursor__left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += len;
	return p;
}

static inline uint32_t cursor__u32(struct cursor *c)
{
	const void *p = cursor__bytes(c, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t cursor__u64(struct cursor *c)
{
	const void *p = cursor__bytes(c, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

/* The next NUL-terminated string, or NULL. */
static inline const char *cursor__name(struct cursor *c)
{
	const char *nul = c->bad || c->p == c->end ? NULL : memchr(c->p, 0, cursor__left(c));

	if (!nul) {
		c->bad = true;
		return NULL;
	}
	return cursor__bytes(c, nul + 1 - c->p);
}

/* The next string of perf: u32 length, then the text with NUL and padding. NULL: it lacks the
 * NUL. */
static inline const char *cursor__string(struct cursor *c)
{
	uint32_t len = cursor__u32(c);
	const char *s = cursor__bytes(c, len);

	if (s && !memchr(s, 0, len))
		c->bad = true;
	return c->bad ? NULL : s;
}

#endif
