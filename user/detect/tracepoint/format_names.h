/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for numbers in fields (enums, flags), from the print format of a tracepoint. */
#ifndef FRBPF_DETECT_FORMAT_NAMES_H
#define FRBPF_DETECT_FORMAT_NAMES_H

#include "detect/tracepoint/event_format.h"

/*
 * Give the fields of @f the names in @text, its print format. Named constants are looked up in the
 * BTF of the kernel, if it has one; unknown ones are left out. 0 or -ENOMEM.
 */
int format_names__find(const char *text, size_t len, struct event_format *f);
void format_names__free(struct constant *symbols);

#endif
