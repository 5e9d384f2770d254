// SPDX-License-Identifier: GPL-2.0-only
/* reclaim on the running kernel: a child reads more than its memory cgroup may hold. */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include "detect_fixture.h"
#include "memory_group.h"
#include "reclaim.skel.h"

#define LIMIT	 "8388608"
#define READ	 (64 << 20)
#define MEM_NAME "frbpf-mem"

struct reader {
	struct memory_group group;
	uint64_t begin, end;
};

static int read_much(void *arg_)
{
	char name[] = "/var/tmp/frbpf-mem-XXXXXX", pid[16], *buf = malloc(1 << 16);
	int fd = mkostemp(name, O_CLOEXEC);
	struct reader *r = arg_;

	prctl(PR_SET_NAME, MEM_NAME);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (fd < 0 || !buf)
		return 1;
	unlink(name);
	if (memory_group_write(&r->group, "cgroup.procs", pid) || ftruncate(fd, READ))
		return 1;
	r->begin = now_ns();
	while (read(fd, buf, 1 << 16) > 0)
		;
	r->end = now_ns();
	return 0;
}

/* Reading holes of a file on tmpfs needs no memory. */
static bool files_are_in_memory(void)
{
	struct statfs fs;

	return statfs("/var/tmp", &fs) || fs.f_type == TMPFS_MAGIC;
}

static void test_limit_of_a_cgroup(void **state)
{
	struct rule_conf rules[] = {
		rule_of(1, "reclaim > 1ns", "comm == " MEM_NAME " && scope == cgroup && pages > 0"),
		rule_of(2, "reclaim > 2ns", "comm == " MEM_NAME " && scope == machine"),
		rule_of(3, "reclaim > 1h", NULL),
	};
	struct frbpf_rule_state st;
	struct detectors *d;
	struct reader *r;
	uint32_t slots[3];
	struct sink got;
	pid_t pid;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(files_are_in_memory(), "/var/tmp is in memory here");
	r = shared_memory(sizeof(*r));
	SKIP_IF(memory_group_make(&r->group, LIMIT), "no memory controller of cgroups");
	d = detectors_with(rules, 3, slots);
	assert_int_equal(in_child(read_much, r, &pid), 0);
	memory_group_remove(&r->group);
	got = collect(d, 2000);
	st = state_of(d, slots[0]);
	assert_true(st.matched >= 1);
	assert_true(got.n >= 1);
	assert_int_equal(got.last.source, FRBPF_SOURCE_RECLAIM);
	assert_int_equal(got.last.subject.pid, pid);
	assert_int_equal(got.last.current.pid, pid);
	assert_string_equal(got.last.subject.comm, MEM_NAME);
	assert_int_equal(arg_value(&got.last, FRBPF_RECLAIM_SCOPE), FRBPF_RECLAIM_CGROUP);
	assert_in_range(arg_value(&got.last, FRBPF_RECLAIM_PAGES), 1, READ / 4096);
	assert_in_range(arg_value(&got.last, FRBPF_RECLAIM_ORDER), 0, 10);
	assert_true(arg_value(&got.last, FRBPF_RECLAIM_GFP) != 0);
	assert_in_range(got.last.value, 1, r->end - r->begin);
	assert_in_range(st.max_value, 1, r->end - r->begin);
	assert_int_equal(state_of(d, slots[2]).matched, 0);
	detectors__free(d);
	for (int i = 0; i < 3; i++)
		rule_free(&rules[i]);
	munmap(r, sizeof(*r));
}

/* ---- the table ---- */

#define STALLS	8192	   /* as in bpf/reclaim.bpf.c, like struct stall */
#define FOREIGN 0x7ffffff0 /* no task has this number */

struct stall {
	uint64_t begin;
	uint32_t tid;
	int32_t order;
	uint32_t gfp;
} __attribute__((aligned(32)));

struct stalls {
	uint64_t matched, missing;
	uint32_t n_foreign; /* still there, unchanged */
	uint32_t n_own;
};

/* Other tasks occupy all buckets but each @free-th. */
static void occupy(int fd, uint32_t free)
{
	const struct stall other = { .begin = 1, .tid = FOREIGN };

	for (uint32_t i = 0; i < STALLS; i++) {
		if (!free || i % free)
			assert_int_equal(bpf_map_update_elem(fd, &i, &other, BPF_ANY), 0);
	}
}

static void look_at(int fd, uint32_t own, struct stalls *ret)
{
	struct stall s;

	for (uint32_t i = 0; i < STALLS; i++) {
		assert_int_equal(bpf_map_lookup_elem(fd, &i, &s), 0);
		ret->n_own += s.tid == own;
		ret->n_foreign += s.tid == FOREIGN && s.begin == 1;
	}
}

/* One rule that matches everything, written to the maps of the object itself. */
static void set_rule(struct reclaim_bpf *skel)
{
	struct frbpf_rule rule = { .flags = FRBPF_RULE_QUIET, .watched_keys[0] = 1 };
	uint32_t zero = 0;

	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.rules), &zero, &rule, BPF_ANY),
			 0);
	skel->bss->control.bank[0].n_rules = 1;
}

/* Stalls of a child while others occupy buckets. */
static struct stalls stalls_among(struct reader *r, uint32_t free)
{
	struct reclaim_bpf *skel = reclaim_bpf__open_and_load();
	struct frbpf_rule_state st;
	struct stalls ret = { 0 };
	uint32_t zero = 0;
	pid_t pid;
	int fd;

	assert_non_null(skel);
	fd = bpf_map__fd(skel->maps.stalls);
	occupy(fd, free);
	set_rule(skel);
	assert_int_equal(reclaim_bpf__attach(skel), 0);
	assert_int_equal(in_child(read_much, r, &pid), 0);
	reclaim_bpf__detach(skel);
	look_at(fd, pid, &ret);
	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.states), &zero, &st), 0);
	ret.matched = st.fired; /* its rule is quiet and has no cooldown */
	ret.missing = skel->bss->unmeasured;
	reclaim_bpf__destroy(skel);
	return ret;
}

static void test_table(void **state)
{
	struct reader *r;
	struct stalls s;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(files_are_in_memory(), "/var/tmp is in memory here");
	r = shared_memory(sizeof(*r));
	SKIP_IF(memory_group_make(&r->group, LIMIT), "no memory controller of cgroups");
	s = stalls_among(r, 0); /* no room */
	assert_int_equal(s.matched, 0);
	assert_true(s.missing >= 1);
	assert_int_equal(s.n_foreign, STALLS);
	s = stalls_among(r, 4); /* two of a task's possible buckets are free */
	assert_true(s.matched >= 1);
	assert_int_equal(s.missing, 0);
	assert_int_equal(s.n_foreign, STALLS - STALLS / 4);
	assert_int_equal(s.n_own, 0);
	memory_group_remove(&r->group);
	munmap(r, sizeof(*r));
}

static void test_instructions(void **state)
{
	struct rule_conf r = rule_of(1, "reclaim > 1h", NULL);
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(&r, 1, &slot);
	assert_true(check_instructions("rc_") >= 2);
	detectors__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit_of_a_cgroup),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
