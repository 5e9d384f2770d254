// SPDX-License-Identifier: GPL-2.0-only
/* Events of a line, resolved and opened.
 * with: others */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "record/event_list.h"
#include "record/privilege.h"

struct resolved {
	struct source_text *src;
	struct record_opts *opts;
	struct event_list *list; /* NULL: refused */
	struct diags d;
};

static struct resolved resolve(const char *line, struct tracefs *tracefs)
{
	struct resolved r = { 0 };
	int err;

	assert_int_equal(source_text__from_string("run", line, &r.src), 0);
	err = record_opts__parse(r.src, (struct span){ 0, r.src->len }, 4096, &r.d, &r.opts);
	if (!err)
		err = event_list__resolve(r.opts, r.src, tracefs, &r.d, &r.list);
	assert_int_equal(err, r.d.n_errors ? -EINVAL : 0);
	return r;
}

static void release(struct resolved *r)
{
	event_list__free(r->list);
	record_opts__free(r->opts);
	diags__free(&r->d);
	source_text__free(r->src);
}

/* Skips the calling test if there is no tracefs. */
static struct tracefs *probe_tracefs(void)
{
	struct tracefs *t;
	struct err err;

	if (!tracefs__open(&err, &t))
		return t;
	print_message("skipped: probe_tracefs: %s\n", err.msg);
	skip();
	return NULL;
}

