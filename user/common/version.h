/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FRBPF_COMMON_VERSION_H
#define FRBPF_COMMON_VERSION_H

/* Version of the source tree, from `git describe`. */
extern const char frbpf_version[];

#endif
