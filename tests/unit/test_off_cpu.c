// SPDX-License-Identifier: GPL-2.0-only
/* Records of the time off CPU become samples. Torn records are dropped. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <linux/types.h>

#include "common/cleanup.h"
#include "fed_records.h"
#include "record/offcpu_event.h"

#define ID     77
#define OTHERS 78

/* A sample as the kernel writes it */
struct ring_sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t period;
	uint32_t raw_size;
	struct frbpf_off_cpu raw;
} __attribute__((packed, aligned(8)));

#define FRONT offsetof(struct ring_sample, raw)

static struct event events[] = { { .name = "cs" }, { .name = OFF_CPU_EVENT, .off_cpu = true } };
static struct event_list list = { .v = events, .n = 2 };
static uint64_t ids[] = { OTHERS, OTHERS + 1, ID, 0 }; /* the ids of two targets, on one CPU */
static struct session session = { .events = &list, .ids = ids, .n_targets = 2, .n_id_cpus = 1 };

static struct ring_sample sample_of(uint16_t n_kernel, uint16_t n_user)
{
	struct ring_sample s = {
		.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 0 },
		.id = ID,
		.ip = 1,
		.pid = 2,
		.tid = 3,
		.time = 4,
		.cpu = 5,
		.period = 1,
		.raw_size = FRBPF_OFF_CPU_HEAD + 8 * (n_kernel + n_user),
		.raw = { .pid = 10, .tid = 11, .ns = 12, .n_kernel = n_kernel, .n_user = n_user },
	};

	for (int i = 0; i < n_kernel + n_user; i++)
		s.raw.ips[i] = 100 + i;
	s.header.size = FRONT + s.raw_size;
	return s;
}

/* Returns the number of records that are left. */
static size_t unpack(struct ring_sample *s)
{
	const struct perf_event_header *v = &s->header;

	return offcpu_event__unpack(&session, 0, &v, 1);
}

static void check_sample(uint16_t n_kernel, uint16_t n_user, const uint64_t *ips, size_t n_ips)
{
	struct ring_sample s = sample_of(n_kernel, n_user);
	const uint64_t *at = (const uint64_t *)&s + 7; /* after the period */

	assert_int_equal(s.header.size % 8, 0);
	assert_int_equal(unpack(&s), 1);
	assert_int_equal(s.pid, 10);
	assert_int_equal(s.tid, 11);
	assert_int_equal(s.period, 12);
	assert_int_equal(s.time, 4);
	assert_int_equal(s.cpu, 5);
	assert_int_equal(at[0], n_ips);
	assert_memory_equal(at + 1, ips, n_ips * sizeof(*ips));
	assert_int_equal(s.header.size, 8 * (8 + n_ips));
	assert_int_equal(s.ip, n_user ? 100 + n_kernel : n_kernel ? 100 : 0);
	assert_int_equal(s.header.misc, n_user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL);
}

static void becomes_a_sample_of_the_sleeper(void **state)
{
	const uint64_t kernel = PERF_CONTEXT_KERNEL, user = PERF_CONTEXT_USER;
	uint64_t longest[FRBPF_OFF_CPU_KERNEL + FRBPF_OFF_CPU_USER + 2] = { kernel };
	size_t n = 1;

	for (int i = 0; i < FRBPF_OFF_CPU_KERNEL + FRBPF_OFF_CPU_USER; i++) {
		if (i == FRBPF_OFF_CPU_KERNEL)
			longest[n++] = user;
		longest[n++] = 100 + i;
	}
	check_sample(0, 0, NULL, 0);
	check_sample(1, 0, (uint64_t[]){ kernel, 100 }, 2);
	check_sample(0, 2, (uint64_t[]){ user, 100, 101 }, 3);
	check_sample(2, 1, (uint64_t[]){ kernel, 100, 101, user, 102 }, 5);
	check_sample(FRBPF_OFF_CPU_KERNEL, FRBPF_OFF_CPU_USER, longest, n);
}

