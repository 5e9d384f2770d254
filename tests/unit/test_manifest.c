// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/buf.h"
#include "common/suspends.h"
#include "dump/base/base_scan.h"
#include "dump/base/manifest.h"
#include "rules/units.h"

#define TIME   5000000000ULL		      /* of the trigger, monotonic */
#define OFFSET (1704196800ULL * NSEC_PER_SEC) /* the machine was booted 2024-01-02 12:00:00 UTC */

struct scene {
	char dir[64];
	struct base_dir base;
	struct incident *inc;
	struct session sessions[2];
	struct dump_cpu cpus[2];
	struct rule_conf rule;
	json_t *json; /* the text written last */
};

static int set_up_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct err err;

	if (!s)
		return -1;
	strcpy(s->dir, "/tmp/frbpf-manifest-XXXXXX");
	s->inc = calloc(1, sizeof(*s->inc));
	if (!s->inc || !mkdtemp(s->dir) || base_dir__open(&s->base, s->dir, &err))
		return -1;
	strcpy(s->inc->name, "2024010212000500");
	s->inc->realtime_offset = OFFSET;
	s->rule = (struct rule_conf){ .name = "slow", .when_text = "syscall:openat > 10ms" };
	*state = s;
	return 0;
}

static int tear_down_scene(void **state)
{
	struct scene *s = *state;
	int left;

	unlinkat(s->base.incidents_fd, "2024010212000500.json", 0);
	unlinkat(s->base.fd, "lock", 0);
	base_dir__close(&s->base, true);
	left = rmdir(s->dir);
	json_decref(s->json);
	free(s->inc);
	free(s);
	return left;
}

/* Write the manifest, and read the result with a parser that is not ours. */
static void write_as_host(struct scene *s, const char *hostname)
{
	struct err err = { 0 };
	json_error_t why;
	char path[256];

	if (manifest__write(&s->base, s->inc, hostname, &err))
		fail_msg("%s", err.msg);
	snprintf(path, sizeof(path), "%s/incidents/%s.json", s->dir, s->inc->name);
	json_decref(s->json);
	s->json = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!s->json)
		fail_msg("%s: %s", path, why.text);
}

static void write_manifest(struct scene *s)
{
	write_as_host(s, "db1");
}

static const json_t *step_into(const json_t *j, const char *key)
{
	if (json_is_array(j))
		return json_array_get(j, strtoul(key, NULL, 10));
	return json_object_get(j, key);
}

/* The value at a path such as "triggers.0.subject.pid". */
static const json_t *value_at(const struct scene *s, const char *path)
{
	char copy[128], *key, *rest = copy;
	const json_t *j = s->json;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((key = strsep(&rest, ".")))
		j = step_into(j, key);
	if (!j)
		fail_msg("the manifest has no %s", path);
	return j;
}

static void check_text(const struct scene *s, const char *path, const char *want)
{
	assert_true(json_is_string(value_at(s, path)));
	assert_string_equal(json_string_value(value_at(s, path)), want);
}

static void check_number(const struct scene *s, const char *path, int64_t want)
{
	assert_true(json_is_integer(value_at(s, path)));
	assert_int_equal(json_integer_value(value_at(s, path)), want);
}

static void check_null(const struct scene *s, const char *path)
{
	assert_true(json_is_null(value_at(s, path)));
}

static void check_time(const struct scene *s, const char *path, const char *utc, int64_t ns)
{
	char sub[128];

	snprintf(sub, sizeof(sub), "%s.utc", path);
	check_text(s, sub, utc);
	snprintf(sub, sizeof(sub), "%s.monotonic_ns", path);
	check_number(s, sub, ns);
}

static void check_length(const struct scene *s, const char *path, size_t want)
{
	assert_true(json_is_array(value_at(s, path)));
	assert_int_equal(json_array_size(value_at(s, path)), want);
}

