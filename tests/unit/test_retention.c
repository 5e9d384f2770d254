// SPDX-License-Identifier: GPL-2.0-only
/* Which incidents are removed, in a base made by hand. No root. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "dump/base/base_clock.h"
#include "dump/base/base_scan.h"
#include "dump/base/removal_log.h"
#include "dump/base/disk_room.h"
#include "dump/base/retention.h"
#include "rules/units.h"
#include "place_fixture.h"

#define DAY (86400 * NSEC_PER_SEC)
#define NOW (20000 * DAY)

static struct retention_report report; /* of the last round */

static void put(const struct place *p, const char *file, size_t bytes, uint64_t time)
{
	struct timespec ts[2] = { { .tv_sec = time / NSEC_PER_SEC },
				  { .tv_sec = time / NSEC_PER_SEC } };
	int fd = openat(p->b.fd, file, O_CREAT | O_EXCL | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(futimens(fd, ts), 0);
	close(fd);
}

/* The number replaces the '#' in @form. */
static const char *path_of(const char *form, int i, char ret[static 128])
{
	int len = strchr(form, '#') - form;

	snprintf(ret, 128, "%.*s%02d%s", len, form, i, form + len + 1);
	return ret;
}

static bool has_part(const struct place *p, const char *form, int i)
{
	char file[128];

	return faccessat(p->b.fd, path_of(form, i, file), F_OK, 0) == 0;
}

#define MANIFEST "incidents/20261121000000#.json"
#define DUMP_A	 "session-a/perf.data.20261121000000#"
#define DUMP_B	 "session-b/perf.data.20261121000000#"

/* 100 bytes of manifest and 1000 in each of two sessions, @i days old. */
static void put_incident(const struct place *p, int i)
{
	char file[128];

	put(p, path_of(MANIFEST, i, file), 100, NOW - i * DAY);
	put(p, path_of(DUMP_A, i, file), 1000, NOW - i * DAY);
	put(p, path_of(DUMP_B, i, file), 1000, NOW - i * DAY);
}

/* The incidents that exist, as bits: bit i for incident i. Only complete ones count. */
static unsigned int kept(const struct place *p)
{
	unsigned int bits = 0;

	for (int i = 0; i < 10; i++) {
		assert_int_equal(has_part(p, MANIFEST, i), has_part(p, DUMP_A, i));
		assert_int_equal(has_part(p, MANIFEST, i), has_part(p, DUMP_B, i));
		bits |= (unsigned int)has_part(p, MANIFEST, i) << i;
	}
	return bits;
}

static unsigned int apply(struct place *p, struct retention_limits l)
{
	assert_int_equal(retention__apply(&p->b, &l, NOW, NULL, 0, &report), 0);
	return kept(p);
}

static void test_no_limits(void **state)
{
	struct place *p = *state;

	assert_int_equal(apply(p, (struct retention_limits){ 1, 1, 1 }), 0);
	for (int i = 0; i < 5; i++)
		put_incident(p, i);
	assert_int_equal(apply(p, (struct retention_limits){ 0 }), 0x1f);
	assert_int_equal(report.incidents, 5);
	assert_int_equal(report.bytes, 5 * 2100);
	assert_int_equal(report.removed_incidents, 0);
	assert_int_equal(report.next, 0);
}

static void test_limits(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < 8; i++)
		put_incident(p, i);
	/* here names rise with age: the time decides */
	assert_int_equal(apply(p, (struct retention_limits){ .max_incidents = 6 }), 0x3f);
	assert_int_equal(report.removed_incidents, 2);
	assert_int_equal(report.removed_bytes, 2 * 2100);
	assert_int_equal(apply(p, (struct retention_limits){ .max_size = 5 * 2100 }), 0x1f);
	assert_int_equal(apply(p, (struct retention_limits){ .max_size = 5 * 2100 - 1 }), 0xf);
	assert_int_equal(apply(p, (struct retention_limits){ .max_age = 2 * DAY + DAY / 2 }), 0x7);
	assert_true(report.next > DAY / 4 && report.next <= DAY / 2);
	assert_int_equal(report.bytes, 3 * 2100);
	/* the newest stays, however large */
	assert_int_equal(apply(p, (struct retention_limits){ .max_size = 1 }), 1);
}

static void test_max_age_removes_even_the_newest(void **state)
{
	struct place *p = *state;

	put_incident(p, 3);
	put_incident(p, 4);
	assert_int_equal(apply(p, (struct retention_limits){ .max_age = DAY }), 0);
	assert_int_equal(report.incidents, 0);
}

