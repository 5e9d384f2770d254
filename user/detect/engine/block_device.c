// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/buf.h"
#include "detect/engine/block_device.h"
#include "abi.h"

#define MAJOR_MAX 0xfff /* 12 and 20 bits: include/linux/kdev_t.h */
#define MINOR_MAX 0xfffff

static bool read_disk_numbers(const char *text, uint64_t *ret)
{
	unsigned int major, minor;
	int len = 0;

	if (strspn(text, "0123456789:") != strcspn(text, "\n") ||
	    sscanf(text, "%4u:%7u%n", &major, &minor, &len) != 2)
		return false;
	if ((text[len] && text[len] != '\n') || major > MAJOR_MAX || minor > MINOR_MAX)
		return false;
	*ret = FRBPF_DEV(major, minor);
	return true;
}

static int refuse_missing_disk(const char *text, struct err *err)
{
	return err_set(err, -ENODEV, "there is no block device \"%s\" here (`lsblk` lists them)",
		       text);
}

static int find_disk_by_path(const char *path, uint64_t *ret, struct err *err)
{
	struct stat st;

	if (stat(path, &st))
		return refuse_missing_disk(path, err);
	if (!S_ISBLK(st.st_mode))
		return err_set(err, -ENOTBLK, "%s is not a block device", path);
	*ret = FRBPF_DEV(major(st.st_rdev), minor(st.st_rdev));
	return 0;
}

static int find_disk_by_name(const char *name, uint64_t *ret, struct err *err)
{
	struct buf b = { 0 };
	char path[PATH_MAX];
	bool found;

	snprintf(path, sizeof(path), "/sys/class/block/%s/dev", name);
	found = buf__read_file(&b, path, 64) == 0 && b.len && read_disk_numbers(b.data, ret);
	buf__free(&b);
	return found ? 0 : refuse_missing_disk(name, err);
}

/*
 * Read the sysfs link to the directory of a device. A partition has its directory in that of its
 * disk.
 */
static char *sysfs_disk_link(uint64_t dev, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/block/%llu:%llu",
		 (unsigned long long)FRBPF_DEV_MAJOR(dev),
		 (unsigned long long)FRBPF_DEV_MINOR(dev));
	n = readlink(path, buf, size - 1);
	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	return buf;
}

/* Does the directory of the device have the attribute @name? */
static bool has_attribute(uint64_t dev, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/dev/block/%llu:%llu/%s",
		 (unsigned long long)FRBPF_DEV_MAJOR(dev), (unsigned long long)FRBPF_DEV_MINOR(dev),
		 name);
	return access(path, F_OK) == 0;
}

/* Refuse a device that gets no requests: one that maps or mirrors others, or is in memory. */
static int refuse_without_requests(const char *text, uint64_t dev, struct err *err)
{
	if (!has_attribute(dev, "dev") || has_attribute(dev, "mq"))
		return 0;
	return err_set(err, -EINVAL,
		       "\"%s\" never gets a request: the disks below it do, if there are any",
		       text);
}

static int refuse_partition(const char *text, uint64_t dev, struct err *err)
{
	char link[PATH_MAX], *disk, *name;

	if (!has_attribute(dev, "partition") || !sysfs_disk_link(dev, link, sizeof(link)))
		return 0;
	name = strrchr(link, '/');
	if (!name)
		return 0;
	*name = '\0';
	disk = strrchr(link, '/');
	return err_set(err, -EINVAL,
		       "\"%s\" is a partition of \"%s\": requests name the whole disk", text,
		       disk ? disk + 1 : link);
}

int block_device__find(const char *text, uint64_t *ret, struct err *err)
{
	uint64_t dev;
	int code = 0;

	if (strncmp(text, "/dev/", 5) == 0)
		code = find_disk_by_path(text, &dev, err);
	else if (!read_disk_numbers(text, &dev))
		code = find_disk_by_name(text, &dev, err);
	code = code ?: refuse_partition(text, dev, err);
	code = code ?: refuse_without_requests(text, dev, err);
	if (!code)
		*ret = dev;
	return code;
}

static bool is_memory_file_system(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* In "../../devices/.../vda/vda1", the directory above the partition has the name of the disk. */
static bool find_disk_of(uint64_t partition, uint64_t *ret)
{
	char link[PATH_MAX], *disk, *name;
	struct err err = { 0 };

	name = sysfs_disk_link(partition, link, sizeof(link)) ? strrchr(link, '/') : NULL;
	if (!name)
		return false;
	*name = '\0';
	disk = strrchr(link, '/');
	return disk && !find_disk_by_name(disk + 1, ret, &err);
}

uint64_t block_device__below(int fd)
{
	struct stat st;
	uint64_t dev;

	if (fstat(fd, &st))
		return 0;
	if (is_memory_file_system(fd))
		return FRBPF_DEV(MAJOR_MAX, MINOR_MAX);
	dev = FRBPF_DEV(major(st.st_dev), minor(st.st_dev));
	if (has_attribute(dev, "partition") && !find_disk_of(dev, &dev))
		return 0;
	/* this device gets no requests: the file or device below it does */
	if (!has_attribute(dev, "mq") || has_attribute(dev, "loop"))
		return 0;
	return dev;
}

char *block_device__name(uint64_t dev, char *buf, size_t size)
{
	char link[PATH_MAX], *name = sysfs_disk_link(dev, link, sizeof(link));

	if (name && strrchr(name, '/'))
		snprintf(buf, size, "%s", strrchr(name, '/') + 1);
	else
		snprintf(buf, size, "%llu:%llu", (unsigned long long)FRBPF_DEV_MAJOR(dev),
			 (unsigned long long)FRBPF_DEV_MINOR(dev));
	return buf;
}
