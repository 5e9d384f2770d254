// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of the writer, read by perf. Skipped without perf.
 * with: others
 */
#include "writer_fixture.h"

#include "fed_records.h"

static void need_perf(void)
{
	if (system("command -v perf >/dev/null 2>&1")) {
		print_message("no perf in PATH: skipped\n");
		skip();
	}
}

/* Run "perf ARGS" in the fixture's directory; its exit status must be 0. Returns its output. */
static void run_perf(struct fixture *x, const char *args, struct buf *out, struct buf *errors)
{
	char cmd[512], path[128];

	snprintf(cmd, sizeof(cmd), "cd %s && HOME=%s PERF_PAGER=cat perf %s >out 2>err </dev/null",
		 x->dir, x->dir, args);
	if (system(cmd)) {
		print_error("failed: perf %s\n", args);
		snprintf(cmd, sizeof(cmd), "cat %s/err >&2", x->dir);
		fail_msg("perf %s, %d", args, system(cmd));
	}
	snprintf(path, sizeof(path), "%s/out", x->dir);
	assert_int_equal(buf__read_file(out, path, 1 << 24), 0);
	snprintf(path, sizeof(path), "%s/err", x->dir);
	assert_int_equal(buf__read_file(errors, path, 1 << 24), 0);
	assert_int_equal(buf__add_zero(out, 1), 0);
	assert_int_equal(buf__add_zero(errors, 1), 0);
}

/*
 * perf prints nothing to standard error, and its output contains all of the strings (NULL
 * terminated).
 */
static void assert_perf_says(struct fixture *x, const char *args, const char *const *want)
{
	struct buf out = { 0 }, errors = { 0 };

	run_perf(x, args, &out, &errors);
	assert_string_equal(errors.data, "");
	for (; *want; want++)
		if (!strstr(out.data, *want))
			fail_msg("perf %s: no '%s' in:\n%s", args, *want, out.data);
	buf__free(&out);
	buf__free(&errors);
}

static void test_perf_script(void **state)
{
	static const char *const want[] = {
		"postgres",
		"cpu-clock:",
		"frbpf:trigger: rule=runq-spike when=\"runqlat > 20ms\" "
		"value=25.334 ms threshold=20.000 ms comm=postgres pid=4242 tid=4242 "
		"process=postmaster key=fsync dev=sda op=write\n",
		"100.002000:",
		"rule=manual",
		"reason=by hand\n",
		"frbpf-test",
		NULL,
	};
	struct fixture *x = *state;
	struct buf records;

	need_perf();
	records = write_dump(x, "perf.data");
	assert_perf_says(x, "script -i perf.data", want);
	buf__free(&records);
}

static void test_perf_header(void **state)
{
	static const char *const want[] = {
		"# hostname : ",
		"# os release : ",
		"# arch : ",
		"# nrcpus avail : ",
		"# cpudesc : ",
		"# cmdline : /usr/bin/frbpf load rules.conf",
		"# event : name = cpu-clock",
		"# event : name = frbpf:trigger",
		"# clockid frequency: ",
		"# sample duration :",
		NULL,
	};
	struct fixture *x = *state;
	struct buf records;

	need_perf();
	records = write_dump(x, "perf.data");
	assert_perf_says(x, "report --header-only -I -i perf.data", want);
	buf__free(&records);
}

static void test_perf_others(void **state)
{
	static const char *const evlist[] = { "cpu-clock: type: 1, size: 128",
					      "frbpf:trigger: type: 2", "write_backward: 1", NULL };
	static const char *const stats[] = { "SAMPLE events:          5",
					     "MMAP2 events:          1", NULL };
	static const char *const build_ids[] = { "abcd000000000000000000000000000000000000", NULL };
	struct fixture *x = *state;
	struct buf records;

	need_perf();
	records = write_dump(x, "perf.data");
	assert_perf_says(x, "evlist -v -i perf.data", evlist);
	assert_perf_says(x, "report --stats -i perf.data", stats);
	assert_perf_says(x, "buildid-list -i perf.data", build_ids);
	buf__free(&records);
}

static void test_perf_json(void **state)
{
	static const char *const want[] = { "\"timestamp\": 100002000000", "\"cmdline\"",
					    "\"hostname\"", "\"real-time\": 1700000000000000000",
					    NULL };
	struct fixture *x = *state;
	struct buf records, out = { 0 }, errors = { 0 }, json = { 0 };
	char path[128];
	size_t i;

	need_perf();
	records = write_dump(x, "perf.data");
	run_perf(x, "data convert --to-json j -i perf.data", &out, &errors);
	assert_non_null(strstr(errors.data, "(5 samples)")); /* its summary, and nothing else */
	assert_null(strstr(errors.data, "rror"));
	snprintf(path, sizeof(path), "%s/j", x->dir);
	assert_int_equal(buf__read_file(&json, path, 1 << 24), 0);
	for (i = 0; want[i]; i++)
		if (!strstr(json.data, want[i]))
			fail_msg("no %s in:\n%s", want[i], json.data);
	buf__free(&json);
	buf__free(&out);
	buf__free(&errors);
	buf__free(&records);
}

