/* SPDX-License-Identifier: GPL-2.0-only */
/* A disk of the test: a loop device on a file without a name. */
#ifndef TESTS_UNIT_LOOP_DEVICE_H
#define TESTS_UNIT_LOOP_DEVICE_H

#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct loop_device {
	int fd;
	int number;
	char path[32];
};

/*
 * Attach @file with @flags, LO_FLAGS_... Returns 0, or -1 if that is not possible here. Closing the
 * last descriptor removes the device.
 */
static inline int loop_device_over(struct loop_device *ret, int file, int flags)
{
	struct loop_config config = { .fd = file,
				      .info = { .lo_flags = LO_FLAGS_AUTOCLEAR | flags } };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	ret->fd = -1;
	for (int i = 0; control >= 0 && i < 100; i++) {
		ret->number = ioctl(control, LOOP_CTL_GET_FREE);
		if (ret->number < 0)
			break;
		snprintf(ret->path, sizeof(ret->path), "/dev/loop%d", ret->number);
		ret->fd = open(ret->path, O_RDWR | O_CLOEXEC);
		if (ret->fd < 0)
			break;
		if (!ioctl(ret->fd, LOOP_CONFIGURE, &config))
			break;
		close(ret->fd); /* another process was faster */
		ret->fd = -1;
	}
	if (control >= 0)
		close(control);
	return ret->fd < 0 ? -1 : 0;
}

/* Attach a new file of @size bytes. */
static inline int loop_device_open(struct loop_device *ret, off_t size)
{
	char name[] = "/var/tmp/frbpf-loop-XXXXXX";
	int file = mkostemp(name, O_CLOEXEC), err = -1;

	ret->fd = -1;
	if (file < 0)
		return -1;
	unlink(name);
	if (!ftruncate(file, size))
		err = loop_device_over(ret, file, 0);
	close(file);
	return err;
}

#endif
