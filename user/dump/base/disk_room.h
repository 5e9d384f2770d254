/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Divides the disk space that `min-free` leaves among dumps. The files of an incident are written
 * at the same time, so each gets a promise of its bytes before it is begun. Life: init; then
 * promise and release once for each file, in any thread.
 */
#ifndef FRBPF_DUMP_BASE_DISK_ROOM_H
#define FRBPF_DUMP_BASE_DISK_ROOM_H

#include <pthread.h>
#include <stdint.h>

#include "common/err.h"

struct disk_room { /* of one file system */
	pthread_mutex_t lock;
	uint64_t promised; /* bytes promised to files that are being written */
	uint64_t free;	   /* bytes that were free before the first of these */
};

void disk_room__init(struct disk_room *room);
/*
 * Promise @bytes to a file in the directory @fd. @min_free bytes must stay free (0: no limit). 0:
 * call disk_room__release() when it is written. -ENOSPC, with the numbers in @err: there is no room
 * for it beside the other files.
 */
int disk_room__promise(struct disk_room *room, int fd, uint64_t min_free, uint64_t bytes,
		       struct err *err);
/* End the promise of @bytes. The file has taken @written bytes; 0: it does not exist. */
void disk_room__release(struct disk_room *room, uint64_t bytes, uint64_t written);

#endif