/* Markers are a millisecond apart, in the order of their kinds. */
static void add_marker_of_kind(struct buf *b, enum marker_kind kind, uint32_t tid, uint32_t cpu,
			       const void *raw, uint32_t raw_size)
{
	const struct record_sample sample = { .id = marker__id(kind),
					      .pid = tid ? PID : 0,
					      .tid = tid,
					      .time = T0 + 6000000 + kind * 1000000,
					      .cpu = cpu,
					      .raw = raw,
					      .raw_size = raw_size };

	assert_int_equal((raw_size + 4) % 8, 0);
	assert_int_equal(record__add_sample(b, &sample), 0);
}

static void test_perf_all_markers(void **state)
{
	static const char *const want[] = {
		"frbpf:begin: rule=r comm=c pid=4242 tid=4243",
		"frbpf:gap: cpu=1 lost=7 start=99.000000001 end=100.500000000",
		"frbpf:lock_wait: posix lock=0x1234 owner=4242 owner_comm=c spun_ns=5",
		"frbpf:interrupt: softirq=3 ns=12345 times=7",
		"frbpf:interrupt: irq=24 name=virtio1-output.0 ns=12346 times=1",
		NULL
	};
	static const struct frbpf_lock_wait lock = {
		{ .type = 65531, .pid = PID }, 0x1234, 5, FRBPF_LOCK_POSIX, 0, "c", PID
	};
	static const struct frbpf_interrupt interrupts[] = {
		{ { .type = 65530 }, 12345, 3, 1, 7, "" },
		{ { .type = 65530 }, 12346, 24, 0, 1, "virtio1-output.0" },
	};
	static const struct marker_begin begin = { "r", "c", PID, PID + 1 };
	static const struct marker_gap gap = { 99000000001ULL, 100500000000ULL, 7, 1 };
	struct fixture *x = *state;
	const struct perfdata_attr attrs[] = { x->attrs[0],
					       marker__event(MARKER_TRIGGER),
					       marker__event(MARKER_BEGIN),
					       marker__event(MARKER_GAP),
					       marker__event(MARKER_LOCK_WAIT),
					       marker__event(MARKER_INTERRUPT) };
	struct perfdata_writer *w;
	struct buf b = { 0 }, raw = { 0 };
	uint64_t size;

	need_perf();
	assert_int_equal(perfdata__create(x->dirfd, "t", attrs, 6, &x->err, &w), 0);
	make_dump_records(&b);
	assert_int_equal(marker__encode_begin(&raw, &begin), 0);
	add_marker_of_kind(&b, MARKER_BEGIN, PID + 1, 0, raw.data, raw.len);
	raw.len = 0;
	assert_int_equal(marker__encode_gap(&raw, &gap), 0);
	add_marker_of_kind(&b, MARKER_GAP, 0, 1, raw.data, raw.len);
	add_marker_of_kind(&b, MARKER_LOCK_WAIT, PID, 0, &lock, sizeof(lock));
	for (int i = 0; i < 2; i++)
		add_marker_of_kind(&b, MARKER_INTERRUPT, 0, 0, &interrupts[i],
				   sizeof(interrupts[i]));
	write_records(x, w, &b);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, "perf.data", &size, &x->err), 0);
	perfdata__free(w);
	assert_perf_says(x, "script -i perf.data", want);
	buf__free(&b);
	buf__free(&raw);
}

/*
 * Write the samples of the small dump a thousand times: many pieces, and records that lie in two.
 */
static void write_samples(struct fixture *x, const char *name, unsigned int level)
{
	struct perfdata_writer *w = create(x, "x.tmp");
	struct buf records = { 0 };
	uint64_t size = 0;

	make_dump_records(&records);
	for (unsigned int i = 0; i < 20000; i++)
		add_clock_sample(&records, CLOCK_ID, T0 + 6000000 + i * 1000);
	if (level)
		assert_int_equal(perfdata__compress(w, level, &x->err), 0);
	write_records(x, w, &records);
	assert_int_equal(perfdata__end_round(w, &x->err), 0);
	assert_int_equal(perfdata__finish(w, &x->features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, name, &size, &x->err), 0);
	perfdata__free(w);
	if (level)
		assert_true(size < records.len / 2);
	buf__free(&records);
}

static void test_compressed(void **state)
{
	struct fixture *x = *state;
	struct buf plain = { 0 }, packed = { 0 }, errors = { 0 };

	need_perf();
	write_samples(x, "perf.data", 0);
	run_perf(x, "script", &plain, &errors);
	for (unsigned int level = 1; level <= 19; level += 9) {
		char args[64], name[32];

		snprintf(name, sizeof(name), "packed.%u", level);
		snprintf(args, sizeof(args), "script -i %s", name);
		write_samples(x, name, level);
		run_perf(x, args, &packed, &errors);
		assert_string_equal(errors.data, "");
		assert_string_equal(packed.data, plain.data);
		snprintf(args, sizeof(args), "report -i %s --header-only", name);
		buf__free(&packed);
		run_perf(x, args, &packed, &errors);
		assert_non_null(strstr(packed.data, "compressed : Zstd"));
		buf__free(&packed);
		buf__free(&errors);
	}
	buf__free(&plain);
	buf__free(&errors);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_perf_script), TEST(test_perf_header),	     TEST(test_perf_others),
		TEST(test_perf_json),	TEST(test_perf_all_markers), TEST(test_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
