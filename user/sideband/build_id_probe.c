// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
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
		/* maps that nobody executes: `perf record` does not listen to them without -d, so its
		 * events, if this thread has inherited one, are out of reach of what may be left behind */
		.mmap_data = 1,
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

/* The misc bits of the MMAP2 record of @addr, 0: there is none. */
static uint16_t listener__heard(const struct listener *l, const void *addr)
{
	uint64_t head = __atomic_load_n(&l->page->data_head, __ATOMIC_ACQUIRE), off;
	const char *ring = (const char *)l->page + l->size / 2;
	const struct record_mmap2 *r;

	for (off = 0; off + sizeof(*r) <= head && off + sizeof(*r) <= l->size / 2;
	     off += r->header.size) {
		r = (const void *)(ring + off);
		if (r->header.type == PERF_RECORD_MMAP2 && r->start == (uintptr_t)addr)
			return r->header.misc;
		if (r->header.size < sizeof(r->header))
			break;
	}
	return 0;
}

/* Something with a build id is mapped: both hear of it. NULL: it is not. */
static const void *map_ourselves(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t size = sysconf(_SC_PAGESIZE);
	void *p;

	if (fd < 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	munmap(p, size);
	return p;
}

bool build_id_probe__is_clean(void)
{
	struct listener plain = { .fd = -1 }, asking = { .fd = -1 };
	uint16_t heard_plain, heard_asking;
	const void *addr = NULL;
	bool clean = false;

	/* the kernel tells the newest event first: what that leaves behind, the older one hears */
	if (listener__open(&plain, false) && listener__open(&asking, true))
		addr = map_ourselves();
	if (addr) {
		heard_plain = listener__heard(&plain, addr);
		heard_asking = listener__heard(&asking, addr);
		clean = heard_plain && !(heard_plain & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
			(heard_asking & PERF_RECORD_MISC_MMAP_BUILD_ID);
	}
	listener__close(&asking);
	listener__close(&plain);
	return clean;
}