static void test_names(void **state)
{
	static const struct {
		const char *item;
		uint32_t type;
		uint64_t config;
	} rows[] = {
		{ "cycles", 0, 0 },
		{ "cpu-cycles:u", 0, 0 },
		{ "instructions", 0, 1 },
		{ "cache-misses", 0, 3 },
		{ "branches", 0, 4 },
		{ "branch-misses", 0, 5 },
		{ "idle-cycles-backend", 0, 8 },
		{ "ref-cycles", 0, 9 },
		{ "task-clock", 1, 1 },
		{ "major-faults", 1, 6 },
		{ "cgroup-switches", 1, 11 },
		{ "L1-dcache-loads", 3, 0 },
		{ "L1-dcache-load-misses", 3, 0x10000 },
		{ "L1-dcache-stores", 3, 0x100 },
		{ "L1-icache-load-misses", 3, 0x10001 },
		{ "LLC-prefetch-misses", 3, 0x10202 },
		{ "LLC-misses-prefetch", 3, 0x10202 },
		{ "LLC", 3, 2 },
		{ "dTLB-speculative-read-miss:u", 3, 0x10203 },
		{ "iTLB-load-misses", 3, 0x10004 },
		{ "branch-loads", 3, 5 },
		{ "branch-load-misses", 3, 0x10005 },
		{ "node-store-misses", 3, 0x10106 },
		{ "r1a8", 4, 0x1a8 },
		{ "rFFffFFffFFffFFff:u", 4, UINT64_MAX },
		{ "1:0", 1, 0 },
		{ "0x4:0x1A:k", 4, 0x1a },
		{ "3:65536", 3, 0x10000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf line = { 0 };
		struct resolved r;

		buf__printf(&line, "--overwrite -F 100 -e %s", rows[i].item);
		r = resolve(line.data, NULL);
		if (!r.list)
			fail_msg("refused: %s: %s", rows[i].item, r.d.v[0].msg);
		assert_int_equal(r.list->n, 1);
		assert_string_equal(r.list->v[0].name, rows[i].item);
		assert_int_equal(r.list->v[0].attr.type, rows[i].type);
		assert_int_equal(r.list->v[0].attr.config, rows[i].config);
		assert_int_equal(r.list->v[0].cycles_fallback, !rows[i].type && !rows[i].config);
		release(&r);
		buf__free(&line);
	}
}

static void test_default_is_cycles(void **state)
{
	struct resolved r = resolve("-a -c 1000", NULL);

	assert_int_equal(r.list->n, 1);
	assert_string_equal(r.list->v[0].name, "cycles:P");
	assert_true(r.list->v[0].cycles_fallback);
	assert_true(r.list->v[0].precise_max);
	assert_int_equal(r.list->v[0].attr.precise_ip, 3);
	release(&r);
}

/* Each line gives one error, at the token, with these words. */
static const struct error_row {
	const char *item, *token, *words;
} errors[] = {
	{ "cycels", "cycels", "did you mean 'cycles'?" },
	{ "cpuclock:u", "cpuclock", "did you mean 'cpu-clock'?" },
	{ "L1-dcache-lods", "L1-dcache-lods", "did you mean 'L1-dcache-loads'?" },
	{ "nonesuch-event", "nonesuch-event", "unknown event" },
	{ "nonesuch/x=1/", "nonesuch", "unknown PMU or event" },
	{ "../x/", "..", "unknown PMU or event" },
	{ "iTLB-stores", "iTLB-stores", "no such operation" },
	{ "LLC-loads-loads", "LLC-loads-loads", "unknown event" },
	{ "LLC-", "LLC-", "unknown event" },
	{ "{cs,faults", "{cs,faults", "a '}' is missing" },
	{ "{cs,faultz}", "faultz", "did you mean 'faults'?" },
	{ "{cs,}", "", "an event is missing" },
	{ "{}", "", "an event is missing" },
	{ "{cs,faults}:x", "x", "unknown modifier 'x'" },
	{ "{cs,faults}:", "{cs,faults}:", "modifiers are letters" },
	{ "{cs,{faults,cs}}", "}", "unknown modifier" },
	{ "mem:", "", "a breakpoint is mem:ADDRESS" },
	{ "mem:x", "x", "a breakpoint is mem:ADDRESS" },
	{ "mem:0x1000/3:r", "3", "1, 2, 4 or 8 bytes" },
	{ "mem:0x1000:rr", "rr", "r, w, rw or x" },
	{ "mem:0x1000:z", "z", "r, w, rw or x" },
	{ "mem:0x1000:rw:z", "z", "unknown modifier 'z'" },
	{ "cs/period=5", "period=5", "a '/' is missing" },
	{ "cs/period=0/", "0", "out of range" },
	{ "cs/period=9223372036854775808/", "9223372036854775808", "out of range" },
	{ "cs/freq=x/", "x", "'x'" },
	{ "cs/freq=/", "freq=", "needs a value" },
	{ "cs/freq/", "freq", "needs a value" },
	{ "cs/inherit=1/", "inherit=1", "takes no value" },
	{ "cs/preiod=5/", "preiod", "did you mean 'period'?" },
	{ "cs/foo,freq=1/", "foo", "unknown term 'foo'" },
	{ "cs/freq=1,/", "", "a term is missing" },
	{ "cs/call-graph=x/", "x", "fp, dwarf, lbr or no" },
	{ "cs/stack-size=65529/", "65529", "out of range" },
	{ "cs/branch_type=x/", "x", "unknown branch type 'x'" },
	{ "cs/branch_type=any,x/", "x", "unknown term 'x'" },
	{ "cs/aux-output/", "aux-output", "no overwritable ring" },
	{ "cs/aux-sample-size=8/", "aux-sample-size=8", "no overwritable ring" },
	{ "cs/config1=x/", "x", "'x'" },
	{ "cs/config3=1/", "config3", "did you mean 'config'?" },
	{ "cs/nr=x/", "x", "'x'" },
	{ "cs/max-stack=65535/", "65535", "above this kernel's limit" },
	{ "cs/time=2/", "2", "out of range" },
	{ "cs/no-inherit=1/", "no-inherit=1", "takes no value" },
	{ "cs:x", "x", "unknown modifier 'x'" },
	{ "cs:uu", "u", "twice" },
	{ "cs:pppp", "p", "at most three" },
	{ "cs/freq=5/ux", "x", "unknown modifier" },
	{ "cs:u/freq=5/", "u", "after the last '/'" },
	{ "cs:u:k", "k", "modifiers" },
	{ "1:", "1:", "SYSTEM:NAME" },
	{ ":u", ":u", "SYSTEM:NAME" },
	{ "2:300", "2", "write events of type 2 by name" },
	{ "99999999999:1", "99999999999", "out of range" },
	{ "tracepoint/config=3/", "tracepoint", "SYSTEM:NAME" },
	{ "software/umask=3/", "umask=3", "no term or event 'umask'" },
	{ "software/config=zz/", "config=zz", "'config=zz'" },
	{ "sched:sched_switch", "sched:sched_switch", "need tracefs" },
	{ "sched:sched_switch/period=5/", "period", "not for tracepoints" },
};

static const struct error_row tracepoint_errors[] = {
	{ "shed:sched_switch", "shed:sched_switch", "did you mean 'sched:sched_switch'?" },
	{ "sched:sched_swich:u", "sched:sched_swich:u", "did you mean 'sched:sched_switch'?" },
	{ "sched:nonesuch_at_all", "nonesuch_at_all", "'sched:*'` lists" },
	{ "nonesuch_at_all:x", "nonesuch_at_all", "no system 'nonesuch_at_all'" },
	{ "sched:nonesuch*", "sched:nonesuch*", "no tracepoint of this kernel matches" },
	{ "nonesuch*:*", "nonesuch*:*", "no tracepoint of this kernel matches" },
	{ "..:sched", "..", "no system '..'" },
	{ "red:foo", "red", "no system 'red'" }, /* not raw event 0xed */
};

static void check_error(const struct error_row *row, struct tracefs *tracefs)
{
	struct buf line = { 0 };
	struct resolved r;
	const struct diag *e;

	buf__printf(&line, "--overwrite -F 100 -e %s", row->item);
	r = resolve(line.data, tracefs);
	if (r.d.n_errors != 1)
		fail_msg("%s: %zu errors", row->item, r.d.n_errors);
	e = &r.d.v[r.d.n - 1];
	if (!strstr(e->msg, row->words))
		fail_msg("%s\ngives: %s\nnot:   %s", row->item, e->msg, row->words);
	if (e->span.len != strlen(row->token) ||
	    strncmp(r.src->text + e->span.off, row->token, e->span.len))
		fail_msg("%s\nplace: '%.*s'", row->item, (int)e->span.len,
			 r.src->text + e->span.off);
	release(&r);
	buf__free(&line);
}

static void test_errors(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		check_error(&errors[i], NULL);
}

static void test_tracepoint_errors(void **state)
{
	struct tracefs *t = probe_tracefs();

	for (size_t i = 0; i < ARRAY_SIZE(tracepoint_errors); i++)
		check_error(&tracepoint_errors[i], t);
	tracefs__free(t);
}

static void test_frequency_limit(void **state)
{
	long limit = sysctl__kernel("perf_event_max_sample_rate", 0);
	struct resolved r;

	if (limit <= 0) {
		print_message("skipped: probe_sample_rate: no perf_event_max_sample_rate\n");
		skip();
	}
	r = resolve("--overwrite -F 4294967295 -e cs,faults/freq=4294967294/", NULL);
	assert_int_equal(r.d.n, 2);
	assert_int_equal(r.d.v[0].level, DIAG_WARNING);
	assert_int_equal(r.list->v[0].attr.sample_freq, limit);
	assert_int_equal(r.list->v[1].attr.sample_freq, limit);
	release(&r);
	r = resolve("--overwrite -F max -e cs", NULL);
	assert_int_equal(r.d.n, 0);
	assert_int_equal(r.list->v[0].attr.sample_freq, limit);
	release(&r);
}

static void test_tracepoints(void **state)
{
	struct tracefs *t = probe_tracefs();
	struct resolved r = resolve("--overwrite -e sched:sched_wak*,sched:sched_switch", t);
	struct tracepoint *copy;
	size_t n;

	assert_non_null(r.list);
	n = r.list->n;
	assert_true(n > 2);
	for (size_t i = 0; i + 2 < n; i++) /* events of a glob are sorted */
		assert_true(strcmp(r.list->v[i].name, r.list->v[i + 1].name) < 0);
	assert_string_equal(r.list->v[n - 1].name, "sched:sched_switch");
	assert_string_equal(r.list->v[n - 1].tp->system, "sched");
	assert_string_equal(r.list->v[n - 1].tp->name, "sched_switch");
	assert_int_equal(r.list->v[n - 1].attr.config, r.list->v[n - 1].tp->id);
	assert_int_equal(strncmp(r.list->v[n - 1].tp->format, "name: sched_switch\n", 19), 0);
	copy = tracepoint__dup(r.list->v[n - 1].tp);
	release(&r);
	assert_non_null(strstr(copy->format, "prev_comm"));
	tracepoint__free(copy);
	tracefs__free(t);
}

static void test_tracefs_files(void **state)
{
	static const char *const paths[] = { "events/header_page", "events/header_event",
					     "printk_formats", "saved_cmdlines" };
	struct tracefs *t = probe_tracefs();
	struct buf b = { 0 };

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(tracefs__read(t, paths[i], &b), 0);
	assert_int_equal(strncmp(b.data, "\tfield: u64 timestamp;", 22), 0);
	assert_int_equal(tracefs__read(t, "nonesuch", &b), -ENOENT);
	buf__free(&b);
	tracefs__free(t);
}

/* Skips if this process may not open an event for all tasks of a CPU. */
static void probe_system_wide(void)
{
	struct resolved r = resolve("--overwrite -c 1 -e dummy", NULL);
	struct err err;
	int fd = event__open(&r.list->v[0], 0, &err, NULL);

	release(&r);
	if (fd >= 0) {
		close(fd);
		return;
	}
	print_message("skipped: probe_system_wide: %s\n", err.msg);
	skip();
}

/*
 * Every event opens. Its output can be redirected into one overwritable ring, which gets its
 * records.
 */
static void test_open(void **state)
{
	struct tracefs *t = probe_tracefs();
	struct resolved r;
	struct err err;
	int fds[64];
	void *ring = MAP_FAILED;

	probe_system_wide();
	r = resolve("--overwrite -e cpu-clock -e sched:* -g", t);
	assert_non_null(r.list);
	assert_in_range(r.list->n, 10, 64);
	for (size_t i = 0; i < r.list->n; i++) {
		fds[i] = event__open(&r.list->v[i], 0, &err, NULL);
		if (fds[i] < 0)
			fail_msg("%s", err.msg);
		if (i)
			continue;
		ring = mmap(NULL, 17 * 4096, PROT_READ, MAP_SHARED, fds[0], 0);
		assert_ptr_not_equal(ring, MAP_FAILED);
	}
	for (size_t i = 1; i < r.list->n; i++)
		assert_int_equal(ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, fds[0]), 0);
	for (size_t i = 0; i < r.list->n; i++)
		assert_int_equal(ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0;
	     i < 3000 &&
	     !__atomic_load_n(&((struct perf_event_mmap_page *)ring)->data_head, __ATOMIC_ACQUIRE);
	     i++)
		usleep(10000);
	assert_true((int64_t)((struct perf_event_mmap_page *)ring)->data_head < 0);
	munmap(ring, 17 * 4096);
	for (size_t i = 0; i < r.list->n; i++)
		close(fds[i]);
	release(&r);
	tracefs__free(t);
}

