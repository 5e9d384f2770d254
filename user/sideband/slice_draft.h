/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a slice from the base state and the log, in two steps, because base and log may be pinned
 * only briefly. new copies what is needed; finish reads files and writes the records.
 */
#ifndef FRBPF_SIDEBAND_SLICE_DRAFT_H
#define FRBPF_SIDEBAND_SLICE_DRAFT_H

#include "sideband/kernel_code.h"
#include "sideband/map_build_id.h"
#include "sideband/sideband.h"
#include "sideband/sideband_log.h"
#include "symbols/task_model.h"

struct slice_draft;

/*
 * @req is borrowed until the draft is freed; @base and @log are not needed after the return. @all:
 * all tasks count as requested. -ENOMEM.
 */
int slice_draft__new(const struct task_model *base, const struct sideband_log_view *log,
		     const struct sideband_request *req, bool all, struct slice_draft **ret);

/*
 * Call @fn with each BPF program that was loaded at the start of the window or later in it. A
 * program may come twice. If @fn returns non-zero, the walk ends and returns it.
 */
int slice_draft__each_bpf_prog(const struct slice_draft *d, int (*fn)(uint32_t id, void *arg),
			       void *arg);

/* Fill in records and build ids of @s. @text, @modules: of the kernel. 0 or -ENOMEM. */
int slice_draft__finish(struct slice_draft *d, const struct kernel_maps *text,
			const struct kernel_maps *modules, struct map_build_ids *build_ids,
			struct sideband_slice *s);
void slice_draft__free(struct slice_draft *d);

#endif