static void test_busy(void **state)
{
	char busy[1][INCIDENT_NAME_SIZE] = { "2026112100000003" };
	struct retention_limits l = { .max_incidents = 2 };
	struct place *p = *state;

	for (int i = 0; i < 4; i++)
		put_incident(p, i);
	assert_int_equal(retention__apply(&p->b, &l, NOW, busy, 1, &report), 0);
	assert_int_equal(kept(p), 0xb);
	assert_true(report.waiting);
	assert_int_equal(report.incidents, 3);
	assert_int_equal(apply(p, l), 0x3);
	assert_false(report.waiting);
}

/* Files that are being written, are not ours, or only look similar. */
static void test_others_are_left_alone(void **state)
{
	static const char *const files[] = {
		"session-a/perf.data.2026112100000009", /* no manifest: being written */
		"session-a/.tmp-perf.data.2026112100000001", "session-a/perf.data",
		"session-a/perf.data.20261121000000011",     "incidents/notes.json",
		"incidents/2026112100000001.json.bak",	     "perf.data.2026112100000001",
	};
	struct place *p = *state;

	put_incident(p, 0);
	put_incident(p, 1);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(p, files[i], 5000, NOW - 9 * DAY);
	assert_int_equal(symlinkat("session-b", p->b.fd, "session-c"), 0);
	assert_int_equal(retention__apply(&p->b,
					  &(struct retention_limits){ .max_incidents = 1,
								      .max_age = DAY / 2 },
					  NOW, NULL, 0, &report),
			 0);
	/* incidents that are being written, or were cut off, count as well */
	assert_int_equal(report.bytes, 2100 + 5000 + 5000);
	assert_false(has_part(p, MANIFEST, 1) || has_part(p, DUMP_A, 1) || has_part(p, DUMP_B, 1));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(faccessat(p->b.fd, files[i], F_OK, 0), 0);
}

/*
 * An incident as the recorder writes it: @i days ago by the base's clock, at @written by the wall
 * clock.
 */
static void put_told(const struct place *p, int i, const char *rule, const char *comm, bool dumps,
		     uint64_t written)
{
	char file[128], text[512];
	int n = snprintf(text, sizeof(text),
			 "{\"base_ns\": %lld, \"triggers\": [{\"rule\": \"%s\", \"when\": \"w\", "
			 "\"subject\": {\"comm\": \"%s\"}, \"stacks\": {}}]}",
			 (long long)(base_clock__now(&p->b) - i * DAY), rule, comm);
	int fd;

	put(p, path_of(MANIFEST, i, file), 0, written);
	fd = openat(p->b.fd, file, O_WRONLY);
	assert_int_equal(write(fd, text, n), n);
	assert_int_equal(futimens(fd, (struct timespec[2]){ { .tv_sec = written / NSEC_PER_SEC },
							    { .tv_sec = written / NSEC_PER_SEC } }),
			 0);
	close(fd);
	for (int k = 0; dumps && k < 2; k++)
		put(p, path_of(k ? DUMP_A : DUMP_B, i, file), 1000, written);
}

