// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a recorder that is killed at any moment leaves, and how the next one recovers it. No root.
 */
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "dump/base/base_scan.h"
#include "dump/base/removal_log.h"
#include "dump/base/recovery.h"
#include "perfdata/marker.h"
#include "place_fixture.h"
#include "writer_fixture.h"

#define NAME  "2026112100000001"
#define OTHER "2026112100000002"

static void put(const struct place *p, const char *file, const char *text)
{
	int fd = openat(p->b.fd, file, O_CREAT | O_EXCL | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void draft(struct place *p, const char *name)
{
	static const char text[] = "{\"schema\": 1, \"triggers\": [{\"rule\": \"slow\"}]}";
	struct err err;

	assert_int_equal(base_dir__write_draft(&p->b, name, text, strlen(text), &err), 0);
}

static json_t *manifest(const struct place *p)
{
	char path[128];
	json_t *j;

	snprintf(path, sizeof(path), "%s/incidents/" NAME ".json", p->dir);
	j = json_load_file(path, 0, NULL);
	assert_non_null(j);
	return j;
}

static void recover(struct place *p, struct recovery_report want)
{
	struct recovery_report done, again;

	assert_int_equal(recovery__run(&p->b, &done), 0);
	assert_memory_equal(&done, &want, sizeof(want));
	assert_false(has_file(p, "incidents/.draft-" NAME ".json"));
	assert_false(has_file(p, "incidents/.gone-" NAME ".json"));
	assert_int_equal(recovery__run(&p->b, &again), 0); /* nothing is left to do */
	assert_memory_equal(&again, &(struct recovery_report){ 0 }, sizeof(again));
}

static void test_before_the_first_file(void **state)
{
	struct place *p = *state;
	const json_t *line;
	json_t *log;

	draft(p, NAME);
	recover(p, (struct recovery_report){ .removed = 1 });
	assert_false(has_file(p, "incidents/" NAME ".json"));
	log = removal_log__read(p->dir);
	assert_int_equal(json_array_size(log), 1);
	line = json_array_get(log, 0);
	assert_string_equal(json_string_value(json_object_get(line, "incident")), NAME);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(line, "trigger"), "rule")),
		"slow");
	json_decref(log);
}

static void test_before_the_manifest(void **state)
{
	struct place *p = *state;
	const json_t *sessions;
	json_t *j;

	draft(p, NAME);
	put(p, "session-b/perf.data." NAME, "12345");
	recover(p, (struct recovery_report){ .finished = 1 });
	j = manifest(p);
	assert_true(json_is_true(json_object_get(j, "recovered")));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(j, "triggers"), 0), "rule")),
			    "slow");
	sessions = json_object_get(j, "sessions");
	assert_int_equal(json_array_size(sessions), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(sessions, 0), "bytes")),
			 5);
	assert_string_equal(json_string_value(json_object_get(json_array_get(sessions, 0), "name")),
			    "b");
	json_decref(j);
}

/* The draft is damaged, or the recorder wrote no draft. */
static void test_without_a_draft(void **state)
{
	struct place *p = *state;
	json_t *j;

	put(p, "session-a/perf.data." NAME, "1");
	put(p, "session-b/perf.data." NAME, "1");
	put(p, "incidents/.draft-" NAME ".json", "{\"schema\": 1, \"trig");
	recover(p, (struct recovery_report){ .adopted = 1 });
	j = manifest(p);
	assert_int_equal(json_array_size(json_object_get(j, "sessions")), 2);
	assert_int_equal(json_array_size(json_object_get(j, "triggers")), 1);
	json_decref(j);
}

static void test_within_a_removal(void **state)
{
	struct place *p = *state;

	put(p, "incidents/.gone-" NAME ".json", "{}");
	put(p, "session-b/perf.data." NAME, "1");
	put(p, "incidents/" OTHER ".json", "{}");
	put(p, "session-b/perf.data." OTHER, "1");
	recover(p, (struct recovery_report){ .removed = 1 });
	assert_false(has_file(p, "session-b/perf.data." NAME));
	assert_true(has_file(p, "session-b/perf.data." OTHER) &&
		    has_file(p, "incidents/" OTHER ".json"));
}

static void test_after_the_manifest(void **state)
{
	struct place *p = *state;

	draft(p, NAME);
	put(p, "incidents/" NAME ".json", "{\"schema\": 1}");
	recover(p, (struct recovery_report){ 0 });
	assert_true(has_file(p, "incidents/" NAME ".json"));
}

static const json_t *trigger_of(const json_t *manifest, size_t i)
{
	return json_array_get(json_object_get(manifest, "triggers"), i);
}

static const char *text_of_key(const json_t *j, const char *key)
{
	const char *text = json_string_value(json_object_get(j, key));

	assert_non_null(text);
	return text;
}

static void put_dump(const struct place *p, const char *whole, size_t len)
{
	int fd = openat(p->b.fd, "session-b/perf.data." NAME, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, whole, len), len);
	close(fd);
}

/* A dump as the writer makes it. */
static struct buf real_dump(void)
{
	void *state = NULL;
	struct buf records, whole = { 0 };
	struct fixture *x;

