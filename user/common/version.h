/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_COMMON_VERSION_H
#define FRBPF_COMMON_VERSION_H

/* What `git describe` said of the tree that this was built from, or "unknown". */
extern const char frbpf_version[];

#endif
