// SPDX-License-Identifier: GPL-2.0-only
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/ring.h"

static int map_ring(struct ring *r, int fd, size_t size, int prot, struct err *err)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *base;

	if (size < page || (size & (size - 1)))
		return err_set(err, -EINVAL, "a ring of %zu bytes: not a power of two of pages",
			       size);
	base = mmap(NULL, page + size, prot, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		int code = -errno;

		if (code == -EPERM)
			return err_set(err, code,
				       "a ring of %zu KiB exceeds the memory that may be locked: "
				       "run as root, grant "
				       "CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb",
				       size / 1024);
		return err_set(err, code, "cannot map a ring of %zu KiB: %s%s", size / 1024,
			       strerror(-code), code == -ENOMEM ? "; use a smaller -m" : "");
	}
	*r = (struct ring){ .fd = fd, .base = base, .size = size, .mapped = page + size };
	return 0;
}

/* PROT_READ makes the kernel overwrite the ring; a writable one drops records when it is full. */
int ring__map(struct ring *r, int fd, size_t size, struct err *err)
{
	return map_ring(r, fd, size, PROT_READ, err);
}

int ring__map_forward(struct ring *r, int fd, size_t size, struct err *err)
{
	return map_ring(r, fd, size, PROT_READ | PROT_WRITE, err);
}

void ring__unmap(struct ring *r)
{
	if (r->base)
		munmap(r->base, r->mapped);
	*r = (struct ring){ .fd = -1 };
}

uint64_t ring__head(const struct ring *r)
{
	const struct perf_event_mmap_page *page = r->base;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

const uint8_t *ring__data(const struct ring *r)
{
	return (const uint8_t *)r->base + (r->mapped - r->size);
}

static int ring__set_paused(const struct ring *r, unsigned long paused)
{
	return ioctl(r->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, paused) < 0 ? -errno : 0;
}

int ring__pause(const struct ring *r)
{
	return ring__set_paused(r, 1);
}

int ring__resume(const struct ring *r)
{
	return ring__set_paused(r, 0);
}
