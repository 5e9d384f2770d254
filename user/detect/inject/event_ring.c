// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "detect/inject/event_ring.h"

#define RING_BYTES  (64U << 10)
#define MAPS_BYTES  (16U << 10)
#define RECORD_MAX  (64U << 10) /* the size field has 16 bits */
#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW)

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: not mapped */
};

struct event_ring {
	struct ring *rings;
	size_t n;
	unsigned int epoch; /* see cpus__epoch() */
	size_t bytes;	    /* of the data of each */
	size_t map_size;
	char record[RECORD_MAX]; /* in one piece */
};

/* In the order of SAMPLE_TYPE. */
struct sample_head {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint32_t raw_size;
} __attribute__((packed));

static int open_ring(struct event_ring *r, struct ring *ring, const struct perf_event_attr *attr,
		     int cpu, const char *filter)
{
	struct perf_event_attr a = *attr;
	void *p;

	ring->fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -errno;
	if (*filter && ioctl(ring->fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 && errno != EINVAL)
		return -errno;
	p = mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	ring->page = p;
	return 0;
}

static int open_rings(const struct perf_event_attr *attr, size_t bytes, const char *filter,
		      struct event_ring **ret)
{
	struct event_ring *r = calloc(1, sizeof(*r));
	_cleanup_free_ int *cpus = NULL;
	size_t n_cpus = 0;
	unsigned int epoch = cpus__epoch();
	int code = r ? cpus__online(&cpus, &n_cpus) : -ENOMEM;

	if (!code) {
		r->epoch = epoch;
		r->bytes = bytes;
		r->map_size = sysconf(_SC_PAGESIZE) + bytes;
		r->rings = calloc(n_cpus, sizeof(*r->rings));
		code = r->rings ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n_cpus && !code; i++) {
		code = open_ring(r, &r->rings[r->n++], attr, cpus[i], filter);
		if (code == -ENODEV) { /* went offline meanwhile */
			r->n--;
			code = 0;
		}
	}
	if (code)
		event_ring__close(r);
	else
		*ret = r;
	return code;
}

int event_ring__open(uint64_t id, const char *filter, struct event_ring **ret, struct err *err)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = SAMPLE_TYPE,
		.disabled = 1,
		.wakeup_events = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int r = open_rings(&attr, RING_BYTES, filter, ret);

	return r ? err_set(err, r, "cannot open a perf event on it: %s", strerror(-r)) : 0;
}

int event_ring__open_maps(struct event_ring **ret)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.mmap = 1,
		.mmap2 = 1,
		.disabled = 1,
		.watermark = 1, /* wakeup_events counts samples only */
		.wakeup_watermark = 1,
	};

	return open_rings(&attr, MAPS_BYTES, "", ret);
}

bool event_ring__is_stale(const struct event_ring *r)
{
	return r->epoch != cpus__epoch();
}

size_t event_ring__n(const struct event_ring *r)
{
	return r->n;
}

int event_ring__fd(const struct event_ring *r, size_t i)
{
	return r->rings[i].fd;
}

void event_ring__enable(struct event_ring *r, bool on)
{
	for (size_t i = 0; i < r->n; i++)
		ioctl(r->rings[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* A record in one piece: perf writes none across more than the ring's end. */
static const void *take_record(struct event_ring *r, const char *data, uint64_t tail, size_t size)
{
	size_t at = tail % r->bytes, first = r->bytes - at;

	if (size <= first)
		return data + at;
	memcpy(r->record, data + at, first);
	memcpy(r->record + first, data, size - first);
	return r->record;
}

struct sample_reader {
	void (*fn)(const struct event_sample *s, void *arg);
	void *arg;
};

static void hand_over_sample(const void *record, size_t size, void *arg)
{
	const struct sample_reader *reader = arg;
	struct sample_head head;

	if (size < sizeof(head))
		return;
	memcpy(&head, record, sizeof(head));
	if (head.raw_size > size - sizeof(head))
		return;
	reader->fn(&(struct event_sample){ .time = head.time,
					   .pid = head.pid,
					   .tid = head.tid,
					   .cpu = head.cpu,
					   .raw = (const char *)record + sizeof(head),
					   .size = head.raw_size },
		   reader->arg);
}

/* As perf lays it out, without the trailer of samples. */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char name[];
};

struct map_reader {
	void (*fn)(const struct event_map *m, void *arg);
	void *arg;
};

static void hand_over_map(const void *record, size_t size, void *arg)
{
	const struct map_reader *reader = arg;
	const struct mmap2_record *m = record;

	if (size <= sizeof(*m) || m->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID ||
	    !memchr(m->name, '\0', size - sizeof(*m)))
		return;
	reader->fn(&(struct event_map){ .pid = m->pid,
					.start = m->start,
					.end = m->start + m->len,
					.inode = m->inode,
					.device = (uint64_t)m->major << 32 | m->minor,
					.name = m->name },
		   reader->arg);
}

/* PERF_RECORD_LOST: id, number. */
static uint64_t lost_of(const void *record, size_t size)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost;

	if (size < sizeof(lost))
		return 0;
	memcpy(&lost, record, sizeof(lost));
	return lost.lost;
}

/* Hand the records of @type to @fn. Returns how many were lost. */
static uint64_t each_record(struct event_ring *r, size_t i, uint32_t type,
			    void (*fn)(const void *record, size_t size, void *arg), void *arg)
{
	struct perf_event_mmap_page *page = r->rings[i].page;
	const char *data = (const char *)page + (r->map_size - r->bytes);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail, lost = 0;

	while (tail < head) {
		struct perf_event_header h;
		const void *record;

		/* records are aligned to 8 bytes: a header lies in one piece */
		memcpy(&h, data + tail % r->bytes, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			break;
		record = take_record(r, data, tail, h.size);
		if (h.type == type)
			fn(record, h.size, arg);
		else if (h.type == PERF_RECORD_LOST)
			lost += lost_of(record, h.size);
		tail += h.size;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}

uint64_t event_ring__read(struct event_ring *r, size_t i,
			  void (*fn)(const struct event_sample *s, void *arg), void *arg)
{
	struct sample_reader reader = { fn, arg };

	return each_record(r, i, PERF_RECORD_SAMPLE, hand_over_sample, &reader);
}

uint64_t event_ring__read_maps(struct event_ring *r, size_t i,
			       void (*fn)(const struct event_map *m, void *arg), void *arg)
{
	struct map_reader reader = { fn, arg };

	return each_record(r, i, PERF_RECORD_MMAP2, hand_over_map, &reader);
}

void event_ring__close(struct event_ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		if (r->rings[i].page)
			munmap(r->rings[i].page, r->map_size);
		if (r->rings[i].fd >= 0)
			close(r->rings[i].fd);
	}
	free(r->rings);
	free(r);
}
