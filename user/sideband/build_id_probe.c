// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sideband/build_id_probe.h"

/* An event of the calling thread, and its ring of one page. */
struct listener {
	int fd;
	struct perf_event_mmap_page *page;
	size_t size; /* of page and ring, bytes */
};

static bool listener__open(struct listener *l, bool build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = build_id,
	};
	void *p;

	l->size = 2 * sysconf(_SC_PAGESIZE);
	l->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (l->fd < 0)
		return false;
	p = mmap(NULL, l->size, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (p == MAP_FAILED)
		return false;
	l->page = p;
	return true;
}

static void listener__close(struct listener *l)
{
	if (l->page)
		munmap(l->page, l->size);
	cleanup_close(&l->fd);
}

/* The misc bits of the first MMAP2 record, 0: there is none. */
static uint16_t listener__heard(const struct listener *l)
{
	uint64_t head = __atomic_load_n(&l->page->data_head, __ATOMIC_ACQUIRE), off;
	const char *ring = (const char *)l->page + l->size / 2;
	const struct perf_event_header *h;

	for (off = 0; off + sizeof(*h) <= head && off + sizeof(*h) <= l->size / 2; off += h->size) {
		h = (const void *)(ring + off);
		if (h->type == PERF_RECORD_MMAP2)
			return h->misc;
		if (h->size < sizeof(*h))
			break;
	}
	return 0;
}

/* Something with a build id is mapped to be run: both hear of it. */
static bool map_ourselves(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t size = sysconf(_SC_PAGESIZE);
	void *p;

	if (fd < 0)
		return false;
	p = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	munmap(p, size);
	return true;
}

bool build_id_probe__is_clean(void)
{
	struct listener plain = { .fd = -1 }, asking = { .fd = -1 };
	bool clean = false;

	/* the kernel tells the newest event first: what that leaves behind, the older one hears */
	if (listener__open(&plain, false) && listener__open(&asking, true) && map_ourselves())
		clean = (listener__heard(&asking) & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
			listener__heard(&plain) &&
			!(listener__heard(&plain) & PERF_RECORD_MISC_MMAP_BUILD_ID);
	listener__close(&asking);
	listener__close(&plain);
	return clean;
}
