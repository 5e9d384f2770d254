// SPDX-License-Identifier: GPL-2.0-only
/* Merges files of one or two events, and reads the result. */
#include <fcntl.h>
#include <time.h>

#include "perf_file_fixture.h"

#include "analyse/merge/merge.h"
#include "perfdata/file_layout.h"

#define MARKER_CONFIG 65534 /* of frbpf:trigger */

static char dir[] = "/tmp/test_merge.XXXXXX";

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

static void name_host(struct file *f, const char *host)
{
	struct buf *cpus = &f->sections[HEADER_NRCPUS];

	add_string_section(f, HEADER_HOSTNAME, host);
	add_string_section(f, HEADER_OSRELEASE, "6.1.0");
	f->has[HEADER_NRCPUS] = true;
	assert_int_equal(encode__u32(cpus, 2) ?: encode__u32(cpus, 2), 0);
}

static void begin_input(struct file *f, uint64_t config, uint64_t id)
{
	add_attr(f, PERF_TYPE_SOFTWARE, config, OUR_TYPE, id);
	name_host(f, "host");
}

/* Merge two files into @ret, which the caller frees. */
static int merge_files(struct file *a, struct file *b, struct err *err, struct merge_result *res,
		       struct perf_file **ret)
{
	char paths[2][64], out[64];
	const char *inputs[] = { paths[0], paths[1] };
	struct merge_request req = { .paths = inputs, .n_paths = 2, .out = out };
	struct file *files[] = { a, b };
	int fds[2], code;

	for (int i = 0; i < 2; i++) {
		finish(files[i]);
		fds[i] = memfd_create("perf.data", MFD_CLOEXEC);
		assert_true(fds[i] >= 0);
		assert_int_equal(write(fds[i], files[i]->whole.data, files[i]->whole.len),
				 files[i]->whole.len);
		snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", fds[i]);
	}
	snprintf(out, sizeof(out), "%s/out", dir);
	req.fd = open(out, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(req.fd >= 0);
	*err = (struct err){ 0 };
	code = merge__files(&req, err, res);
	close(req.fd);
	close(fds[0]);
	close(fds[1]);
	if (!code)
		assert_int_equal(perf_file__open(out, err, ret), 0);
	assert_int_equal(unlink(out), 0);
	file_free(a);
	file_free(b);
	return code;
}

static struct perf_file *merged(struct file *a, struct file *b, struct merge_result *res)
{
	struct perf_file *ret = NULL;
	struct err err;

