/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a base. It counts time as CLOCK_BOOTTIME does, over all boots in which a recorder
 * used the base. Setting the wall clock does not change it, so it orders incidents and gives their
 * age. It stands still while the machine is off.
 */
#ifndef FRBPF_DUMP_BASE_BASE_CLOCK_H
#define FRBPF_DUMP_BASE_BASE_CLOCK_H

#include "dump/base/base_dir.h"

/* Continue from BASE/clock.json, or begin at 0 if there is none. */
void base_clock__load(struct base_dir *b);
/*
 * Save the clock, so that a reboot does not set it back. 0 or negative errno with a message in
 * @err.
 */
int base_clock__save(const struct base_dir *b, struct err *err);
/* The time now, ns. */
uint64_t base_clock__now(const struct base_dir *b);
/* The time of the base's clock, ns, at @monotonic, a CLOCK_MONOTONIC time of this boot. */
uint64_t base_clock__at(const struct base_dir *b, uint64_t monotonic);

#endif
