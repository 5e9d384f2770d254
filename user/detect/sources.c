// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "common/cleanup.h"
#include "detect/engine/source.h"

/* clang-format off */
static const struct source_ops *const all_sources[] = {
	&source_runqlat,
	&source_syscall,
	&source_blocked,
	&source_offcpu,
	&source_oncpu,
	&source_blkio,
	&source_blkio_device,
	&source_hardirq,
	&source_softirq,
	&source_reclaim,
	&source_connect,
	&source_psi,
	&source_app,
	&source_tracepoint,
	&source_uprobe,
	&source_usdt,
	&source_probe_span,
	&source_tracepoint_fields,
	&source_span,
};
/* clang-format on */

const struct source_ops *source_ops__find(enum frbpf_source source)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_sources); i++) {
		if (all_sources[i]->source == source)
			return all_sources[i];
	}
	return NULL;
}