static void torn_ones_are_dropped(void **state)
{
	struct ring_sample s;

	for (size_t size = 56; size < FRONT + FRBPF_OFF_CPU_HEAD + 24; size += 8) {
		s = sample_of(1, 2);
		s.header.size = size;
		assert_int_equal(unpack(&s), 0);
	}
	s = sample_of(1, 2);
	s.raw.n_user = 3;
	assert_int_equal(unpack(&s), 0);
	s = sample_of(FRBPF_OFF_CPU_KERNEL, FRBPF_OFF_CPU_USER);
	s.raw.n_kernel++;
	s.raw.n_user--;
	assert_int_equal(unpack(&s), 0);
	s = sample_of(1, 2);
	s.raw_size = FRBPF_OFF_CPU_HEAD - 1;
	assert_int_equal(unpack(&s), 0);
	s.raw_size = UINT32_MAX;
	assert_int_equal(unpack(&s), 0);
}

static void other_samples_are_unchanged(void **state)
{
	struct ring_sample s = sample_of(1, 2), before;
	const struct perf_event_header *v[3];
	struct ring_sample torn = sample_of(1, 2), good = sample_of(1, 2);

	s.id = OTHERS;
	before = s;
	torn.raw_size = 0;
	v[0] = &s.header;
	v[1] = &torn.header;
	v[2] = &good.header;
	assert_int_equal(offcpu_event__unpack(&session, 0, v, 3), 2);
	assert_memory_equal(&s, &before, sizeof(s));
	assert_ptr_equal(v[1], &good.header);
	list.n = 1; /* a session without the event */
	assert_int_equal(unpack(&torn), 1);
	list.n = 2;
}

/* What a sample of the file has after its CPU */
struct file_sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
	uint64_t period, n_ips, ips[8];
};

static void a_sleep_ends_with_the_window(void **state)
{
	struct ring_sample s = sample_of(1, 2), other = sample_of(1, 2);
	struct file_sample *f = (struct file_sample *)&s;
	const struct perf_event_header *v[2] = { &s.header, &other.header };

	list.off_cpu.least_ns = 5;
	s.time = 100;
	s.raw.ns = 30;
	other.id = OTHERS;
	other.time = 100;
	assert_int_equal(offcpu_event__unpack(&session, 0, v, 2), 2);
	offcpu_event__cut(&session, 0, v, 2, 100); /* the sleep had ended */
	offcpu_event__cut(&session, 0, v, 2, 70);  /* it had not begun yet */
	offcpu_event__cut(&session, 0, v, 2, 74);  /* it was too short by then */
	assert_int_equal(f->time, 100);
	assert_int_equal(f->period, 30);
	offcpu_event__cut(&session, 0, v, 2, 75);
	assert_int_equal(f->time, 75);
	assert_int_equal(f->period, 5);
	assert_int_equal(f->n_ips, 5);
	assert_int_equal(other.time, 100);
	list.off_cpu.least_ns = 0;
}

static void add_ended_record(struct buf *b, uint32_t cpu, uint64_t began, uint64_t ended,
			     uint16_t n_kernel, uint16_t n_user)
{
	struct frbpf_asleep a = {
		.size = FRBPF_ASLEEP_HEAD + 8 * (n_kernel + n_user),
		.cpu = cpu,
		.ended = ended,
		.off_cpu = { .pid = 10,
			     .tid = 11,
			     .ns = began,
			     .n_kernel = n_kernel,
			     .n_user = n_user },
	};

	for (int i = 0; i < n_kernel + n_user; i++)
		a.off_cpu.ips[i] = 100 + i;
	assert_int_equal(buf__add(b, &a, a.size), 0);
}

static void add_asleep_record(struct buf *b, uint32_t cpu, uint64_t began, uint16_t n_kernel,
			      uint16_t n_user)
{
	add_ended_record(b, cpu, began, 0, n_kernel, n_user);
}