static struct incident_trigger by_rule(const struct scene *s, uint64_t time)
{
	return (struct incident_trigger){
		.rule = &s->rule,
		.t = { .source = FRBPF_SOURCE_SYSCALL,
		       .time = time,
		       .value = 25000000,
		       .threshold = 10000000,
		       .cpu = 3,
		       .key = syscall__number("openat", 6),
		       .ret = -24,
		       .subject = { 10, 11, 1000, 0, "worker", "server" },
		       .current = { 20, 21, UINT32_MAX - 1, 0, "0123456789abcdef", "x" } },
	};
}

/* ---- the incident ---- */

static void test_head(void **state)
{
	struct scene *s = *state;
	struct utsname u;

	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME + 1);
	write_manifest(s);
	uname(&u);
	check_number(s, "schema", MANIFEST_SCHEMA);
	check_text(s, "incident", "2024010212000500");
	assert_true(json_is_string(value_at(s, "frbpf")));
	check_text(s, "host.name", "db1");
	check_text(s, "host.kernel", u.release);
	check_text(s, "host.arch", u.machine);
	assert_true(json_is_string(value_at(s, "host.machine_id")));
	assert_int_equal(json_string_length(value_at(s, "host.boot_id")), 36);
	check_time(s, "time", "2024-01-02T12:00:05.000000001Z", TIME + 1);
	check_length(s, "triggers", 1);
	check_length(s, "merged", 0);
	check_number(s, "more_merged", 0);
	check_length(s, "sessions", 0);
	check_length(s, "actions", 0);
}

static void test_rule_trigger(void **state)
{
	struct scene *s = *state;

	s->rule.if_text = "process == \"server\"";
	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	write_manifest(s);
	check_text(s, "triggers.0.rule", "slow");
	check_text(s, "triggers.0.when", "syscall:openat > 10ms");
	check_text(s, "triggers.0.if", "process == \"server\"");
	check_text(s, "triggers.0.source", "syscall");
	check_time(s, "triggers.0.time", "2024-01-02T12:00:05.000000000Z", TIME);
	check_number(s, "triggers.0.value_ns", 25000000);
	check_number(s, "triggers.0.threshold_ns", 10000000);
	check_text(s, "triggers.0.key", "openat");
	check_number(s, "triggers.0.ret", -24);
	check_number(s, "triggers.0.cpu", 3);
	check_number(s, "triggers.0.subject.pid", 10);
	check_number(s, "triggers.0.subject.tid", 11);
	check_number(s, "triggers.0.subject.uid", 1000);
	check_text(s, "triggers.0.subject.comm", "worker");
	check_text(s, "triggers.0.subject.process", "server");
	check_number(s, "triggers.0.current.pid", 20);
	check_number(s, "triggers.0.current.uid", UINT32_MAX - 1);
	check_text(s, "triggers.0.current.comm", "0123456789abcdef"); /* without a NUL */
}

static void test_other_triggers(void **state)
{
	struct scene *s = *state;
	struct incident_trigger it = by_rule(s, TIME);

	it.t.source = FRBPF_SOURCE_RUNQLAT;
	s->inc->triggers[s->inc->n_triggers++] = it;
	it.t.source = FRBPF_SOURCE_SYSCALL;
	it.t.key = 511; /* a call of a newer kernel */
	s->inc->triggers[s->inc->n_triggers++] = it;
	it.t.source = 99;
	s->inc->triggers[s->inc->n_triggers++] = it;
	write_manifest(s);
	check_length(s, "triggers", 3);
	check_text(s, "triggers.0.source", "runqlat");
	check_null(s, "triggers.0.key");
	check_null(s, "triggers.0.if");
	assert_null(json_object_get(value_at(s, "triggers.0"), "ret"));
	check_null(s, "triggers.1.key");
	assert_true(json_is_string(value_at(s, "triggers.2.source")));
}

static void test_manual(void **state)
{
	struct scene *s = *state;

	s->inc->manual = true;
	strcpy(s->inc->reason, "it is slow \xc3\xa9");
	s->inc->triggers[s->inc->n_triggers++] = (struct incident_trigger){ .t.time = TIME };
	write_manifest(s);
	check_null(s, "triggers.0.rule");
	check_text(s, "triggers.0.source", "manual");
	check_text(s, "triggers.0.reason", "it is slow \xc3\xa9");
	check_number(s, "triggers.0.time.monotonic_ns", TIME);
}

