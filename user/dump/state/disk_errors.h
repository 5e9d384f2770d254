/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts errors of SCSI and ATA disks: the sum of /sys/block/DISK/device/ioerr_cnt. The files stay
 * open. Life: new, count as often as needed, free. For one thread.
 */
#ifndef FRBPF_DUMP_STATE_DISK_ERRORS_H
#define FRBPF_DUMP_STATE_DISK_ERRORS_H

#include <stddef.h>
#include <stdint.h>

struct disk_errors;

/* @dir: "/sys/block"; borrowed. NULL: out of memory. */
struct disk_errors *disk_errors__new(const char *dir);

/*
 * Returns the errors so far, of all disks that count them; 0 if none does. Looks for disks again
 * after a minute (@now: ns), if a disk is gone, or if @n_devices has changed since the last call.
 * @n_devices: the number of block devices.
 */
uint64_t disk_errors__count(struct disk_errors *d, size_t n_devices, uint64_t now);

/* NULL is legal. */
void disk_errors__free(struct disk_errors *d);

#endif
