// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/forward_ring.h"
#include "perfdata/record.h"
#include "sideband/build_id_probe.h"

/* An event of the calling thread, and its ring of one page. */
struct listener {
	int fd;
	struct forward_ring ring;
};

static bool listener__open(struct listener *l, bool build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		/*
		 * Record non-executable maps, too. This thread may have inherited an event of `perf
		 * record`. Without -d, that event records no such maps, so it cannot get a header
		 * with the stale bit.
		 */
		.mmap_data = 1,
		.mmap2 = 1,
		.build_id = build_id,
	};

	l->fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return l->fd >= 0 && !forward_ring__map(l->fd, sysconf(_SC_PAGESIZE), &l->ring);
}

static void listener__close(struct listener *l)
{
	forward_ring__unmap(&l->ring);
	cleanup_close(&l->fd);
}

struct heard {
	const void *addr;
	uint16_t misc;
};

static void hear_record(const struct perf_event_header *h, void *arg)
{
	const struct record_mmap2 *r = (const void *)h;
	struct heard *heard = arg;

	if (h->type == PERF_RECORD_MMAP2 && h->size >= sizeof(*r) &&
	    r->start == (uintptr_t)heard->addr)
		heard->misc = h->misc;
}

/* The misc bits of the MMAP2 record for @addr; 0: there is none. */
static uint16_t listener__heard(const struct listener *l, const void *addr)
{
	struct heard heard = { .addr = addr };
	struct forward_record wrapped;

	forward_ring__drain(&l->ring, &wrapped, hear_record, &heard);
	return heard.misc;
}

/* Map and unmap our own file, which has a build id: both events record it. NULL: failed. */
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

	/* the kernel writes to the newest event first: a stale bit reaches the older one */
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
