// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "perfdata/encode.h"

int encode__u32(struct buf *b, uint32_t v)
{
	return buf__add(b, &v, sizeof(v));
}

int encode__u64(struct buf *b, uint64_t v)
{
	return buf__add(b, &v, sizeof(v));
}

int encode__string(struct buf *b, const char *s)
{
	size_t len = strlen(s);
	size_t padded = (len + ENCODE_NAME_ALIGN) / ENCODE_NAME_ALIGN * ENCODE_NAME_ALIGN;

	if (padded > UINT32_MAX)
		return -ENOMEM;
	return encode__u32(b, padded) ?: buf__add(b, s, len) ?: buf__add_zero(b, padded - len);
}

void encode__set_u32(struct buf *b, size_t off, uint32_t v)
{
	memcpy(b->data + off, &v, sizeof(v));
}
