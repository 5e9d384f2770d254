/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of all sources. Private to detect/. */
#ifndef FRBPF_DETECT_SOURCES_H
#define FRBPF_DETECT_SOURCES_H

#include "detect/engine/source.h"

/* NULL: there is no BPF object for this source. */
const struct source_ops *source_ops__find(enum frbpf_source source);

#endif
