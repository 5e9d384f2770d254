/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `min-free` leaves for dumps. The files of an incident are written at the same time, so each is
 * promised its bytes before it is begun. Life: init, promise and settle once a file, any thread.
 */
#ifndef FRBPF_DUMP_BASE_DISK_ROOM_H
#define FRBPF_DUMP_BASE_DISK_ROOM_H

#include <pthread.h>
#include <stdint.h>

#include "common/err.h"

struct disk_room { /* of one file system */
	pthread_mutex_t lock;
	uint64_t promised; /* bytes: of files that are being written */
	uint64_t free;	   /* bytes that were free before the first of these */
};

void disk_room__init(struct disk_room *room);
/* A file of up to @bytes in the directory @fd is to be written, and @min_free bytes are to stay free
 * (0: no limit). 0: settle when it is there. -ENOSPC, with the sum: it has no room beside the others. */
int disk_room__promise(struct disk_room *room, int fd, uint64_t min_free, uint64_t bytes,
		       struct err *err);
/* The file that was promised @bytes has taken @written; 0: it is not there. */
void disk_room__settle(struct disk_room *room, uint64_t bytes, uint64_t written);

#endif
