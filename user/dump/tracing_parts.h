/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file's TRACING_DATA takes from tracefs beside the formats: read once, when the daemon
 * starts. */
#ifndef FRBPF_DUMP_TRACING_PARTS_H
#define FRBPF_DUMP_TRACING_PARTS_H

#include "perfdata/writer.h"
#include "record/tracefs.h"

/* Negative errno with words in @err; free @ret also then. */
int tracing_parts__read(struct tracefs *t, struct perfdata_tracing *ret, struct err *err);
void tracing_parts__free(struct perfdata_tracing *parts);

#endif