static void test_merged(void **state)
{
	struct scene *s = *state;

	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	write_manifest(s);
	s->inc->n_merged = 2;
	s->inc->more_merged = 7;
	s->inc->merged[0] = by_rule(s, TIME + 1000);
	s->inc->merged[1] = by_rule(s, TIME + 2000);
	write_manifest(s); /* again, with later changes */
	check_length(s, "triggers", 1);
	check_length(s, "merged", 2);
	check_text(s, "merged.0.rule", "slow");
	check_number(s, "merged.1.time.monotonic_ns", TIME + 2000);
	check_number(s, "more_merged", 7);
}

static void test_freeze(void **state)
{
	struct scene *s = *state;

	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	s->inc->deadline = s->inc->due = TIME + 1000;
	s->inc->freeze = (struct freeze_report){
		.begun = TIME + 1010, .frozen = TIME + 1050, .finished = TIME + 3010, .bytes = 4096
	};
	write_manifest(s);
	check_text(s, "freeze.mode", "pause");
	check_number(s, "freeze.deadline_monotonic_ns", TIME + 1000);
	check_time(s, "freeze.frozen", "2024-01-02T12:00:05.000001050Z", TIME + 1050);
	check_time(s, "freeze.resumed", "2024-01-02T12:00:05.000003010Z", TIME + 3010);
	check_number(s, "freeze.late_ns", 50);
	check_number(s, "freeze.paused_ns", 2000);
	check_number(s, "freeze.copied_bytes", 4096);
	s->inc->freeze.live = true;
	s->inc->deadline = s->inc->due = TIME + 2000; /* frozen before it was due */
	write_manifest(s);
	check_text(s, "freeze.mode", "live");
	check_number(s, "freeze.late_ns", 0);
	check_number(s, "freeze.paused_ns", 0);
}

/* ---- sessions ---- */

static void add_scene_sessions(struct scene *s)
{
	s->sessions[0] = (struct session){ .name = "cycles", .run = "-e cycles -a", .n_cpus = 2 };
	s->sessions[1] = (struct session){ .name = "sched", .run = "-e sched:* -a", .n_cpus = 2 };
	s->cpus[0] = (struct dump_cpu){ .cpu = 0,
					.records = 5,
					.from = TIME - 700,
					.lost = 3,
					.torn = 64,
					.paused = 9,
					.away = 50 };
	s->cpus[1] = (struct dump_cpu){ .cpu = 2, .from = UINT64_MAX };
	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	s->inc->results[1] = (struct dump_result){
		.session = &s->sessions[0],
		.file = "perf.data.2024010212000500",
		.bytes = 1000,
		.records = 50,
		.skipped = 1,
		.start = TIME - 500,
		.end = TIME + 100,
		.short_window = true,
		.asked = TIME - 800,
		.complete = TIME - 400,
		.ring_needed = 8192,
		.write_ns = 77,
		.sideband_lost = 8,
		.sideband_rescans = 2,
		.sideband_incomplete = true,
		.cpus = s->cpus,
		.n_cpus = 2,
	};
}

static void test_contradicted(void **state)
{
	struct scene *s = *state;

	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	write_manifest(s);
	assert_string_equal(json_string_value(value_at(s, "triggers.0.cannot_tell")),
			    "no session recorded its events");
	s->inc->triggers[0].t.source = FRBPF_SOURCE_APP; /* other programs report these: nothing to
							  * compare */
	write_manifest(s);
	assert_null(json_object_get(value_at(s, "triggers.0"), "cannot_tell"));
	s->inc->triggers[0].t.source = FRBPF_SOURCE_RUNQLAT;
	write_manifest(s);
	assert_true(json_is_false(value_at(s, "contradicted")));
	assert_null(json_object_get(value_at(s, "triggers.0"), "contradicted"));
	assert_string_equal(json_string_value(value_at(s, "triggers.0.cannot_tell")),
			    "no session recorded every switch");
	s->inc->triggers[0].compared = COMPARED_AGREES;
	write_manifest(s);
	assert_null(json_object_get(value_at(s, "triggers.0"), "cannot_tell"));
	s->inc->triggers[0].contradicted = TIME - 50;
	write_manifest(s);
	assert_true(json_is_true(value_at(s, "contradicted")));
	assert_true(json_is_true(value_at(s, "triggers.0.contradicted")));
	check_number(s, "triggers.0.contradicted_time.monotonic_ns", TIME - 50);
}

