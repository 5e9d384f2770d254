// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conditions in BPF, on the task of a system call.
 * with: others
 */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "syscall_fixture.h"

enum { N_PREDICATES = 14 };

/* In each pair the first condition matches, the second does not. */
static void fill_predicates(struct rule_conf *r, pid_t child)
{
	const unsigned int end = FRBPF_NODE_END;

	for (int i = 0; i < N_PREDICATES; i++)
		r[i] = syscall_rule(100 + i, RARE_CALL, 0);
	add_name(&r[0], FRBPF_FIELD_COMM, FRBPF_OP_EQ, "frbpf-rare", end);
	add_name(&r[1], FRBPF_FIELD_COMM, FRBPF_OP_EQ, "frbpf-rar", end);
	add_name(&r[2], FRBPF_FIELD_COMM, FRBPF_OP_NE, "frbpf-rarer", FRBPF_NODE_CURRENT | end);
	add_name(&r[3], FRBPF_FIELD_PROCESS, FRBPF_OP_NE, "frbpf-rare", end);
	add_node(&r[4], FRBPF_FIELD_PID, FRBPF_OP_EQ, child, end);
	add_node(&r[5], FRBPF_FIELD_PID, FRBPF_OP_NE, child, end);
	add_node(&r[6], FRBPF_FIELD_TID, FRBPF_OP_GE, child, end);
	add_node(&r[7], FRBPF_FIELD_TID, FRBPF_OP_LT, child, end);
	add_node(&r[8], FRBPF_FIELD_UID, FRBPF_OP_LE, 0, 0);
	add_node(&r[8], FRBPF_FIELD_CPU, FRBPF_OP_LT, 10000, end);
	add_node(&r[9], FRBPF_FIELD_UID, FRBPF_OP_GT, 0, end);
	/* false && true || true */
	add_node(&r[10], FRBPF_FIELD_UID, FRBPF_OP_EQ, 1, 0);
	add_node(&r[10], FRBPF_FIELD_PID, FRBPF_OP_EQ, child, end);
	add_node(&r[10], FRBPF_FIELD_UID, FRBPF_OP_EQ, 0, end);
	/* true && false || false */
	add_node(&r[11], FRBPF_FIELD_UID, FRBPF_OP_EQ, 0, 0);
	add_node(&r[11], FRBPF_FIELD_PID, FRBPF_OP_EQ, child + 1, end);
	add_node(&r[11], FRBPF_FIELD_UID, FRBPF_OP_EQ, 1, end);
	/* the maximum number of predicates; the last one decides */
	for (int i = 0; i < FRBPF_MAX_NODES; i++) {
		bool last = i == FRBPF_MAX_NODES - 1;

		add_node(&r[12], FRBPF_FIELD_PID, FRBPF_OP_EQ, last ? child : 1, end);
		add_node(&r[13], FRBPF_FIELD_PID, last ? FRBPF_OP_NE : FRBPF_OP_EQ, child,
			 last ? end : 0);
	}
}

static void rare_calls_when_told(struct findings *f, long n)
{
	while (!__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST))
		usleep(1000);
	make_rare_calls(f, n);
}