	if (merge_files(a, b, &err, res, &ret))
		fail_msg("%s", err.msg);
	return ret;
}

static void not_merged(struct file *a, struct file *b, const char *words)
{
	struct merge_result res;
	struct perf_file *ret = NULL;
	struct err err;

	assert_int_equal(merge_files(a, b, &err, &res, &ret), -EINVAL);
	if (!strstr(err.msg, words))
		fail_msg("'%s' instead of '%s'", err.msg, words);
}

/* The next sample: its time; *ret_event is the number of its event. 0: there is none. */
static uint64_t next_sample(struct perf_file *f, size_t *ret_event)
{
	struct err err = { 0 };
	struct file_record rec;
	struct sample s;

	while (perf_file__next(f, &err, &rec) > 0) {
		if (rec.h->type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(sample__decode(f, &rec, &err, &s), 0);
		*ret_event = rec.event - perf_file__info(f)->events;
		return s.time;
	}
	return 0;
}

static void the_same_event_becomes_one(void **state)
{
	struct file a = { 0 }, b = { 0 };
	struct merge_result res;
	struct perf_file *f;
	size_t event;

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	begin_input(&b, PERF_COUNT_SW_CPU_CLOCK, 501);
	add_sample(&a, 501, T0 + 10);
	add_sample(&a, 501, T0 + 20);
	add_sample(&b, 501, T0 + 20); /* in both windows */
	add_sample(&b, 501, T0 + 30);
	f = merged(&a, &b, &res);
	assert_int_equal(res.records, 3);
	assert_int_equal(res.doubles, 1);
	assert_int_equal(perf_file__info(f)->n_events, 1);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(next_sample(f, &event), T0 + 10 * i);
	perf_file__free(f);
}

static void an_id_of_two_events_is_changed(void **state)
{
	struct file a = { 0 }, b = { 0 };
	struct merge_result res;
	struct perf_file *f;
	size_t event;

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	begin_input(&b, PERF_COUNT_SW_TASK_CLOCK, 501);
	add_sample(&a, 501, T0 + 10);
	add_sample(&b, 501, T0 + 5);
	f = merged(&a, &b, &res);
	assert_int_equal(perf_file__info(f)->n_events, 2);
	assert_int_equal(next_sample(f, &event), T0 + 5);
	assert_int_equal(perf_file__info(f)->events[event].attr.config, PERF_COUNT_SW_TASK_CLOCK);
	assert_int_equal(next_sample(f, &event), T0 + 10);
	assert_int_equal(perf_file__info(f)->events[event].attr.config, PERF_COUNT_SW_CPU_CLOCK);
	perf_file__free(f);
}

/* Two sessions recorded the same event. If they became one event, everything would count twice. */
static void event_of_two_sessions_stays_two_events(void **state)
{
	struct file a = { 0 }, b = { 0 };
	struct merge_result res;
	struct perf_file *f;

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	begin_input(&b, PERF_COUNT_SW_CPU_CLOCK, 601);
	add_sample(&a, 501, T0 + 10);
	add_sample(&a, 501, T0 + 30);
	add_sample(&b, 601, T0 + 10);
	add_sample(&b, 601, T0 + 30);
	f = merged(&a, &b, &res);
	assert_int_equal(res.records, 4);
	assert_int_equal(perf_file__info(f)->n_events, 2);
	perf_file__free(f);
}

/* `perf record` of a single event: samples have no id and no CPU. */
static void samples_get_the_fields_that_they_lack(void **state)
{
	const struct {
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time, period;
	} s = { 0x1234, 7, 8, T0 + 5, 9 };
	struct file a = { 0 }, b = { 0 };
	struct merge_result res;
	struct err err = { 0 };
	struct file_record rec;
	struct perf_file *f;
	struct sample got;

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	last_attr(&a)->sample_type =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	add_record(&a, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &s, sizeof(s));
	begin_input(&b, PERF_COUNT_SW_TASK_CLOCK, 502);
	add_sample(&b, 502, T0 + 10);
	f = merged(&a, &b, &res);
	assert_int_equal(perf_file__next(f, &err, &rec), 1);
	assert_int_equal(sample__decode(f, &rec, &err, &got), 0);
	assert_int_equal(got.event->attr.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(got.ip, s.ip);
	assert_int_equal(got.tid, s.tid);
	assert_int_equal(got.time, s.time);
	assert_int_equal(got.period, s.period);
	assert_int_equal(got.cpu, UINT32_MAX);
	perf_file__free(f);
}

static void names_are_written_once(void **state)
{
	struct file a = { 0 }, b = { 0 };
	struct merge_result res;
	struct perf_file *f;

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	begin_input(&b, PERF_COUNT_SW_CPU_CLOCK, 501);
	add_comm(&a, T0, "postgres");
	add_sample(&a, 501, T0 + 10);
	add_sample(&a, 501, T0 + 50);
	add_comm(&b, T0 + 20, "postgres"); /* the state at the start of b, which a covers */
	add_comm(&b, T0 + 21, "other");	   /* a does not have this record */
	add_sample(&b, 501, T0 + 60);
	f = merged(&a, &b, &res);
	assert_int_equal(res.doubles, 1);
	assert_int_equal(res.records, 5);
	perf_file__free(f);
}

static void other_machines_and_clocks_are_refused(void **state)
{
	struct file a = { 0 }, b = { 0 };

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	add_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, OUR_TYPE, 502);
	name_host(&b, "elsewhere");
	add_sample(&a, 501, T0);
	add_sample(&b, 502, T0);
	not_merged(&a, &b, "'elsewhere'");

	a = b = (struct file){ 0 };
	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	begin_input(&b, PERF_COUNT_SW_CPU_CLOCK, 502);
	last_attr(&b)->use_clockid = 1;
	last_attr(&b)->clockid = CLOCK_MONOTONIC;
	add_sample(&a, 501, T0);
	add_sample(&b, 502, T0);
	not_merged(&a, &b, "perf's own clock");

	a = b = (struct file){ 0 };
	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	begin_input(&b, PERF_COUNT_SW_CPU_CLOCK, 502);
	last_attr(&b)->sample_type &= ~(uint64_t)PERF_SAMPLE_TIME;
	not_merged(&a, &b, "have no times");
}

/* The file claims false lengths of counters and stacks. */
static void hostile_samples_are_refused(void **state)
{
	const uint64_t s[] = { 501, 0, 0, T0, 0, 1, UINT64_MAX /* counters */ };
	struct file a = { 0 }, b = { 0 };

	begin_input(&a, PERF_COUNT_SW_CPU_CLOCK, 501);
	last_attr(&a)->sample_type |= PERF_SAMPLE_READ;
	last_attr(&a)->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	add_record(&a, PERF_RECORD_SAMPLE, 0, s, sizeof(s));
	begin_input(&b, PERF_COUNT_SW_CPU_CLOCK, 502);
	add_sample(&b, 502, T0);
	not_merged(&a, &b, "its fields do not fit into it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_event_becomes_one),
		cmocka_unit_test(an_id_of_two_events_is_changed),
		cmocka_unit_test(event_of_two_sessions_stays_two_events),
		cmocka_unit_test(samples_get_the_fields_that_they_lack),
		cmocka_unit_test(names_are_written_once),
		cmocka_unit_test(other_machines_and_clocks_are_refused),
		cmocka_unit_test(hostile_samples_are_refused),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
