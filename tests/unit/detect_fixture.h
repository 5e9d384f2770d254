/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests of detectors: rules as text, detectors and their triggers, children, loaded BPF
 * programs.
 */
#ifndef TESTS_UNIT_DETECT_FIXTURE_H
#define TESTS_UNIT_DETECT_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "detect/detectors.h"

#define MS	  1000000ULL
#define INSNS_MAX 50000

#define SKIP_IF(condition, why)                                                                    \
	do {                                                                                       \
		if (condition) {                                                                   \
			print_message("skipped: %s\n", why);                                       \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#define SKIP_UNLESS_POSSIBLE()                                                                     \
	do {                                                                                       \
		SKIP_IF(geteuid(), "needs root");                                                  \
		SKIP_IF(access("/sys/kernel/btf/vmlinux", R_OK), "needs kernel BTF");              \
	} while (0)

/* ---- rules ---- */

/* Pid of the test, also in its children. The test itself must be the first caller. */
static inline pid_t test_pid(void)
{
	static pid_t pid;

	if (!pid)
		pid = getpid();
	return pid;
}

/* A thread name that only children of this test have. */
static inline const char *subject_name(void)
{
	static char name[FRBPF_COMM_LEN];

	if (!name[0]) /* set it now: later, many threads may call this at once */
		snprintf(name, sizeof(name), "frbpf-%d", test_pid());
	return name;
}

static inline void set_condition(struct rule_conf *r, const char *text)
{
	struct field_scope scope = { .source = r->when.source };
	struct source_text *src;
	struct diags d = { 0 };

	assert_int_equal(source_text__from_string("if", text, &src), 0);
	diags__keep(&d, src);
	if (expr__parse(src, (struct span){ 0, src->len }, &scope, &d, &r->expr))
		fail_msg("%s: %s", text, d.v[0].msg);
	diags__free(&d);
}

/*
 * @condition may be NULL. Free it with rule_free(); the tests skip that, as the process ends soon.
 */
static inline struct rule_conf rule_of(uint64_t id, const char *when, const char *condition)
{
	struct rule_conf r = { .id = id };
	struct source_text *src;
	struct diags d = { 0 };

	assert_int_equal(source_text__from_string("when", when, &src), 0);
	diags__keep(&d, src);
	if (when__parse(src, (struct span){ 0, src->len }, &d, &r.when))
		fail_msg("%s: %s", when, d.v[0].msg);
	diags__free(&d);
	if (condition)
		set_condition(&r, condition);
	return r;
}

static inline struct rule_conf runqlat_rule(uint64_t id, uint64_t threshold)
{
	return (struct rule_conf){
		.id = id,
		.when = { .source = FRBPF_SOURCE_RUNQLAT, .threshold = threshold },
	};
}

static inline void rule_free(struct rule_conf *r)
{
	when__free(&r->when);
	expr__free(&r->expr);
}

static inline void free_rules(struct rule_conf *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rule_free(&rules[i]);
}

/*
 * Make rules from the sections of a rules file; "NAME" becomes subject_name(). @bind may be NULL.
 * Errors go to *@ret_said; if that is NULL, they fail the test.
 */
static inline struct ruleset *parse_rules_text(const char *rules,
					       int (*bind)(struct ruleset *rs, struct rule_conf *r,
							   struct diags *d),
					       char *ret_said, size_t size)
{
	const char *name = subject_name();
	struct ruleset *rs = NULL;
	struct source_text *src;
	struct diags d = { 0 };
	char text[4096];
	int err;

	snprintf(text, sizeof(text), "[session-s]\nrun = -e cs\n%s", rules);
	for (char *p; (p = strstr(text, "NAME"));) {
		memmove(p + strlen(name), p + 4, strlen(p + 4) + 1);
		memcpy(p, name, strlen(name));
	}
	assert_int_equal(source_text__from_string("rules", text, &src), 0);
	err = ruleset__parse(src, &d, &rs);
	for (size_t i = 0; !err && bind && i < rs->n_rules; i++)
		err = bind(rs, &rs->rules[i], &d);
	if (ret_said)
		snprintf(ret_said, size, "%s", d.n ? d.v[0].msg : "");
	else if (err)
		fail_msg("%s", d.n ? d.v[0].msg : strerror(-err));
	diags__free(&d);
	return rs;
}

/* ---- sleep ---- */

/* 'S', 'D', ...; 0: it has ended. */
static inline char proc_state(pid_t tid)
{
	char path[64], text[512];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	state = strrchr(text, ')');
	assert_non_null(state);
	return state[2];
}

/* Wait until the child sleeps: on a busy machine it may not have got that far. */
static inline void await_sleep(pid_t tid)
{
	char state;

	do {
		usleep(1000);
		state = proc_state(tid);
		assert_true(state);
	} while (state != 'S' && state != 'D');
}

/*
 * Wait until no other thread of this process runs. AddressSanitizer locks its allocator while a
 * thread starts, and a child that is forked then would find it locked for ever.
 */
static inline void await_other_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;

	assert_non_null(tasks);
	while ((e = readdir(tasks))) {
		pid_t tid = atoi(e->d_name);

		while (tid > 0 && tid != getpid() && strchr("RD", proc_state(tid) ?: 'S'))
			usleep(100);
	}
	closedir(tasks);
}

/* ---- detectors ---- */

static inline struct detectors *open_detectors(void)
{
	struct detectors *d = NULL;
	struct err err = { "" };

	heap__begin_load(); /* as a daemon does, because each object reads 5 MB of BTF anew */
	if (detectors__open(&err, &d))
		fail_msg("open: %s", err.msg);
	return d;
}

static inline void update(struct detectors *d, const struct rule_conf *rules, size_t n,
			  uint32_t *slots)
{
	struct err err = { "" };

	if (detectors__update(d, rules, n, slots, &err))
		fail_msg("update: %s", err.msg);
	await_other_threads(); /* libbpf may have started a thread, and tests fork */
}

static inline struct detectors *detectors_with(const struct rule_conf *rules, size_t n,
					       uint32_t *slots)
{
	struct detectors *d = open_detectors();

	update(d, rules, n, slots);
	return d;
}

/* Detectors for rules that are confined to tasks. No task is included yet. */
static inline struct detectors *detectors_confined(const struct rule_conf *rules, size_t n,
						   uint32_t *slots)
{
	struct detectors *d = open_detectors();
	struct err err = { "" };

	if (detectors__confine_to_tasks(d, &err))
		fail_msg("%s", err.msg);
	update(d, rules, n, slots);
	return d;
}

static inline struct frbpf_rule_state state_of(const struct detectors *d, uint32_t slot)
{
	struct frbpf_rule_state st;

	assert_int_equal(detectors__rule_state(d, slot, &st), 0);
	return st;
}

static inline uint64_t matched(const struct detectors *d, uint32_t slot)
{
	return state_of(d, slot).matched;
}

struct sink {
	struct frbpf_trigger last;
	struct frbpf_trigger v[64]; /* the first ones */
	int n;
	struct frbpf_stacks stacks; /* the last ones */
	int n_stacks;
};

static inline void take_trigger(const struct frbpf_trigger *t, void *arg)
{
	struct sink *s = arg;

	if (s->n < (int)ARRAY_SIZE(s->v))
		s->v[s->n] = *t;
	s->last = *t;
	s->n++;
}

static inline void take_stacks(const struct frbpf_stacks *stacks, void *arg)
{
	struct sink *s = arg;

	s->stacks = *stacks;
	s->n_stacks++;
}

/* Take all triggers; wait up to @ms for the first. */
static inline struct sink collect(struct detectors *d, int ms)
{
	struct pollfd p = { .fd = detectors__fd(d), .events = POLLIN };
	struct sink s = { .n = 0 };
	int n;

	detectors__on_stacks(d, take_stacks, &s);
	poll(&p, 1, ms);
	n = detectors__consume(d, INT_MAX, take_trigger, &s);
	assert_int_equal(n, s.n);
	detectors__on_stacks(d, NULL, NULL);
	return s;
}

static inline uint64_t arg_value(const struct frbpf_trigger *t, int field)
{
	return t->args[field - FRBPF_FIELD_ARG][0];
}

/* ---- children: subjects, since the test itself is never one ---- */

static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* fork(); the child gets the number @pid, which must be free. 0: any number. */
static inline pid_t fork_as(pid_t pid)
{
	const struct clone_args args = { .exit_signal = SIGCHLD,
					 .set_tid = pid ? (uintptr_t)&pid : 0,
					 .set_tid_size = pid ? 1 : 0 };

	return syscall(SYS_clone3, &args, sizeof(args));
}

/* The exit status, or the negative signal. */
static inline int await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Events not measured: the table was full, or there was no task storage. The kernel refuses task
 * storage while it interrupts another access on the same CPU.
 */
static inline uint64_t missing(const struct detectors *d)
{
	struct detectors_stats stats;

	detectors__stats(d, &stats);
	return stats.unmeasured;
}

struct findings; /* what a child reports about itself; each test defines it */

static inline pid_t spawn(void (*fn)(struct findings *f, long arg), struct findings *f, long arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		fn(f, arg);
		_exit(0);
	}
	return pid;
}

