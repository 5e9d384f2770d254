// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/forward_ring.h"
#include "detect/inject/event_ring.h"

#define RING_BYTES  (64U << 10)
#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW)

struct ring {
	int fd;
	struct forward_ring ring;
};

struct event_ring {
	struct ring *rings;
	size_t n;
	unsigned int epoch;	      /* see cpus__epoch() */
	struct forward_record record; /* buffer for a record that wraps */
};

/* In the order of SAMPLE_TYPE. */
struct sample_head {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint32_t raw_size;
} __attribute__((packed));

static int open_event_ring(struct ring *ring, const struct perf_event_attr *attr, int cpu,
			   const char *filter)
{
	ring->fd = admin__open_event(attr, -1, cpu, 0);
	if (ring->fd < 0)
		return ring->fd;
	if (*filter && ioctl(ring->fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 && errno != EINVAL)
		return -errno;
	return forward_ring__map(ring->fd, RING_BYTES, &ring->ring);
}

static int open_rings(const struct perf_event_attr *attr, const char *filter,
		      struct event_ring **ret)
{
	struct event_ring *r = calloc(1, sizeof(*r));
	_cleanup_free_ int *cpus = NULL;
	size_t n_cpus = 0;
	unsigned int epoch = cpus__epoch();
	int err = r ? cpus__online(&cpus, &n_cpus) : -ENOMEM;

	if (!err) {
		r->epoch = epoch;
		r->rings = calloc(n_cpus, sizeof(*r->rings));
		err = r->rings ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n_cpus && !err; i++) {
		err = open_event_ring(&r->rings[r->n++], attr, cpus[i], filter);
		if (err == -ENODEV) { /* went offline meanwhile */
			r->n--;
			err = 0;
		}
	}
	if (err)
		event_ring__close(r);
	else
		*ret = r;
	return err;
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
	int code = open_rings(&attr, filter, ret);

	return code ? err_set(err, code, "cannot open a perf event on it: %s", strerror(-code)) : 0;
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

struct reader {
	void (*fn)(const struct event_sample *s, void *arg);
	void *arg;
	uint64_t lost;
};

static void read_sample(const struct reader *r, const void *record, size_t size)
{
	struct sample_head head;

	if (size < sizeof(head))
		return;
	memcpy(&head, record, sizeof(head));
	if (head.raw_size > size - sizeof(head))
		return;
	r->fn(&(struct event_sample){ .time = head.time,
				      .pid = head.pid,
				      .tid = head.tid,
				      .cpu = head.cpu,
				      .raw = (const char *)record + sizeof(head),
				      .size = head.raw_size },
	      r->arg);
}

/* The number of lost events in a PERF_RECORD_LOST: it has an id and the number. */
static uint64_t lost_record_count(const void *record, size_t size)
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

static void read_ring_record(const struct perf_event_header *h, void *arg)
{
	struct reader *r = arg;

	if (h->type == PERF_RECORD_SAMPLE)
		read_sample(r, h, h->size);
	else if (h->type == PERF_RECORD_LOST)
		r->lost += lost_record_count(h, h->size);
}

uint64_t event_ring__read(struct event_ring *r, size_t i,
			  void (*fn)(const struct event_sample *s, void *arg), void *arg)
{
	struct reader reader = { .fn = fn, .arg = arg };
	bool whole = forward_ring__drain(&r->rings[i].ring, &r->record, read_ring_record, &reader);

	return reader.lost + !whole;
}

void event_ring__close(struct event_ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		forward_ring__unmap(&r->rings[i].ring);
		if (r->rings[i].fd >= 0)
			close(r->rings[i].fd);
	}
	free(r->rings);
	free(r);
}
