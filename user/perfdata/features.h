/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the bodies of a file's feature sections: encodes those of the recording, copies those of
 * the host. */
#ifndef FRBPF_PERFDATA_FEATURES_H
#define FRBPF_PERFDATA_FEATURES_H

#include "perfdata/header_bits.h"
#include "perfdata/writer.h"

/* Bytes of a perf_event_attr in a file: PERF_ATTR_SIZE_VER7, the most that perf 6.1 reads. */
#define FEATURES_ATTR_SIZE 128

/*
 * Append the body of section @bit (enum header_bit). @attrs are written unchanged,
 * FEATURES_ATTR_SIZE bytes each. 0; -ENOENT: this file has no such section; -ENOMEM. After an error
 * @b is unchanged.
 */
int features__encode(unsigned int bit, const struct perfdata_features *f,
		     const struct perfdata_attr *attrs, size_t n_attrs, struct buf *b);

#endif