/* The rings were paused when it ended. */
static void sleepers_woken_at_the_freeze_get_a_sample(void **state)
{
	static const struct {
		uint64_t began, ended; /* ns */
		uint64_t time, period; /* of the sample; 0: none */
	} cases[] = {
		{ 40, 60, 50, 10 }, /* after the window */
		{ 40, 45, 45, 5 },
		{ 41, 45, 0, 0 }, /* too short */
		{ 45, 45, 0, 0 },
	};
	struct session_cpu cpu = { .cpu = 6 };

	session.cpus = &cpu;
	session.n_cpus = 1;
	list.off_cpu.least_ns = 5;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf asleep = { 0 }, samples = { 0 }, cpus = { 0 };
		const struct file_sample *f;

		add_ended_record(&asleep, 6, cases[i].began, cases[i].ended, 1, 1);
		assert_int_equal(offcpu_event__add_asleep(&session, &asleep, 50, &samples, &cpus),
				 0);
		f = (const void *)samples.data;
		assert_int_equal(!samples.len, !cases[i].time);
		if (samples.len) {
			assert_int_equal(f->time, cases[i].time);
			assert_int_equal(f->period, cases[i].period);
		}
		buf__free(&asleep);
		buf__free(&samples);
		buf__free(&cpus);
	}
	session.cpus = NULL;
	session.n_cpus = 0;
	list.off_cpu.least_ns = 0;
}

static void current_sleepers_get_a_sample(void **state)
{
	struct session_cpu cpu = { .cpu = 6 };
	struct buf asleep = { 0 }, samples = { 0 }, cpus = { 0 };
	const struct file_sample *f;

	session.cpus = &cpu;
	session.n_cpus = 1;
	list.off_cpu.least_ns = 5;
	add_asleep_record(&asleep, 6, 46, 1, 1); /* too short */
	add_asleep_record(&asleep, 7, 10, 1, 1); /* a CPU that is not recorded */
	add_asleep_record(&asleep, 6, 60, 1, 1); /* it began after the end */
	add_asleep_record(&asleep, 6, 45, 2, 1);
	add_asleep_record(&asleep, 6, 40, 0, 0);
	add_asleep_record(&asleep, 6, 40, 1, 1);
	asleep.len -= 8; /* the last one was cut off */
	assert_int_equal(offcpu_event__add_asleep(&session, &asleep, 50, &samples, &cpus), 0);
	assert_int_equal(cpus.len, 2 * sizeof(size_t));
	assert_int_equal(((size_t *)cpus.data)[1], 0);
	assert_int_equal(samples.len, 8 * (8 + 5) + 8 * 8);
	f = (const void *)samples.data;
	assert_int_equal(f->header.type, PERF_RECORD_SAMPLE);
	assert_int_equal(f->header.size, 8 * (8 + 5));
	assert_int_equal(f->id, ID);
	assert_int_equal(f->pid, 10);
	assert_int_equal(f->tid, 11);
	assert_int_equal(f->time, 50);
	assert_int_equal(f->cpu, 6);
	assert_int_equal(f->period, 5);
	assert_int_equal(f->n_ips, 5);
	assert_int_equal(f->ips[2], 101);
	assert_int_equal(f->ips[4], 102);
	f = (const void *)(samples.data + f->header.size);
	assert_int_equal(f->period, 10);
	assert_int_equal(f->n_ips, 0);
	buf__free(&asleep);
	buf__free(&samples);
	buf__free(&cpus);
	session.cpus = NULL;
	session.n_cpus = 0;
	list.off_cpu.least_ns = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(becomes_a_sample_of_the_sleeper),
		cmocka_unit_test(torn_ones_are_dropped),
		cmocka_unit_test(other_samples_are_unchanged),
		cmocka_unit_test(a_sleep_ends_with_the_window),
		cmocka_unit_test(current_sleepers_get_a_sample),
		cmocka_unit_test(sleepers_woken_at_the_freeze_get_a_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