/* Without a PMU, cycles becomes cpu-clock under the name that perf 6.1 gives it. */
static void test_cycles_fallback(void **state)
{
	static const char *const rows[][2] = {
		{ "-a", "cpu-clock:ppp" },	     { "-e cycles", "cpu-clock" },
		{ "-e cycles:pp", "cpu-clock:ppH" }, { "-e cycles:u", "cpu-clock:uH" },
		{ "-e cycles:k", "cpu-clock:k" },
	};

	probe_system_wide();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resolved r = resolve(rows[i][0], NULL);
		struct event *ev = &r.list->v[0];
		const char *notice = NULL;
		struct err err;

		for (int twice = 0; twice < 2; twice++) {
			const char *again = NULL;
			int fd = event__open(ev, 0, &err, twice ? &again : &notice);

			if (fd < 0)
				fail_msg("%s", err.msg);
			assert_null(again); /* said once */
			close(fd);
		}
		if (!notice) {
			release(&r);
			print_message("skipped: probe_no_pmu: this machine counts cycles\n");
			skip();
		}
		assert_non_null(strstr(notice, "cycles: not available"));
		assert_string_equal(ev->name, rows[i][1]);
		assert_int_equal(ev->attr.type, PERF_TYPE_SOFTWARE);
		release(&r);
	}
}

