/* SPDX-License-Identifier: GPL-2.0-only */
/* Block devices of this machine by name and by number. */
#ifndef FRBPF_DETECT_BLOCK_DEVICE_H
#define FRBPF_DETECT_BLOCK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* FRBPF_DEV() of "sda", "/dev/disk/by-id/..." or "8:0". A number need not exist (yet); a partition is
 * an error, as requests are of disks, and so is a device that has none. Negative errno with words in @err. */
int block_device__find(const char *text, uint64_t *ret, struct err *err);

/* FRBPF_DEV() of the one disk that requests go to for files of the file system of @fd, or of none
 * that there is where they never do; 0: there may be several, or it is not known. */
uint64_t block_device__below(int fd);

/* The name of the device of that number, or "8:0" if there is none. Returns @buf. */
char *block_device__name(uint64_t dev, char *buf, size_t size);

#endif
