/* SPDX-License-Identifier: GPL-2.0-only */
/* What tests of sources share: rules as a file has them, detectors, children, the programs in the kernel. */
#ifndef TESTS_UNIT_DETECT_FIXTURE_H
#define TESTS_UNIT_DETECT_FIXTURE_H

#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>

#include "common/cleanup.h"
#include "common/clock.h"
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

/* To be freed with when__free() and expr__free(): the process ends before that matters. */
static inline struct rule_conf rule_of(uint64_t id, const char *when, const char *condition)
{
	struct rule_conf r = { .id = id };
	struct source_text *src;
	struct diags d = { 0 };

	assert_int_equal(source_text__from_string("when", when, &src), 0);
	diags__keep(&d, src);
	if (when__parse(src, (struct span){ 0, src->len }, &d, &r.when))
		fail_msg("%s: %s", when, d.v[0].msg);
	if (condition) {
		struct field_scope scope = { .source = r.when.source };

		assert_int_equal(source_text__from_string("if", condition, &src), 0);
		diags__keep(&d, src);
		if (expr__parse(src, (struct span){ 0, src->len }, &scope, &d, &r.expr))
			fail_msg("%s: %s", condition, d.v[0].msg);
	}
	diags__free(&d);
	return r;
}

static inline void rule_free(struct rule_conf *r)
{
	when__free(&r->when);
	expr__free(&r->expr);
}

/* The rules are about nobody yet. */
static inline struct detectors *detectors_confined(struct rule_conf *rules, size_t n,
						   uint32_t *slots)
{
	struct detectors *d = NULL;
	struct err err = { "" };

	if (detectors__open(&err, &d) || detectors__confine_to_tasks(d, &err) ||
	    detectors__update(d, rules, n, slots, &err))
		fail_msg("%s", err.msg);
	return d;
}

static inline struct detectors *detectors_with(struct rule_conf *rules, size_t n, uint32_t *slots)
{
	struct detectors *d = NULL;
	struct err err = { "" };

	if (detectors__open(&err, &d) || detectors__update(d, rules, n, slots, &err))
		fail_msg("%s", err.msg);
	return d;
}

static inline struct frbpf_rule_state state_of(const struct detectors *d, uint32_t slot)
{
	struct frbpf_rule_state st;

	assert_int_equal(detectors__rule_state(d, slot, &st), 0);
	return st;
}

struct sink {
	struct frbpf_trigger first, last;
	int n;
};

static inline void take(const struct frbpf_trigger *t, void *arg)
{
	struct sink *s = arg;

	if (!s->n++)
		s->first = *t;
	s->last = *t;
}

/* Everything that comes, waiting up to @ms for the first. */
static inline struct sink collect(struct detectors *d, int ms)
{
	struct pollfd p = { .fd = detectors__fd(d), .events = POLLIN };
	struct sink s = { .n = 0 };

	if (poll(&p, 1, ms) > 0)
		assert_true(detectors__consume(d, INT_MAX, take, &s) >= 0);
	return s;
}

static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* Run @fn in a child, which is a subject as we are not. Returns its exit status. */
static inline int in_child(int (*fn)(void *arg), void *arg, pid_t *ret_pid)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn(arg));
	*ret_pid = pid;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* All programs in the kernel whose name begins so took the verifier few steps. Returns how many there are. */
static inline int check_instructions(const char *prefix)
{
	uint32_t id = 0;
	int n = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    !strncmp(info.name, prefix, strlen(prefix))) {
			n++;
			print_message("%-16s %u instructions verified\n", info.name,
				      info.verified_insns);
			assert_in_range(info.verified_insns, 0, INSNS_MAX); /* 0: before 5.16 */
		}
		close(fd);
	}
	return n;
}

#endif