/* A dump by hand, @i days ago. */
static void put_manual(const struct place *p, int i, const char *reason)
{
	char file[128], text[256];
	int fd, n = snprintf(text, sizeof(text),
			     "{\"base_ns\": %lld, \"triggers\": [{\"rule\": null, \"reason\": "
			     "\"%s\"}]}",
			     (long long)(base_clock__now(&p->b) - i * DAY), reason);

	put_incident(p, i);
	fd = openat(p->b.fd, path_of(MANIFEST, i, file), O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

/* A quota limits the dumps that a session makes by itself, and no others. */
static void test_quota(void **state)
{
	struct place *p = *state;
	struct retention_limits l = { .n_quotas = 2,
				      .quotas = { { .reason = "timed", .max = 2 },
						  { .reason = "other", .max = 1 } } };

	for (int i = 0; i < 8; i++)
		put_manual(p, i, i % 2 ? "timed" : "mine");
	assert_int_equal(apply(p, l), 0x5f);
	l.max_incidents = 5; /* the removed ones are not counted again */
	assert_int_equal(apply(p, l), 0x1f);
	l.quotas[0].max = 9;
	l.max_incidents = 0;
	assert_int_equal(apply(p, l), 0x1f);
}

/* A signal's dump, @i days ago, of session a and perhaps b */
static void put_signal(const struct place *p, int i, bool b)
{
	char file[128], text[256];
	int fd, n = snprintf(text, sizeof(text),
			     "{\"base_ns\": %lld, \"triggers\": [{\"rule\": null, \"reason\": "
			     "\"signal\"}], \"sessions\": [{\"name\": \"a\"}%s]}",
			     (long long)(base_clock__now(&p->b) - i * DAY),
			     b ? ", {\"name\": \"b\"}" : "");

	put_incident(p, i);
	fd = openat(p->b.fd, path_of(MANIFEST, i, file), O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

/*
 * An incident is removed when each of its sessions has enough newer ones. Incidents of rules stay.
 */
static void test_session_quota(void **state)
{
	struct place *p = *state;
	struct retention_limits l = {
		.n_quotas = 1, .quotas = { { .reason = "a", .of_session = true, .max = 2 } }
	};

	for (int i = 0; i < 6; i++)
		put_signal(p, i, i == 3 || i == 4);
	put_told(p, 7, "spike", "web", true, NOW);
	apply(p, l);
	assert_int_equal(kept(p), 1 << 7 | 0x1b); /* b has no limit: 3 and 4 stay */
	l.quotas[1] = (struct retention_quota){ .reason = "b", .of_session = true, .max = 1 };
	l.n_quotas = 2;
	apply(p, l);
	assert_int_equal(kept(p), 1 << 7 | 0xb); /* 4 goes, 3 is the last of b */
}

/* With -o, dumps have other names, and are removed as well. */
static void test_other_names(void **state)
{
	struct place *p = *state;

	put(p, "incidents/2026112100000002.json", 100, NOW - 2 * DAY);
	put(p, "session-a/my.file.2026112100000002", 1000, NOW - 2 * DAY);
	put_incident(p, 0);
	assert_int_equal(retention__apply(&p->b, &(struct retention_limits){ .max_age = DAY }, NOW,
					  NULL, 0, &report),
			 0);
	assert_int_equal(report.removed_bytes, 1100);
	assert_int_equal(faccessat(p->b.fd, "session-a/my.file.2026112100000002", F_OK, 0), -1);
	assert_int_equal(kept(p), 1);
}

/* The only incident of its rule stays; repeats of another rule and subject are removed. */
static void test_newest_of_every_rule(void **state)
{
	struct retention_limits l = { .max_incidents = 5 };
	struct place *p = *state;

	put_told(p, 9, "oom", "db", true, NOW);
	put_told(p, 8, "spike", "other", true, NOW);
	for (int i = 0; i < 6; i++)
		put_told(p, i, "spike", "web", true, NOW);
	apply(p, l);
	assert_int_equal(kept(p), 1 << 9 | 1 << 8 | 0x7);
	l.max_incidents = 3;
	apply(p, l);
	assert_int_equal(kept(p), 1 << 9 | 1 << 8 | 0x1);
	l.max_incidents = 2;
	apply(p, l);
	assert_int_equal(kept(p), 1 << 9 | 0x1);
}

/* If other software fills the disk, incidents without files do not displace those with files. */
static void test_empty_ones_go_first(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < 5; i++)
		put_told(p, i, "spike", "web", i >= 3, NOW);
	assert_int_equal(retention__apply(&p->b, &(struct retention_limits){ .max_incidents = 2 },
					  NOW, NULL, 0, &report),
			 0);
	assert_true(has_part(p, MANIFEST, 3) && has_part(p, MANIFEST, 4));
	assert_int_equal(report.incidents, 2);
}

static void test_wall_clock_that_jumps(void **state)
{
	struct retention_limits l = { .max_age = 3 * DAY };
	struct place *p = *state;

	put_told(p, 1, "a", "", true, NOW + 100 * DAY); /* written while the clock was wrong */
	put_told(p, 2, "b", "", true, NOW - 100 * DAY);
	put_told(p, 5, "c", "", true, NOW + 100 * DAY);
	assert_int_equal(retention__apply(&p->b, &l, NOW + 50 * DAY, NULL, 0, &report), 0);
	assert_int_equal(kept(p), 1 << 1 | 1 << 2);
}

static void test_clock_of_the_base(void **state)
{
	struct place *p = *state;
	uint64_t now = base_clock__now(&p->b);
	static const char other[] = "{\"boot_id\": \"other\", \"boottime_ns\": 5, "
				    "\"base_ns\": 864000000000000000}";
	struct base_dir again = p->b;
	struct err err;

	p->b.clock_offset += 100 * DAY; /* as if there had been boots before this one */
	assert_int_equal(base_clock__save(&p->b, &err), 0);
	base_clock__load(&again);
	assert_true(base_clock__now(&again) - now >= 100 * DAY);
	assert_true(base_clock__now(&again) - now < 101 * DAY);
	assert_int_equal(unlinkat(p->b.fd, "clock.json", 0), 0);
	put(p, "clock.json", 0, NOW);
	base_clock__load(&again);
	assert_true(base_clock__now(&again) - now < DAY);
	assert_int_equal(unlinkat(p->b.fd, "clock.json", 0), 0);
	assert_int_equal(base_dir__write_file(&p->b, "clock.json", other, strlen(other), &err), 0);
	/* of an earlier boot: the time since this boot is added */
	base_clock__load(&again);
	assert_true(base_clock__now(&again) >= 10000 * DAY + now);
}

static void test_what_was_removed_has_its_line(void **state)
{
	struct place *p = *state;
	const json_t *line;
	json_t *log;

	put_told(p, 1, "oom", "db", true, NOW);
	put_told(p, 0, "oom", "db", true, NOW);
	apply(p, (struct retention_limits){ .max_incidents = 1 });
	log = removal_log__read(p->dir);
	assert_int_equal(json_array_size(log), 1);
	line = json_array_get(log, 0);
	assert_string_equal(json_string_value(json_object_get(line, "incident")),
			    "2026112100000001");
	assert_string_equal(json_string_value(json_object_get(line, "removed")), "max-incidents");
	line = json_object_get(line, "trigger");
	assert_string_equal(json_string_value(json_object_get(line, "rule")), "oom");
	assert_null(json_object_get(line, "stacks"));
	json_decref(log);
}

static void test_log_of_removals_is_bounded(void **state)
{
	struct buf lines = { 0 };
	struct place *p = *state;
	struct stat st;
	struct err err;
	char name[32];
	json_t *log;
	size_t n;

	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%016d", i);
		assert_int_equal(removal_log__add(&lines, name, NULL, "max-size", 1), 0);
	}
	assert_int_equal(removal_log__write(&p->b, &lines, &err), 0);
	assert_int_equal(fstatat(p->b.fd, REMOVAL_LOG_FILE, &st, 0), 0);
	assert_true(st.st_size <= REMOVAL_LOG_MAX);
	log = removal_log__read(p->dir);
	n = json_array_size(log);
	assert_true(n > 1000 && n < 5000);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(log, n - 1), "incident")), name);
	json_decref(log);
	buf__free(&lines);
}

