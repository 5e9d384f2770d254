// SPDX-License-Identifier: GPL-2.0-only
/* Which incidents go, on a base made by hand. No root. */
#include <fcntl.h>
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
#include "dump/base/retention.h"
#include "rules/units.h"
#include "temp_tree.h"

#define DAY (86400 * NSEC_PER_SEC)
#define NOW (20000 * DAY)

struct place {
	char dir[64];
	struct base_dir b;
	struct err err;
	struct retention_report report;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	char sub[128];

	if (!p)
		return -1;
	strcpy(p->dir, "/tmp/frbpf-keep-XXXXXX");
	if (!mkdtemp(p->dir) || base_dir__open(&p->b, p->dir, &p->err))
		return -1;
	for (int i = 0; i < 2; i++) {
		snprintf(sub, sizeof(sub), "%s/session-%c", p->dir, 'a' + i);
		if (mkdir(sub, 0700))
			return -1;
	}
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	base_dir__close(&p->b, false);
	remove_tree(p->dir);
	free(p);
	return 0;
}

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

/* The number stands for the '#' of @form. */
static const char *path_of(const char *form, int i, char ret[static 128])
{
	int len = strchr(form, '#') - form;

	snprintf(ret, 128, "%.*s%02d%s", len, form, i, form + len + 1);
	return ret;
}

static bool has(const struct place *p, const char *form, int i)
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

/* What is there: bit i for incident i, and only as a whole. */
static unsigned int kept(const struct place *p)
{
	unsigned int bits = 0;

	for (int i = 0; i < 10; i++) {
		assert_int_equal(has(p, MANIFEST, i), has(p, DUMP_A, i));
		assert_int_equal(has(p, MANIFEST, i), has(p, DUMP_B, i));
		bits |= (unsigned int)has(p, MANIFEST, i) << i;
	}
	return bits;
}

static unsigned int apply(struct place *p, struct retention_limits l)
{
	assert_int_equal(retention__apply(&p->b, &l, NOW, NULL, 0, &p->report), 0);
	return kept(p);
}

static void test_no_limits(void **state)
{
	struct place *p = *state;

	assert_int_equal(apply(p, (struct retention_limits){ 1, 1, 1 }), 0);
	for (int i = 0; i < 5; i++)
		put_incident(p, i);
	assert_int_equal(apply(p, (struct retention_limits){ 0 }), 0x1f);
	assert_int_equal(p->report.incidents, 5);
	assert_int_equal(p->report.bytes, 5 * 2100);
	assert_int_equal(p->report.removed_incidents, 0);
	assert_int_equal(p->report.next, 0);
}

static void test_limits(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < 8; i++)
		put_incident(p, i);
	/* the names rise with age here: it is the time that counts */
	assert_int_equal(apply(p, (struct retention_limits){ .max_incidents = 6 }), 0x3f);
	assert_int_equal(p->report.removed_incidents, 2);
	assert_int_equal(p->report.removed_bytes, 2 * 2100);
	assert_int_equal(apply(p, (struct retention_limits){ .max_size = 5 * 2100 }), 0x1f);
	assert_int_equal(apply(p, (struct retention_limits){ .max_size = 5 * 2100 - 1 }), 0xf);
	assert_int_equal(apply(p, (struct retention_limits){ .max_age = 2 * DAY }), 0x7);
	assert_int_equal(p->report.next, NOW);
	assert_int_equal(p->report.bytes, 3 * 2100);
	/* the newest stays, however large */
	assert_int_equal(apply(p, (struct retention_limits){ .max_size = 1 }), 1);
}

static void test_old_ones_go_all(void **state)
{
	struct place *p = *state;

	put_incident(p, 3);
	put_incident(p, 4);
	assert_int_equal(apply(p, (struct retention_limits){ .max_age = DAY }), 0);
	assert_int_equal(p->report.incidents, 0);
}

static void test_busy(void **state)
{
	char busy[1][INCIDENT_NAME_SIZE] = { "2026112100000003" };
	struct retention_limits l = { .max_incidents = 2 };
	struct place *p = *state;

	for (int i = 0; i < 4; i++)
		put_incident(p, i);
	assert_int_equal(retention__apply(&p->b, &l, NOW, busy, 1, &p->report), 0);
	assert_int_equal(kept(p), 0xb);
	assert_true(p->report.waiting);
	assert_int_equal(p->report.incidents, 3);
	assert_int_equal(apply(p, l), 0x3);
	assert_false(p->report.waiting);
}

/* Being written, not ours, or only like ours. */
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
					  NOW, NULL, 0, &p->report),
			 0);
	/* what is being written, or was, counts all the same */
	assert_int_equal(p->report.bytes, 2100 + 5000 + 5000);
	assert_false(has(p, MANIFEST, 1) || has(p, DUMP_A, 1) || has(p, DUMP_B, 1));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(faccessat(p->b.fd, files[i], F_OK, 0), 0);
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
	assert_int_equal(p->report.incidents, 1);
	assert_int_equal(p->report.bytes, 2100);
	assert_int_not_equal(faccessat(p->b.fd, "incidents/.gone-2026112100000001.json", F_OK, 0),
			     0);
}

static void test_min_free(void **state)
{
	struct place *p = *state;
	struct err err = { "" };

	assert_int_equal(retention__check_free(p->b.fd, 0, UINT64_MAX, &err), 0);
	assert_int_equal(retention__check_free(p->b.fd, 1, 1, &err), 0);
	assert_int_equal(retention__check_free(p->b.fd, 1, UINT64_MAX, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "min-free"));
	assert_int_equal(retention__check_free(p->b.fd, UINT64_MAX, 0, &err), -ENOSPC);
}

int main(void)
{
#define place_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		place_test(test_no_limits),
		place_test(test_limits),
		place_test(test_old_ones_go_all),
		place_test(test_busy),
		place_test(test_others_are_left_alone),
		place_test(test_removal_that_was_cut_off),
		place_test(test_min_free),
	};

	return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
