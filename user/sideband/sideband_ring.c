// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/cleanup.h"
#include "perfdata/record.h"
#include "sideband/sideband_ring.h"

/* An event without samples. It wakes when its ring has @wakeup_bytes. */
static struct perf_event_attr dummy_attr(uint32_t wakeup_bytes)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER7,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = RECORD_SAMPLE_TYPE,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = wakeup_bytes,
	};
}

void sideband_ring__init_attr(struct perf_event_attr *attr, size_t ring_bytes, bool build_id)
{
	*attr = dummy_attr(ring_bytes / 4);
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->ksymbol = 1;
	attr->namespaces = 1;
	attr->cgroup = 1;
	attr->build_id = build_id;
}

void sideband_ring__init_watch_attr(struct perf_event_attr *attr)
{
	*attr = dummy_attr(1);
	attr->bpf_event = 1;
}

static void drop_lost(struct perf_event_attr *a)
{
	a->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
}

static void drop_cgroup(struct perf_event_attr *a)
{
	a->cgroup = 0;
}

static void drop_ksymbol(struct perf_event_attr *a)
{
	a->ksymbol = 0;
}

static void drop_namespaces(struct perf_event_attr *a)
{
	a->namespaces = 0;
}

/* Each drops what came with one version of Linux, the newest first: 6.0, 5.7, 5.1 and 4.12. */
static void (*const drops[])(struct perf_event_attr *a) = {
	drop_lost,
	drop_cgroup,
	drop_ksymbol,
	drop_namespaces,
};

static int open_sideband_event(struct perf_event_attr *attr, int cpu)
{
	size_t i;
	int fd;

	for (i = 0;; i++) {
		fd = admin__open_event(attr, -1, cpu, 0);
		if (fd != -EINVAL || i == ARRAY_SIZE(drops))
			return fd;
		drops[i](attr);
	}
}

static int open_failed(int code, int cpu, struct err *err)
{
	if (code == -EPERM || code == -EACCES)
		return err_set(err, code,
			       "recording processes on all CPUs needs root, CAP_PERFMON, or "
			       "kernel.perf_event_paranoid below 1");
	if (code == -EMFILE || code == -ENFILE)
		return err_set(err, code, "too many open files: raise the limit (ulimit -n)");
	return err_set(err, code, "cannot open the side-band event of CPU %d: %s", cpu,
		       strerror(-code));
}

static int map_failed(int code, size_t ring_bytes, struct err *err)
{
	if (code == -EPERM || code == -EAGAIN)
		return err_set(
			err, code,
			"a side-band ring of %zu KiB per CPU exceeds the memory that may be "
			"locked: "
			"run as root, grant CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb",
			ring_bytes / 1024);
	return err_set(err, code, "cannot map a side-band ring of %zu KiB: %s", ring_bytes / 1024,
		       strerror(-code));
}

int sideband_ring__open(struct sideband_ring *r, int cpu, struct perf_event_attr *attr,
			size_t ring_bytes, struct err *err)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct sideband_ring ring = { .cpu = cpu };
	int code;

	if (ring_bytes < page || (ring_bytes & (ring_bytes - 1)))
		return err_set(err, -EINVAL, "a ring of %zu bytes: not a power of two of pages",
			       ring_bytes);
	ring.fd = open_sideband_event(attr, cpu);
	if (ring.fd < 0)
		return open_failed(ring.fd, cpu, err);
	code = forward_ring__map(ring.fd, ring_bytes, &ring.ring);
	if (code) {
		code = map_failed(code, ring_bytes, err);
		close(ring.fd);
		return code;
	}
	if (ioctl(ring.fd, PERF_EVENT_IOC_ID, &ring.id)) {
		code = err_set(err, -errno, "cannot read the id of the side-band event: %s",
			       strerror(errno));
		sideband_ring__close(&ring);
		return code;
	}
	ring.counts_lost = attr->read_format & PERF_FORMAT_LOST;
	ring.build_ids = attr->build_id;
	*r = ring;
	return 0;
}

