// SPDX-License-Identifier: GPL-2.0-only
/* The only source that is compiled again when the version changes. */
#include "common/version.h"

const char frbpf_version[] = FRBPF_VERSION;