	assert_int_equal(setup(&state), 0);
	x = state;
	records = write_dump(x, "perf.data." NAME);
	buf__free(&records);
	{
		_cleanup_close_ int fd = openat(x->dirfd, "perf.data." NAME, O_RDONLY);

		assert_int_equal(buf__read_fd(&whole, fd, 1 << 24), 0);
	}
	teardown(&state);
	return whole;
}

/* The dump's own marker tells the reason of the incident. */
static void test_from_the_marker(void **state)
{
	struct place *p = *state;
	struct buf whole = real_dump();
	const json_t *t;
	json_t *j;

	put_dump(p, whole.data, whole.len);
	put(p, "incidents/.draft-" NAME ".json", "{\"schema\": 1, \"trig");
	recover(p, (struct recovery_report){ .adopted = 1 });
	j = manifest(p);
	assert_int_equal(json_array_size(json_object_get(j, "triggers")), 2);
	t = trigger_of(j, 0);
	assert_string_equal(text_of_key(t, "rule"), "runq-spike");
	assert_string_equal(text_of_key(t, "when"), "runqlat > 20ms");
	assert_string_equal(text_of_key(t, "key"), "fsync");
	assert_int_equal(json_integer_value(json_object_get(t, "value_ns")), 25334567);
	assert_string_equal(text_of_key(json_object_get(t, "subject"), "comm"), "postgres");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(t, "subject"), "tid")),
			 PID);
	assert_string_equal(text_of_key(json_object_get(t, "time"), "utc"),
			    "2023-11-14T22:13:20.002000000Z");
	json_decref(j);
	buf__free(&whole);
}

static int count_found(const struct marker_found *m, void *arg)
{
	assert_true(strlen(m->text.rule) < 65);
	++*(int *)arg;
	return 0;
}

/* Cut at any byte, or with any byte changed: nothing outside of the file is read. */
static void test_damaged_markers(void **state)
{
	struct place *p = *state;
	struct buf whole = real_dump();
	size_t from = 0;
	int n = 0;

	for (size_t len = 0; len < whole.len; len += 1 + len / 64) {
		put_dump(p, whole.data, len);
		_cleanup_close_ int fd = openat(p->b.fd, "session-b/perf.data." NAME, O_RDONLY);

		marker_file__triggers(fd, count_found, &n);
	}
	for (; from < whole.len; from += 1 + from / 256) {
		char was = whole.data[from];

		whole.data[from] ^= 0xff;
		put_dump(p, whole.data, whole.len);
		whole.data[from] = was;
		_cleanup_close_ int fd = openat(p->b.fd, "session-b/perf.data." NAME, O_RDONLY);

		marker_file__triggers(fd, count_found, &n);
	}
	put_dump(p, whole.data, whole.len);
	_cleanup_close_ int fd = openat(p->b.fd, "session-b/perf.data." NAME, O_RDONLY);

	n = 0;
	assert_int_equal(marker_file__triggers(fd, count_found, &n), 0);
	assert_int_equal(n, 2);
	buf__free(&whole);
}

/* The recorder was killed while names were looked up. */
static void test_while_names_are_looked_up(void **state)
{
	struct place *p = *state;
	json_t *j;

	put(p, "incidents/" NAME ".json", "{\"schema\": 1, \"names\": \"pending\", \"x\": 1}");
	put(p, "incidents/" OTHER ".json", "{\"schema\": 1, \"names\": \"complete\"}");
	recover(p, (struct recovery_report){ 0 });
	j = manifest(p);
	assert_string_equal(json_string_value(json_object_get(j, "names")), "partial");
	assert_int_equal(json_integer_value(json_object_get(j, "x")), 1);
	json_decref(j);
}

/* The disk has no room for another file: the draft becomes the manifest. */
static void test_manifest_in_the_place_of_its_draft(void **state)
{
	struct place *p = *state;
	char text[BASE_DIR_DRAFT_SPARE];
	struct stat before, after;
	struct err err;

	memset(text, ' ', sizeof(text));
	memcpy(text, "{}", 2);
	draft(p, NAME);
	assert_int_equal(fstatat(p->b.incidents_fd, ".draft-" NAME ".json", &before, 0), 0);
	assert_int_equal(base_dir__promote_draft(&p->b, NAME, text, sizeof(text)), 0);
	assert_int_equal(fstatat(p->b.incidents_fd, NAME ".json", &after, 0), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_size, sizeof(text));
	assert_true(after.st_blocks <= before.st_blocks);
	assert_false(has_file(p, "incidents/.draft-" NAME ".json"));
	assert_int_equal(base_dir__write_manifest(&p->b, NAME, text, 2, &err), 0);
}

int main(void)
{
#define place_test(f) cmocka_unit_test_setup_teardown(f, set_up_place, tear_down_place)
	const struct CMUnitTest tests[] = {
		place_test(test_before_the_first_file),
		place_test(test_before_the_manifest),
		place_test(test_without_a_draft),
		place_test(test_within_a_removal),
		place_test(test_after_the_manifest),
		place_test(test_while_names_are_looked_up),
		place_test(test_from_the_marker),
		place_test(test_damaged_markers),
		place_test(test_manifest_in_the_place_of_its_draft),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
