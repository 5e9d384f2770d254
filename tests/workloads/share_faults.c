// SPDX-License-Identifier: GPL-2.0-only
/*
 * share_faults: records its page faults as `perf record -a -e page-faults -c 1 -k CLOCK_REALTIME`
 * does, from an event of its CPU. Says "ready", waits for the end of its input, and touches pages.
 * Prints how many samples it got, and how many have the time of another clock or the id of another
 * event.
 * perf itself cannot tell: 6.1 does not read a recording during which BPF programs were loaded.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (1 << 20)
#define PAGES	   4096

static void touch_pages(size_t page)
{
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		return;
	madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
}

/* The word at @at in the ring. Records consist of words, which never wrap: header, id, time. */
static uint64_t word(const struct perf_event_mmap_page *ring, size_t page, uint64_t at)
{
	return *(const uint64_t *)((const char *)ring + page + at % RING_BYTES);
}

static int count(struct perf_event_mmap_page *ring, size_t page, uint64_t id, uint64_t begin)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	unsigned samples = 0, wrong_time = 0, wrong_id = 0;

	for (uint64_t at = ring->data_tail; at < head;) {
		uint64_t first = word(ring, page, at);
		struct perf_event_header h;

		memcpy(&h, &first, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE) {
			samples++;
			wrong_id += word(ring, page, at + 8) != id;
			wrong_time += word(ring, page, at + 16) < begin;
		}
		at += h.size;
	}
	printf("%u %u %u\n", samples, wrong_time, wrong_id);
	return 0;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_REALTIME,
	};
	size_t page = sysconf(_SC_PAGESIZE);
	struct timespec now;
	cpu_set_t cpu;
	uint64_t id;
	struct perf_event_mmap_page *ring;
	int fd;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	ring = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sched_setaffinity(0, sizeof(cpu), &cpu) || fd < 0 || ring == MAP_FAILED ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id)) {
		perror("share_faults");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	/* skip events of other processes */
	ring->data_tail = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	clock_gettime(CLOCK_REALTIME, &now);
	touch_pages(page);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	/* a monotonic clock shows far less */
	return count(ring, page, id, (uint64_t)now.tv_sec / 2 * 1000000000);
}