/* Run @fn in a child, to its end. Returns its exit status. */
static inline int in_child(int (*fn)(void *arg), void *arg, pid_t *ret_pid)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn(arg));
	*ret_pid = pid;
	return await(pid);
}

static inline void set_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

/* ---- the programs in the kernel ---- */

/*
 * Find the next program after *@id whose name begins with @prefix. @maps (may be NULL) gets the ids
 * of at most @n_maps of its maps.
 */
static inline bool next_program(uint32_t *id, const char *prefix, uint32_t *maps, uint32_t n_maps,
				struct bpf_prog_info *ret)
{
	while (!bpf_prog_get_next_id(*id, id)) {
		struct bpf_prog_info info = { .map_ids = (uintptr_t)maps, .nr_map_ids = n_maps };
		uint32_t len = sizeof(info);
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(*id);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ||
		    strncmp(info.name, prefix, strlen(prefix)) != 0)
			continue;
		*ret = info;
		return true;
	}
	return false;
}

/*
 * Check that the verifier needed few steps, and that no program is of a type that disturbs other
 * users of perf events.
 */
static inline void check_program(const struct bpf_prog_info *info)
{
	print_message("%-16s %u instructions verified\n", info->name, info->verified_insns);
	assert_in_range(info->verified_insns, 0, INSNS_MAX); /* 0: before 5.16 (aba64c7da983) */
	assert_int_not_equal(info->type, BPF_PROG_TYPE_TRACEPOINT);
}

/* Check the programs whose names begin with @prefix. Returns how many there are. */
static inline int check_instructions(const char *prefix)
{
	struct bpf_prog_info info;
	uint32_t id = 0;
	int n = 0;

	for (; next_program(&id, prefix, NULL, 0, &info); n++)
		check_program(&info);
	return n;
}

#endif
