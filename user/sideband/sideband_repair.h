/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * After a loss: compares /proc with base and log, and makes records of the differences for the
 * log. Later windows are then complete; earlier ones stay as they are. Life: new reads /proc,
 * compare writes the records, free.
 */
#ifndef FRBPF_SIDEBAND_SIDEBAND_REPAIR_H
#define FRBPF_SIDEBAND_SIDEBAND_REPAIR_H

#include "common/buf.h"
#include "sideband/sideband_log.h"
#include "symbols/task_model.h"

struct sideband_repair;

/* @data: read also maps that are not executable. Negative errno of proc_scan__tasks(). */
int sideband_repair__new(bool data, struct sideband_repair **ret);
/* Append the records to @out. @log must have all records until new() returned. -ENOMEM. */
int sideband_repair__compare(const struct sideband_repair *r, const struct task_model *base,
			     const struct sideband_log_view *log, struct buf *out);
uint64_t sideband_repair__time(const struct sideband_repair *r); /* ns: end of the scan */
size_t sideband_repair__model_bytes(const struct sideband_repair *r);
void sideband_repair__free(struct sideband_repair *r);

#endif
