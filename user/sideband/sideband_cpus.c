// SPDX-License-Identifier: GPL-2.0-only
/* The rings of the side band: one per CPU, also for CPUs that come later. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "sideband/sideband_core.h"

#define WATCH_BIT   (1ULL << 32) /* in epoll data: a watch, not a ring */
#define WATCH_BYTES ((size_t)64 << 10)

static int watch_sideband_fd(struct sideband *sb, int fd, uint64_t what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(sb->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

/* Index of the ring of @cpu in @v, or @n. */
static size_t find_ring(const struct sideband_ring *v, size_t n, int cpu)
{
	size_t i = 0;

	while (i < n && v[i].cpu != cpu)
		i++;
	return i;
}

/*
 * Each CPU also has a watch: a second ring, only for records of BPF programs, which wakes at once.
 * A program may be gone before the first ring reaches its watermark. Kernels before 5.1 write no
 * such records.
 */
uint64_t sideband__rings_memory(size_t n_cpus)
{
	return n_cpus * (SIDEBAND_RING_BYTES + WATCH_BYTES);
}

static int open_watch(struct sideband *sb, int cpu)
{
	size_t i = find_ring(sb->watches, sb->n_watches, cpu);
	struct perf_event_attr attr;
	struct sideband_ring r;
	struct err err;

	sideband_ring__init_watch_attr(&attr);
	if (sideband_ring__open(&r, cpu, &attr, WATCH_BYTES, &err))
		return 0;
	if (watch_sideband_fd(sb, r.fd, WATCH_BIT | i)) {
		sideband_ring__close(&r);
		return -ENOMEM;
	}
	if (i < sb->n_watches)
		sideband_ring__close(&sb->watches[i]);
	else
		sb->n_watches++;
	sb->watches[i] = r;
	return 0;
}

/* Open the ring of @cpu; it replaces the previous one, if there was one. Under the lock. */
static int open_cpu_ring(struct sideband *sb, int cpu, struct perf_event_attr *attr,
			 struct err *err)
{
	size_t i = find_ring(sb->rings, sb->n_rings, cpu);
	struct sideband_ring r;
	int pulse, code;

	if (i == sb->max_cpus)
		return -ENODEV;
	pulse = admin__open_event(&cpu_pulse_attr, -1, cpu, 0);
	if (pulse < 0)
		return err_set(err, pulse, "the side band on CPU %d: %s", cpu, strerror(-pulse));
	code = sideband_ring__open(&r, cpu, attr, sb->opts.ring_bytes, err);
	if (code) {
		close(pulse);
		return code;
	}
	code = watch_sideband_fd(sb, r.fd, i);
	if (code) {
		close(pulse);
		sideband_ring__close(&r);
		return err_set(err, code, "epoll: %s", strerror(-code));
	}
	if (i < sb->n_rings) {
		sideband_ring__close(&sb->rings[i]);
		close(sb->pulses[i]);
	}
	sb->rings[i] = r;
	sb->pulses[i] = pulse;
	sb->beats[i] = 0;
	if (i == sb->n_rings)
		__atomic_store_n(&sb->n_rings, i + 1, __ATOMIC_RELEASE);
	return open_watch(sb, cpu);
}

int sideband_core__open_rings(struct sideband *sb, struct err *err)
{
	_cleanup_free_ int *cpus = NULL;
	size_t n, possible = cpus__n_possible();
	int code = cpus__online(&cpus, &n);

	if (code)
		return err_set(err, code, "cannot read which CPUs are online: %s", strerror(-code));
	sb->max_cpus = possible > n ? possible : n;
	sb->rings = calloc(sb->max_cpus, sizeof(*sb->rings));
	sb->watches = calloc(sb->max_cpus, sizeof(*sb->watches));
	sb->pulses = calloc(sb->max_cpus, sizeof(*sb->pulses));
	sb->beats = calloc(sb->max_cpus, sizeof(*sb->beats));
	sb->ids = calloc(n, sizeof(*sb->ids));
	if (!sb->rings || !sb->watches || !sb->pulses || !sb->beats || !sb->ids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		code = open_cpu_ring(sb, cpus[i], &sb->attr, err);
		if (code && code != -ENODEV) /* -ENODEV: it went offline just now */
			return code;
		if (!code)
			sb->ids[sb->n_ids++] = sb->rings[sb->n_rings - 1].id;
	}
	sb->attr.bpf_event = sb->n_watches > 0; /* files with this attr have records of watches */
	return sb->n_rings ? 0 : err_set(err, -ENODEV, "no CPU is online");
}

int sideband_core__reopen_with_data(struct sideband *sb, struct err *err)
{
	struct perf_event_attr attr = sb->attr;

	attr.mmap_data = 1;
	attr.bpf_event = 0; /* only the watch records it */
	for (size_t i = 0; i < sb->n_rings; i++) {
		struct sideband_ring *r = &sb->rings[i];
		uint64_t file_id = r->file_id ?: r->id;
		int code = open_cpu_ring(sb, r->cpu, &attr, err);

		if (code && code != -ENODEV) /* -ENODEV: the CPU is offline */
			return code;
		r->file_id = file_id;
	}
	sb->attr.mmap_data = 1;
	return 0;
}

static int take_ring_room(uint64_t *room, int cpu, struct err *err)
{
	if (*room < sideband__rings_memory(1))
		return err_set(
			err, -ENOSPC,
			"the side band has no ring on CPU %d, which takes %llu KiB more than "
			"max-memory leaves: raise max-memory in [daemon]",
			cpu, (unsigned long long)(sideband__rings_memory(1) - *room) >> 10);
	*room -= sideband__rings_memory(1);
	return 0;
}

/* Under the lock. */
static int follow_sideband_cpu(struct sideband *sb, int cpu, uint64_t *room, struct err *err)
{
	size_t i = find_ring(sb->rings, sb->n_rings, cpu);
	struct perf_event_attr attr = sb->attr;
	uint64_t enabled;
	int code;

	if (i < sb->n_rings && cpu_pulse__is_alive(sb->pulses[i], &enabled))
		return 0;
	attr.bpf_event = 0; /* only the watch records it */
	code = i == sb->n_rings && i < sb->max_cpus ? take_ring_room(room, cpu, err) : 0;
	code = code ?: open_cpu_ring(sb, cpu, &attr, err);
	if (code)
		return code;
	/* files list only the events that existed at the start */
	sb->rings[find_ring(sb->rings, sb->n_rings, cpu)].file_id = sb->ids[0];
	return 1;
}

int sideband__follow_cpus(struct sideband *sb, const int *online, size_t n, uint64_t room,
			  struct err *err)
{
	int count = 0, failed = 0;

	sideband_core__drain(sb);
	sideband__lock(sb);
	for (size_t i = 0; i < n; i++) {
		int code = follow_sideband_cpu(sb, online[i], &room, err);

		if (code < 0 && code != -ENODEV)
			failed = code;
		else if (code > 0)
			count++;
	}
	if (count)
		sideband_core__lost(sb, 0);
	sideband__unlock(sb);
	return failed ?: count;
}

bool sideband__has_lost_cpu(struct sideband *sb)
{
	_cleanup_free_ int *online = NULL;
	bool lost = false;
	size_t n = 0;

	sideband__lock(sb);
	for (size_t i = 0; i < sb->n_rings && !lost; i++) {
		if (cpu_pulse__beats(sb->pulses[i], &sb->beats[i]))
			continue;
		if (!online && cpus__online(&online, &n))
			break;
		lost = cpus__has(online, n, sb->rings[i].cpu);
	}
	sideband__unlock(sb);
	return lost;
}

void sideband_core__on_ring(struct sideband *sb, const struct epoll_event *ev, bool *ret_drain)
{
	bool is_watch = ev->data.u64 & WATCH_BIT;
	size_t i = ev->data.u64 & ~WATCH_BIT;
	uint64_t enabled;

	if (ev->events & (EPOLLHUP | EPOLLERR)) { /* its CPU went offline; it may be back */
		sideband__lock(sb);
		if (is_watch || !cpu_pulse__is_alive(sb->pulses[i], &enabled))
			epoll_ctl(sb->epoll_fd, EPOLL_CTL_DEL,
				  is_watch ? sb->watches[i].fd : sb->rings[i].fd, NULL);
		sideband__unlock(sb);
	}
	if (is_watch)
		sideband_core__watch(sb);
	else
		*ret_drain = true;
}

void sideband_core__close_rings(struct sideband *sb)
{
	for (size_t i = 0; i < sb->n_rings; i++) {
		sideband_ring__close(&sb->rings[i]);
		close(sb->pulses[i]);
	}
	for (size_t i = 0; i < sb->n_watches; i++)
		sideband_ring__close(&sb->watches[i]);
	free(sb->rings);
	free(sb->watches);
	free(sb->pulses);
	free(sb->beats);
}
