/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A clock of the base's own: the time that has passed, as CLOCK_BOOTTIME counts it, over all boots in
 * which a recorder ran there. What somebody sets the wall clock to does not touch it, so it orders
 * incidents, and tells their age. It stands still while the machine is off.
 */
#ifndef FRBPF_DUMP_BASE_BASE_CLOCK_H
#define FRBPF_DUMP_BASE_BASE_CLOCK_H

#include "dump/base/base_dir.h"

/* Go on from BASE/clock.json, or begin where there is none. */
void base_clock__load(struct base_dir *b);
/* Write it: what a reboot must not take back. */
int base_clock__save(const struct base_dir *b, struct err *err);
/* ns */
uint64_t base_clock__now(const struct base_dir *b);
/* What it was at @monotonic, a moment of this boot. */
uint64_t base_clock__at(const struct base_dir *b, uint64_t monotonic);

#endif
