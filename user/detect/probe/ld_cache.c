// SPDX-License-Identifier: GPL-2.0-only
/* The format of glibc 2.2 and later (sysdeps/generic/dl-cache.h), alone or after an older list. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "detect/probe/ld_cache.h"

#define MAGIC "glibc-ld.so.cache1.1"

/* flags: which C library, and in the second byte for which machine */
#define FLAG_LIBC6   3
#define FLAG_KIND    0xff
#define FLAG_MACHINE 0xff00
#if defined(__x86_64__)
#define FLAG_OWN 0x0300
#elif defined(__aarch64__)
#define FLAG_OWN 0x0a00
#endif

struct header {
	char magic[sizeof(MAGIC) - 1];
	uint32_t n, strings;
	uint8_t flags, pad[3];
	uint32_t extensions, unused[3];
};

struct entry {
	int32_t flags;
	uint32_t name, path; /* offsets from the header */
	uint32_t os_version;
	uint64_t hwcap;
};

_Static_assert(sizeof(struct header) == 48, "header layout");
_Static_assert(sizeof(struct entry) == 24, "entry layout");

/* The string at offset @at; NULL: it has no NUL. */
static const char *text_at(const char *base, size_t len, uint32_t at)
{
	return at < len && memchr(base + at, 0, len - at) ? base + at : NULL;
}

int ld_cache__each(const void *data, size_t len,
		   int (*fn)(const char *name, const char *path, void *arg), void *arg)
{
	const char *base = memmem(data, len, MAGIC, sizeof(MAGIC) - 1);
	struct header h;
	int err = 0;

	len -= base ? (size_t)(base - (const char *)data) : 0;
	if (!base || len < sizeof(h))
		return -EINVAL;
	memcpy(&h, base, sizeof(h));
	if (h.n > (len - sizeof(h)) / sizeof(struct entry))
		return -EINVAL;
	for (uint32_t i = 0; i < h.n && !err; i++) {
		const char *name, *path;
		struct entry e;

		memcpy(&e, base + sizeof(h) + i * sizeof(e), sizeof(e));
		if ((e.flags & FLAG_KIND) != FLAG_LIBC6 || (e.flags & FLAG_MACHINE) != FLAG_OWN)
			continue;
		name = text_at(base, len, e.name);
		path = text_at(base, len, e.path);
		if (name && path)
			err = fn(name, path, arg);
	}
	return err;
}