/* Events of ftrace itself, which only go to its own buffer. */
static void test_open_ftrace(void **state)
{
	struct tracefs *t = probe_tracefs();
	struct resolved r;
	struct err err;

	probe_system_wide();
	r = resolve("--overwrite -e ftrace:user_stack", t);
	assert_true(event__open(&r.list->v[0], 0, &err, NULL) < 0);
	assert_non_null(strstr(err.msg, "does not give this tracepoint to perf"));
	release(&r);
	tracefs__free(t);
}

static void test_open_errors(void **state)
{
	struct resolved r = resolve("--overwrite -e r1a8,1:77,cs/max-stack=3/ -c 100", NULL);
	struct rlimit old, few = { 3, 3 };
	struct perf_event_attr before;
	struct err err;

	probe_system_wide();
	before = r.list->v[1].attr;
	assert_true(event__open(&r.list->v[1], 0, &err, NULL) < 0);
	assert_memory_equal(&before, &r.list->v[1].attr, sizeof(before));
	assert_int_equal(strncmp(err.msg, "1:77 on CPU 0: ", 15), 0);
	assert_true(event__open(&r.list->v[2], 100000, &err, NULL) < 0);
	assert_non_null(strstr(err.msg, "cs/max-stack=3/ on CPU 100000: "));
	assert_null(strstr(err.msg, "too old"));
	getrlimit(RLIMIT_NOFILE, &old);
	few.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	assert_int_equal(event__open(&r.list->v[2], 0, &err, NULL), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_non_null(strstr(err.msg, "the limit is 3"));
	release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_default_is_cycles),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_tracepoint_errors),
		cmocka_unit_test(test_frequency_limit),
		cmocka_unit_test(test_tracepoints),
		cmocka_unit_test(test_tracefs_files),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_cycles_fallback),
		cmocka_unit_test(test_open_ftrace),
		cmocka_unit_test(test_open_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