void sideband_ring__close(struct sideband_ring *r)
{
	if (!r->ring.base)
		return;
	forward_ring__unmap(&r->ring);
	close(r->fd);
	*r = (struct sideband_ring){ .fd = -1 };
}

/*
 * The size of a record without surplus bytes at its end. For every event that gets a KSYMBOL or
 * BPF_EVENT record, the kernel adds the size of the trailer, but never resets the sum. So if other
 * programs record too, our record claims too many bytes. See perf_event_ksymbol_output() and
 * perf_event_bpf_output(), at least up to Linux 6.18.
 */
static size_t record_real_size(const struct perf_event_header *h)
{
	const struct record_ksymbol *sym = (const void *)h;
	size_t size = h->size, name;

	if (h->type == PERF_RECORD_BPF_EVENT) {
		size = sizeof(struct record_bpf_event) + RECORD_TRAILER_SIZE;
	} else if (h->type == PERF_RECORD_KSYMBOL && h->size > sizeof(*sym)) {
		name = strnlen(sym->name, h->size - sizeof(*sym)) + 1;
		size = sizeof(*sym) + ((name + 7) & ~(size_t)7) + RECORD_TRAILER_SIZE;
	}
	return size < h->size ? size : h->size;
}

/*
 * Remove from a record what other events left in it: surplus size, and the build id bit (see
 * build_id_probe.h). A changed record is a copy in @bounce.
 */
static const struct perf_event_header *
mended_record(const struct sideband_ring *r, const struct perf_event_header *h, char *bounce)
{
	uint16_t leaked =
		h->type == PERF_RECORD_MMAP2 && !r->build_ids ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0;
	struct perf_event_header *copy = (void *)bounce;
	size_t size = record_real_size(h);

	if (size == h->size && !(h->misc & leaked))
		return h;
	memmove(copy, h, size);
	copy->size = size;
	copy->misc &= ~leaked;
	return copy;
}

/*
 * Replace the id with file_id, if that is set. The result is then a copy in @bounce, as the ring's
 * data is read-only.
 */
static const struct perf_event_header *
renamed_record(const struct sideband_ring *r, const struct perf_event_header *h, char *bounce)
{
	struct perf_event_header *copy = (void *)bounce;

	if (!r->file_id)
		return h;
	if (h != copy)
		memcpy(copy, h, h->size);
	record__set_id(copy, r->file_id);
	return copy;
}

/*
 * Number of records lost since the last call. This interrupts the CPU, so call it only if needed.
 */
static uint64_t ask_lost_count(struct sideband_ring *r)
{
	uint64_t v[3], before = r->lost; /* value, id, lost: PERF_FORMAT_ID | PERF_FORMAT_LOST */

	if (read(r->fd, v, sizeof(v)) != sizeof(v))
		return 0;
	r->lost = v[2];
	return v[2] - before;
}

struct drain {
	const struct sideband_ring *ring;
	void (*fn)(const struct perf_event_header *rec, void *arg);
	void *arg;
	uint64_t lost; /* number of records */
	struct forward_record bounce;
};

static void drain_sideband_record(const struct perf_event_header *h, void *arg)
{
	struct drain *d = arg;

	h = mended_record(d->ring, h, d->bounce.bytes);
	if (!record__valid(h, h->size))
		return;
	if (h->type == PERF_RECORD_LOST)
		d->lost += ((const struct record_lost *)h)->lost;
	else
		d->fn(renamed_record(d->ring, h, d->bounce.bytes), d->arg);
}

uint64_t sideband_ring__drain(struct sideband_ring *r,
			      void (*fn)(const struct perf_event_header *rec, void *arg), void *arg)
{
	bool was_full = forward_ring__waiting(&r->ring) + UINT16_MAX >= r->ring.size;
	struct drain d;
	uint64_t corrupt;

	d.ring = r;
	d.fn = fn;
	d.arg = arg;
	d.lost = 0;
	corrupt = !forward_ring__drain(&r->ring, &d.bounce, drain_sideband_record, &d);
	if (!r->counts_lost)
		return d.lost + corrupt;
	return (was_full || d.lost ? ask_lost_count(r) : 0) + corrupt;
}
