/* SPDX-License-Identifier: GPL-2.0-only */
/* Names that a tracepoint's print format has for the numbers in its fields: enums and flags. */
#ifndef FRBPF_DETECT_FORMAT_NAMES_H
#define FRBPF_DETECT_FORMAT_NAMES_H

#include "detect/tracepoint/event_format.h"

/* Give the fields of @f their names out of @text, its print format. What stands there by the name of a constant of
 * the kernel's is looked up in its BTF, if there is one; what nobody knows is left out. 0 or -ENOMEM. */
int format_names__find(const char *text, size_t len, struct event_format *f);
void format_names__free(struct constant *symbols);

#endif