/* A kill between the steps of a removal. */
static void test_removal_that_was_cut_off(void **state)
{
	struct place *p = *state;

	put_incident(p, 0);
	put_incident(p, 1);
	assert_int_equal(renameat(p->b.fd, "incidents/2026112100000001.json", p->b.fd,
				  "incidents/.gone-2026112100000001.json"),
			 0);
	assert_int_equal(unlinkat(p->b.fd, "session-a/perf.data.2026112100000001", 0), 0);
	assert_int_equal(apply(p, (struct retention_limits){ 0 }), 1);
	assert_int_equal(report.incidents, 1);
	assert_int_equal(report.bytes, 2100);
	assert_int_not_equal(faccessat(p->b.fd, "incidents/.gone-2026112100000001.json", F_OK, 0),
			     0);
}

static void test_min_free(void **state)
{
	struct place *p = *state;
	struct err err = { "" };
	struct disk_room room;

	disk_room__init(&room);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 1, UINT64_MAX, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "min-free"));
	assert_int_equal(disk_room__promise(&room, p->b.fd, UINT64_MAX, 0, &err), -ENOSPC);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 1, 1, &err), 0);
	disk_room__release(&room, 1, 1);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 0, UINT64_MAX, &err), 0);
}

/*
 * Files of an incident are written at the same time: room reserved for one is not free for another.
 */
static void test_min_free_of_an_incident(void **state)
{
	struct place *p = *state;
	struct err err = { "" };
	struct disk_room room;
	struct statvfs fs;
	uint64_t part;

	assert_int_equal(fstatvfs(p->b.fd, &fs), 0);
	part = (uint64_t)fs.f_bavail * fs.f_frsize / 8; /* others may write meanwhile */
	disk_room__init(&room);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 4 * part, 3 * part, &err), 0);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 4 * part, 3 * part, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "of other files under way"));
	/* the first has taken less than promised, and a small one has room beside it */
	assert_int_equal(disk_room__promise(&room, p->b.fd, 2 * part, part, &err), 0);
	disk_room__release(&room, 3 * part, part);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 4 * part, part, &err), 0);
	disk_room__release(&room, part, 0);
	disk_room__release(&room, part, 0);
	assert_int_equal(disk_room__promise(&room, p->b.fd, 4 * part, 3 * part, &err), 0);
}

int main(void)
{
#define place_test(f) cmocka_unit_test_setup_teardown(f, set_up_place, tear_down_place)
	const struct CMUnitTest tests[] = {
		place_test(test_no_limits),
		place_test(test_limits),
		place_test(test_quota),
		place_test(test_session_quota),
		place_test(test_other_names),
		place_test(test_max_age_removes_even_the_newest),
		place_test(test_busy),
		place_test(test_others_are_left_alone),
		place_test(test_newest_of_every_rule),
		place_test(test_empty_ones_go_first),
		place_test(test_wall_clock_that_jumps),
		place_test(test_clock_of_the_base),
		place_test(test_what_was_removed_has_its_line),
		place_test(test_log_of_removals_is_bounded),
		place_test(test_removal_that_was_cut_off),
		place_test(test_min_free),
		place_test(test_min_free_of_an_incident),
	};

	return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
