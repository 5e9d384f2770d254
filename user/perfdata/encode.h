/* SPDX-License-Identifier: GPL-2.0-only */
/* Encoders of the basic types in the feature sections of a perf.data file. 0 or -ENOMEM. */
#ifndef FRBPF_PERFDATA_ENCODE_H
#define FRBPF_PERFDATA_ENCODE_H

#include <stdint.h>

#include "common/buf.h"

#define ENCODE_NAME_ALIGN 64 /* NAME_ALIGN of tools/perf/util/header.c */

int encode__u32(struct buf *b, uint32_t v);
int encode__u64(struct buf *b, uint64_t v);
/* u32 length, then the text with its NUL, padded with zeros to a multiple of 64. */
int encode__string(struct buf *b, const char *s);

/* Overwrite the u32 at @off, for example a count that was not known before. */
void encode__set_u32(struct buf *b, size_t off, uint32_t v);

#endif