static void test_predicates(void **state)
{
	struct rule_conf rules[N_PREDICATES];
	struct findings *f = shared_memory(sizeof(*f));
	uint32_t slots[N_PREDICATES];
	struct detectors *d;
	struct sink s;
	pid_t child;

	SKIP_UNLESS_POSSIBLE();
	d = open_detectors();
	child = spawn(rare_calls_when_told, f, 3);
	fill_predicates(rules, child);
	update(d, rules, N_PREDICATES, slots);
	__atomic_store_n(&f->ready, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(await(child), 0);
	for (int i = 0; i < N_PREDICATES; i++) {
		struct frbpf_rule_state st = state_of(d, slots[i]);

		if (st.matched != (i % 2 ? 0 : 3))
			fail_msg("rule %d matched %llu times", i, st.matched);
		assert_int_equal(st.fired, st.matched);
	}
	s = collect(d, 2000);
	assert_int_equal(s.n, 3 * N_PREDICATES / 2);
	detectors__free(d);
	munmap(f, sizeof(*f));
}

static void test_conditions(void **state)
{
	/* in each pair the first matches, the second does not */
	static const char *const fixed[] = {
		"comm ~ \"frbpf-r?r*\"",
		"comm ~ \"frbpf-r[!a]re\"",
		"process in (a, \"frbpf-rare\")",
		"!(comm in (a, \"frbpf-rare\"))",
		"prio >= 100 && prio < 140",
		"prio < 100",
		"value > 1ns && value < 1s",
		"value >= 1s",
		"ret == -ENOSYS && ret < 0",
		"ret >= 0",
		"syscall >= 340 && syscall < 420",
		"syscall == read",
		"ret & 2 && ret & 0x40",
		"ret & 1 && ret & 4",
		"cgroup == / && current.cgroup == /",
		"cgroup == /no/such/cgroup",
		"current.cgroup != /no/such/cgroup",
		"cgroup != /",
	};
	enum { N = ARRAY_SIZE(fixed) };
	struct rule_conf rules[N + 2];
	uint32_t slots[N + 2];
	struct detectors *d;
	char text[64];

	SKIP_UNLESS_POSSIBLE();
	for (int i = 0; i < N + 2; i++) {
		rules[i] = syscall_rule(300 + i, RARE_CALL, 0);
		snprintf(text, sizeof(text), "ppid %s %d", i % 2 ? "!=" : "==", getpid());
		set_condition(&rules[i], i < N ? fixed[i] : text);
	}
	d = open_detectors();
	update(d, rules, N + 2, slots);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 3)), 0);
	for (int i = 0; i < N + 2; i++) {
		if (state_of(d, slots[i]).matched != (i % 2 ? 0 : 3))
			fail_msg("'%s' matched %llu times", i < N ? fixed[i] : "ppid",
				 state_of(d, slots[i]).matched);
		expr__free(&rules[i].expr);
	}
	detectors__free(d);
}

static void call_in_cgroup(struct findings *f, long dir)
{
	char path[PATH_MAX + 16];
	FILE *procs;

	snprintf(path, sizeof(path), "%s/cgroup.procs", (const char *)dir);
	procs = fopen(path, "we");
	if (!procs || fprintf(procs, "0") < 0 || fclose(procs))
		_exit(REFUSED);
	make_rare_calls(f, 1);
}

/* Make a call in a cgroup that is created at this path. 0 or REFUSED. */
static int call_in_new_cgroup(const char *top, const char *below)
{
	char dir[PATH_MAX];
	int status;

	snprintf(dir, sizeof(dir), "%s%s", top, below);
	if ((mkdir(top, 0755) && errno != EEXIST) || (*below && mkdir(dir, 0755)))
		return REFUSED;
	status = await(spawn(call_in_cgroup, NULL, (long)dir));
	if (*below)
		rmdir(dir);
	for (int i = 0; rmdir(top) && i < 100; i++)
		usleep(10000);
	return status;
}

/* A rule finds its cgroup if that is created later, or created again. */
static void test_cgroup_made_later(void **state)
{
	struct rule_conf r = syscall_rule(400, RARE_CALL, 0);
	char mount[PATH_MAX], top[PATH_MAX + 64], other[PATH_MAX + 64], text[128];
	struct detectors *d;
	uint32_t slot;
	int status;

	SKIP_UNLESS_POSSIBLE();
	if (cgroup__mount_point(mount, sizeof(mount))) {
		print_message("skipped: no cgroup2 file system\n");
		skip();
	}
	snprintf(top, sizeof(top), "%s/frbpf-test-%d", mount, getpid());
	snprintf(other, sizeof(other), "%s/frbpf-test-%d-other", mount, getpid());
	snprintf(text, sizeof(text), "cgroup == /frbpf-test-%d", getpid());
	set_condition(&r, text);
	d = open_detectors();
	update(d, &r, 1, &slot);
	status = call_in_new_cgroup(top, "");
	if (status == REFUSED) {
		detectors__free(d);
		expr__free(&r.expr);
		print_message("skipped: no cgroup to be had here\n");
		skip();
	}
	assert_int_equal(state_of(d, slot).matched, 1);
	assert_int_equal(call_in_new_cgroup(top, "/below"), 0);
	assert_int_equal(state_of(d, slot).matched, 2);
	assert_int_equal(call_in_new_cgroup(other, ""), 0);
	assert_int_equal(await(spawn(make_rare_calls, NULL, 1)), 0);
	assert_int_equal(state_of(d, slot).matched, 2);

	/* a cgroup older than the rule */
	update(d, NULL, 0, NULL);
	assert_int_equal(mkdir(top, 0755), 0);
	update(d, &r, 1, &slot);
	assert_int_equal(call_in_new_cgroup(top, "/below"), 0);
	assert_int_equal(state_of(d, slot).matched, 1);
	detectors__free(d);
	expr__free(&r.expr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_predicates),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_cgroup_made_later),
	};

	test_pid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
