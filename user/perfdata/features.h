/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the bodies of a file's feature sections: encodes those of the recording, copies those of
 * the host. */
#ifndef FRBPF_PERFDATA_FEATURES_H
#define FRBPF_PERFDATA_FEATURES_H

#include "perfdata/file_layout.h"
#include "perfdata/writer.h"

/*
 * Append the body of section @bit (enum header_bit). @attrs are written unchanged,
 * FILE_ATTR_SIZE bytes each. 0; -ENOENT: this file has no such section; -ENOMEM. After an error
 * @b is unchanged.
 */
int features__encode(unsigned int bit, const struct perfdata_features *f,
		     const struct perfdata_attr *attrs, size_t n_attrs, struct buf *b);

#endif
