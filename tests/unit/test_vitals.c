// SPDX-License-Identifier: GPL-2.0-only
/* The state of the machine in the last minute. Needs no root. */
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

#include "common/clock.h"
#include "dump/state/disk_errors.h"
#include "dump/state/vitals.h"
#include "temp_tree.h"

static void texts_of_the_kernel(void **state)
{
	struct vitals_sample s = { 0 };

	vitals__parse_stat("cpu  10 20 30 40 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n", 100, &s);
	assert_int_equal(s.v[VITAL_USER], 300000000);
	assert_int_equal(s.v[VITAL_IRQ], 130000000);
	assert_int_equal(s.v[VITAL_STEAL], 80000000);
	vitals__parse_vmstat("pgmajfault 5\npgmajfault_x 9\nallocstall_dma 1\nallocstall_normal 2\n"
			     "pswpin 3\npswpout 4\n",
			     &s);
	assert_int_equal(s.v[VITAL_MAJOR_FAULTS], 5);
	assert_int_equal(s.v[VITAL_RECLAIMS], 3);
	assert_int_equal(s.v[VITAL_SWAPPED], 7);
	vitals__parse_diskstats("   8       0 sda 1 2 3 4 5 6 7 8 0 21 11 12 13 14 15 16 17\n"
				"   8       1 sdb 1 2 3 4 5 6 7 8 0 42 11\n   9 0 short 1 2\n",
				&s);
	assert_int_equal(s.v[VITAL_DISK_BUSY], 42000000);
	vitals__parse_net_dev("Inter-|   Receive   |  Transmit\n face |bytes    packets errs\n"
			      "    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
			      "  eth0:900 9 1 2 0 0 0 0 100 1 3 4 0 0 0 0\n",
			      &s);
	assert_int_equal(s.v[VITAL_NET_ERRORS], 10);
	vitals__parse_loadavg("0.50 0.40 0.30 3/512 4242\n", &s);
	assert_int_equal(s.v[VITAL_RUNNING], 3);
	/* other lines change nothing */
	vitals__parse_stat("intr 5", 100, &s);
	vitals__parse_loadavg("", &s);
	vitals__parse_net_dev("eth0: x", &s);
	vitals__parse_diskstats("x", &s);
	assert_int_equal(s.v[VITAL_USER], 300000000);
	assert_int_equal(s.v[VITAL_NET_ERRORS], 10);
}

static void names_of_disks(void **state)
{
	json_t *o = vitals__parse_disk_names(
		"   7       0 loop0 1 2 3 4 0 6 7 8 0 21 11\n"
		"   7       1 loop1 0 0 0 0 0 0 0 0 0 0\n"
		" 259   12345 nvme0n1 0 2 3 4 5 6 7 8 0 42 11\n   9 0 short 1 2\nx\n");

	assert_int_equal(json_object_size(o), 2);
	assert_string_equal(json_string_value(json_object_get(o, "7:0")), "loop0");
	assert_string_equal(json_string_value(json_object_get(o, "259:12345")), "nvme0n1");
	json_decref(o);
}

static json_int_t number_at(const json_t *o, const char *key, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(o, key), i));
}

static void differences(void **state)
{
	const uint64_t s = 1000000000;
	struct vitals_sample v[] = {
		{ .time = 5 * s, .v = { [VITAL_USER] = 1 } },
		{ .time = 100 * s, .v = { [VITAL_USER] = 10, [VITAL_NET_ERRORS] = 9 } },
		{ .time = 101 * s, .v = { [VITAL_USER] = 15, [VITAL_RUNNING] = 4 } },
		{ .time = 103 * s, .v = { [VITAL_USER] = 18, [VITAL_RUNNING] = 2 } },
	};
	json_t *o = vitals__json(v, 4, 102 * s);

	assert_non_null(o);
	assert_int_equal(json_array_size(json_object_get(o, "user_ns")),
			 2); /* the first is too old */
	assert_int_equal(number_at(o, "user_ns", 0), 5);
	assert_int_equal(number_at(o, "user_ns", 1), 3);
	assert_int_equal(number_at(o, "length_ns", 1), 2 * s);
	assert_int_equal(number_at(o, "end_monotonic_ns", 1), 103 * s);
	assert_int_equal(number_at(o, "running", 0), 4);
	assert_null(json_object_get(o, "steal_ns"));
	assert_null(json_object_get(o, "net_errors")); /* a device that was removed */
	json_decref(o);
	assert_null(vitals__json(v, 1, 102 * s));
	assert_null(vitals__json(v, 0, 102 * s));
}

/* ---- errors of disks, in a tree like /sys/block ---- */

static char blocks[] = "/tmp/frbpf-blocks-XXXXXX";

static void put_disk(const char *name, const char *errors)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", blocks, name);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/device", blocks, name);
	mkdir(path, 0700);
	if (!errors)
		return;
	snprintf(path, sizeof(path), "%s/%s/device/ioerr_cnt", blocks, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(errors, f);
	assert_int_equal(fclose(f), 0);
}

static void errors_of_disks(void **state)
{
	const uint64_t s = 1000000000;
	struct disk_errors *d;

	assert_non_null(mkdtemp(blocks));
	d = disk_errors__new(blocks);
	assert_non_null(d);
	assert_int_equal(disk_errors__count(d, 0, s), 0);
	put_disk("sda", "0x1f\n");
	put_disk("sdb", "0x2\n");
	put_disk("vda", NULL);
	put_disk("sdc", "text\n");
	assert_int_equal(disk_errors__count(d, 0, 2 * s), 0); /* no disk was looked for yet */
	assert_int_equal(disk_errors__count(d, 4, 3 * s), 33);
	put_disk("sda", "0x20\n");
	assert_int_equal(disk_errors__count(d, 4, 4 * s), 34);
	/* disks are looked for once a minute, even if their number stays the same */
	put_disk("sdd", "0x100\n");
	assert_int_equal(disk_errors__count(d, 4, 62 * s), 34);
	assert_int_equal(disk_errors__count(d, 4, 63 * s), 290);
	/* a disk that cannot be read any more */
	put_disk("sdd", "");
	assert_int_equal(disk_errors__count(d, 4, 64 * s), 34);
	disk_errors__free(d);
	disk_errors__free(NULL);
	remove_temp_tree(blocks);
}

static void of_this_machine(void **state)
{
	struct err err = { 0 };
	struct vitals *v;
	json_t *o = NULL;

	assert_int_equal(vitals__start(&err, &v), 0);
	while (!o) /* the thread takes the first sample */
		o = vitals__get(v, now_ns());
	assert_true(number_at(o, "length_ns", 0) > 0);
	assert_non_null(json_object_get(o, "running")); /* we are */
	json_decref(o);
	vitals__free(v);
	vitals__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_the_kernel),
		cmocka_unit_test(names_of_disks),
		cmocka_unit_test(differences),
		cmocka_unit_test(errors_of_disks),
		cmocka_unit_test(of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
