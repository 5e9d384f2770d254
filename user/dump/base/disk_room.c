// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "dump/base/disk_room.h"
#include "rules/units.h"

void disk_room__init(struct disk_room *room)
{
	pthread_mutex_init(&room->lock, NULL);
	room->promised = room->free = 0;
}

static uint64_t bytes_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Returns the bytes that are left when all promised files are written. @free_now may already lack
 * parts of these files, or bytes that others have written: the smaller of two estimates counts.
 * Call it with the lock held.
 */
static uint64_t disk_room__left(struct disk_room *room, uint64_t free_now)
{
	uint64_t left;

	if (!room->promised)
		room->free = free_now;
	left = bytes_less(room->free, room->promised);
	return left < free_now ? left : free_now;
}

int disk_room__promise(struct disk_room *room, int fd, uint64_t min_free, uint64_t bytes,
		       struct err *err)
{
	char left_text[16], keep[16], most[16], others[48] = "", sum[16];
	uint64_t left, promised;
	struct statvfs fs;
	bool fits;

	pthread_mutex_lock(&room->lock);
	if (fstatvfs(fd, &fs)) /* the free space is unknown: ignore the limit */
		min_free = left = 0;
	else
		left = disk_room__left(room, (uint64_t)fs.f_bavail * fs.f_frsize);
	fits = !min_free || (left >= min_free && left - min_free >= bytes);
	promised = room->promised;
	if (fits)
		room->promised += bytes;
	pthread_mutex_unlock(&room->lock);
	if (fits)
		return 0;
	if (promised)
		snprintf(others, sizeof(others), " beside %s of other files under way",
			 units__format_size(promised, sum, sizeof(sum)));
	return err_set(err, -ENOSPC,
		       "not written: %s are free%s, the file may take %s, and min-free = %s must "
		       "stay free",
		       units__format_size(left, left_text, sizeof(left_text)), others,
		       units__format_size(bytes, most, sizeof(most)),
		       units__format_size(min_free, keep, sizeof(keep)));
}

void disk_room__release(struct disk_room *room, uint64_t bytes, uint64_t written)
{
	pthread_mutex_lock(&room->lock);
	room->promised = bytes_less(room->promised, bytes);
	room->free = bytes_less(room->free, written);
	pthread_mutex_unlock(&room->lock);
}