static void test_session(void **state)
{
	struct scene *s = *state;
	char path[256];

	add_scene_sessions(s);
	write_manifest(s);
	check_length(s, "sessions", 1); /* only the sessions of the incident */
	check_text(s, "sessions.0.name", "cycles");
	check_text(s, "sessions.0.run", "-e cycles -a");
	snprintf(path, sizeof(path), "%s/session-cycles/perf.data.2024010212000500", s->dir);
	check_text(s, "sessions.0.file", path);
	check_null(s, "sessions.0.error");
	check_number(s, "sessions.0.bytes", 1000);
	check_number(s, "sessions.0.records", 50);
	check_number(s, "sessions.0.window.start.monotonic_ns", TIME - 500);
	check_number(s, "sessions.0.window.end.monotonic_ns", TIME + 100);
	check_number(s, "sessions.0.window.length_ns", 600);
	assert_true(json_is_true(value_at(s, "sessions.0.window.short")));
	check_number(s, "sessions.0.window.asked_ns", 900);
	check_number(s, "sessions.0.window.covered_ns", 500);
	check_number(s, "sessions.0.window.ring_needed_bytes", 8192);
	check_number(s, "sessions.0.write_ns", 77);
	check_number(s, "sessions.0.skipped_records", 1);
	check_number(s, "sessions.0.sideband.lost", 8);
	check_number(s, "sessions.0.sideband.rescans", 2);
	assert_true(json_is_true(value_at(s, "sessions.0.sideband.incomplete")));
}

static void test_cpus(void **state)
{
	struct scene *s = *state;

	add_scene_sessions(s);
	write_manifest(s);
	check_length(s, "sessions.0.cpus", 2);
	check_number(s, "sessions.0.cpus.0.cpu", 0);
	check_number(s, "sessions.0.cpus.0.records", 5);
	check_number(s, "sessions.0.cpus.0.covered_ns", 750);
	check_number(s, "sessions.0.cpus.0.absent_ns", 50);
	check_number(s, "sessions.0.cpus.0.lost", 3);
	check_number(s, "sessions.0.cpus.0.torn_bytes", 64);
	check_number(s, "sessions.0.cpus.0.paused_ns", 9);
	check_number(s, "sessions.0.cpus.1.cpu", 2);
	check_number(s, "sessions.0.cpus.1.covered_ns", 0); /* nothing in its ring can be read */
}

static void test_failed_session(void **state)
{
	struct scene *s = *state;

	add_scene_sessions(s);
	s->inc->results[63] = (struct dump_result){ .session = &s->sessions[1],
						    .error = -ENOSPC,
						    .error_text = "no space",
						    .cpus = s->cpus,
						    .n_cpus = 2 };
	write_manifest(s);
	check_length(s, "sessions", 2);
	check_null(s, "sessions.0.error");
	check_text(s, "sessions.1.name", "sched");
	check_text(s, "sessions.1.run", "-e sched:* -a");
	check_null(s, "sessions.1.file");
	check_text(s, "sessions.1.error", "no space");
}

/* ---- an incident that is removed ---- */

static void remove_it(struct scene *s)
{
	struct base_scan scan;
	uint64_t failed;

	assert_int_equal(base_scan__read(&s->base, &scan), 0);
	for (size_t i = 0; i < scan.n; i++)
		assert_int_equal(base_scan__remove(&scan, &scan.v[i], &failed), 0);
	base_scan__free(&scan);
}

static bool is_listed(const struct scene *s)
{
	return base_dir__has_manifest(&s->base, s->inc->name);
}

struct removal {
	struct scene *s;
	pthread_t thread;
	bool joined;
};

static void *remove_in_thread(void *arg)
{
	remove_it(arg);
	return NULL;
}

