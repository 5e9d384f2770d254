/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds block devices of this machine by name and by number. */
#ifndef FRBPF_DETECT_BLOCK_DEVICE_H
#define FRBPF_DETECT_BLOCK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Get FRBPF_DEV() of "sda", "/dev/disk/by-id/..." or "8:0". A number need not exist yet. A
 * partition is an error, since requests carry the number of the disk; so is a device without
 * requests. 0, or negative errno with a message in @err.
 */
int block_device__find(const char *text, uint64_t *ret, struct err *err);

/*
 * Get FRBPF_DEV() of the only disk that gets requests for the file system of @fd. A file system in
 * memory gets a number that no disk has. 0: there may be several disks, or it is unknown.
 */
uint64_t block_device__below(int fd);

/* Write the name of device @dev to @buf, or "8:0" if it has none. Returns @buf. */
char *block_device__name(uint64_t dev, char *buf, size_t size);

#endif