/* A removal that begins now must wait until the manifest is written. */
static int edit_while_removed(json_t *manifest, void *arg)
{
	struct removal *r = arg;
	struct timespec until;

	assert_int_equal(pthread_create(&r->thread, NULL, remove_in_thread, r->s), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 200000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	r->joined = pthread_timedjoin_np(r->thread, NULL, &until) == 0;
	return json_object_set_new(manifest, "more", json_true()) ? -ENOMEM : 1;
}

static void test_removed_while_edited(void **state)
{
	struct removal r = { .s = *state };
	struct err err = { 0 };

	write_manifest(r.s);
	assert_int_equal(manifest__edit(&r.s->base, r.s->inc->name, edit_while_removed, &r, &err),
			 0);
	assert_false(r.joined);
	assert_int_equal(pthread_join(r.thread, NULL), 0);
	assert_false(is_listed(r.s));
}

static void test_removed_stays_removed(void **state)
{
	struct scene *s = *state;
	const struct frbpf_suppressed held = { .count = 3 };
	struct err err = { 0 };

	write_manifest(s);
	assert_int_equal(manifest__write(&s->base, s->inc, "db1", &err), 0);
	assert_true(is_listed(s));
	remove_it(s);
	assert_int_equal(manifest__write(&s->base, s->inc, "db1", &err), 0);
	assert_int_equal(manifest__suppressed(&s->base, s->inc->name, "slow", &held, OFFSET, &err),
			 -ENOENT);
	assert_false(is_listed(s));
}

/* ---- texts that are not UTF-8 ---- */

static void test_bytes_of_tasks(void **state)
{
	struct scene *s = *state;
	struct incident_trigger it = by_rule(s, TIME);

	memcpy(it.t.subject.comm, "a\xff\nb\"\\\xc3\0xyz", 12);
	memset(it.t.subject.process, 0xfe, FRBPF_COMM_LEN);
	s->inc->triggers[s->inc->n_triggers++] = it;
	s->inc->triggers[s->inc->n_triggers++] = (struct incident_trigger){ .t.time = TIME };
	strcpy(s->inc->reason, "cut \xe2\x82");
	write_manifest(s);
	check_text(s, "triggers.0.subject.comm", "a?\nb\"\\?");
	check_text(s, "triggers.0.subject.process", "????????????????");
	check_text(s, "triggers.1.reason", "cut ??");
}

static void test_bytes_of_names(void **state)
{
	struct scene *s = *state;

	s->rule.if_text = "comm == \"\xfc\"";
	add_scene_sessions(s);
	s->sessions[0].run = "-e cycles -o \xff";
	s->inc->results[2] = (struct dump_result){ .session = &s->sessions[1],
						   .error = -EIO,
						   .error_text = "/\xff: input/output error" };
	write_as_host(s, "h\xf6st");
	check_text(s, "host.name", "h?st");
	check_text(s, "triggers.0.if", "comm == \"?\"");
	check_text(s, "sessions.0.run", "-e cycles -o ?");
	check_length(s, "sessions", 2);
	check_text(s, "sessions.1.error", "/?: input/output error");
}

static void test_bytes_of_the_base(void **state)
{
	struct scene *s = *state;

	add_scene_sessions(s);
	strcpy(s->base.path, "/\xff");
	write_manifest(s);
	strcpy(s->base.path, s->dir);
	check_length(s, "sessions", 1);
	check_text(s, "sessions.0.file", "/?/session-cycles/perf.data.2024010212000500");
}

/* A run line may be longer than any buffer. */
static void test_long_run(void **state)
{
	struct scene *s = *state;
	size_t len = 100000;
	char *run = malloc(len + 1);

	assert_non_null(run);
	memset(run, 'e', len);
	run[len] = '\0';
	add_scene_sessions(s);
	s->sessions[0].run = run;
	write_manifest(s);
	check_text(s, "sessions.0.run", run);
	run[5] = '\x80';
	write_manifest(s);
	run[5] = '?';
	check_text(s, "sessions.0.run", run);
	free(run);
}

static void test_cannot_be_written(void **state)
{
	struct scene *s = *state;
	struct err err = { 0 };

	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	assert_int_equal(mkdirat(s->base.incidents_fd, "2024010212000500.json", 0700), 0);
	assert_int_equal(manifest__write(&s->base, s->inc, "db1", &err), -EISDIR);
	assert_non_null(strstr(err.msg, "2024010212000500"));
	assert_int_equal(unlinkat(s->base.incidents_fd, "2024010212000500.json", AT_REMOVEDIR), 0);
}

static void test_bytes_of_rules(void **state)
{
	struct scene *s = *state;

	s->rule.when_text = "uprobe:/srv/caf\xe9:main > 1ms";
	s->rule.if_text = "comm == \"\xff\"";
	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	write_manifest(s);
	check_text(s, "triggers.0.rule", "slow");
	check_text(s, "triggers.0.when", "uprobe:/srv/caf?:main > 1ms");
	check_text(s, "triggers.0.if", "comm == \"?\"");
}

static uint64_t ns_of(const struct scene *s, const char *path)
{
	return json_integer_value(value_at(s, path));
}

/*
 * The wall clock is computed with the offset at the freeze, which a suspend has changed. Must be
 * the last test, because a noted suspend stays.
 */
static void test_suspended(void **state)
{
	const uint64_t hour = 3600 * NSEC_PER_SEC;
	struct scene *s = *state;

	assert_false(suspends__note(TIME - 3 * NSEC_PER_SEC, 5 * NSEC_PER_SEC));
	assert_false(suspends__note(TIME - 2 * NSEC_PER_SEC, 5 * NSEC_PER_SEC + 1000));
	assert_true(suspends__note(TIME - NSEC_PER_SEC, 65 * NSEC_PER_SEC));
	assert_true(suspends__note(TIME + NSEC_PER_SEC, 65 * NSEC_PER_SEC + hour));
	assert_int_equal(suspends__between(TIME, TIME + NSEC_PER_SEC), hour);
	assert_int_equal(suspends__between(TIME + NSEC_PER_SEC, TIME + 2 * NSEC_PER_SEC), 0);
	s->inc->triggers[s->inc->n_triggers++] = by_rule(s, TIME);
	s->inc->freeze = (struct freeze_report){ .frozen = TIME + 2 * NSEC_PER_SEC,
						 .finished = TIME + 2 * NSEC_PER_SEC };
	write_manifest(s);
	check_time(s, "time", "2024-01-02T11:00:05.000000000Z", TIME);
	check_time(s, "freeze.frozen", "2024-01-02T12:00:07.000000000Z", TIME + 2 * NSEC_PER_SEC);
	check_length(s, "suspended", 1);
	assert_int_equal(ns_of(s, "suspended.0.monotonic_ns"), TIME + NSEC_PER_SEC);
	assert_int_equal(ns_of(s, "suspended.0.length_ns"), hour);
	for (uint64_t i = 0; i < 2 * SUSPENDS_MAX; i++)
		assert_true(suspends__note(TIME + (i + 2) * NSEC_PER_SEC, (i + 2) * 2 * hour));
	assert_int_equal(suspends__between(0, UINT64_MAX),
			 2 * (2 * SUSPENDS_MAX + 1) * hour - 5 * NSEC_PER_SEC);
}

#define manifest_test(f) cmocka_unit_test_setup_teardown(f, set_up_scene, tear_down_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		manifest_test(test_head),
		manifest_test(test_rule_trigger),
		manifest_test(test_other_triggers),
		manifest_test(test_manual),
		manifest_test(test_merged),
		manifest_test(test_freeze),
		manifest_test(test_session),
		manifest_test(test_contradicted),
		manifest_test(test_cpus),
		manifest_test(test_failed_session),
		manifest_test(test_removed_while_edited),
		manifest_test(test_removed_stays_removed),
		manifest_test(test_bytes_of_tasks),
		manifest_test(test_bytes_of_names),
		manifest_test(test_bytes_of_the_base),
		manifest_test(test_long_run),
		manifest_test(test_cannot_be_written),
		manifest_test(test_bytes_of_rules),
		manifest_test(test_suspended),
	};

	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
