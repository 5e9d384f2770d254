/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by tests of rules on tracepoints: rules, and children that make the events. */
#ifndef TESTS_UNIT_TRACEPOINT_FIXTURE_H
#define TESTS_UNIT_TRACEPOINT_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "detect/tracepoint/tracepoint_bind.h"
#include "detect_fixture.h"

#define NEED_BTF()                                                                                 \
	do {                                                                                       \
		if (access("/sys/kernel/btf/vmlinux", R_OK)) {                                     \
			print_message("skipped: needs kernel BTF\n");                              \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

#define NEED_ROOT()                                                                                \
	do {                                                                                       \
		NEED_BTF();                                                                        \
		if (geteuid()) {                                                                   \
			print_message("skipped: needs root\n");                                    \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static inline int bind_tracepoint(struct ruleset *rs, struct rule_conf *r, struct diags *d)
{
	return tracepoint_bind__rule(rs, r, false, d);
}

static inline struct ruleset *parse_tracepoint_rules(const char *rules)
{
	return parse_rules_text(rules, bind_tracepoint, NULL, 0);
}

/* The number of triggers; the last one. */
static inline int consume(struct detectors *d, struct frbpf_trigger *ret)
{
	struct sink s = collect(d, 0);

	if (s.n)
		*ret = s.last;
	return s.n;
}

/* Start a child that runs @fn. It has the subject's name when this returns. */
static inline pid_t spawn_subject(void (*fn)(long arg), long arg)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, subject_name());
		close(ready[0]);
		if (write(ready[1], "", 1) != 1)
			_exit(98);
		close(ready[1]);
		fn(arg);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static inline int64_t arg_of(const struct ruleset *rs, size_t rule, const struct frbpf_trigger *t,
		      const char *name)
{
	const struct rule_args *args = &rs->rules[rule].args;

	for (uint32_t i = 0; i < args->n; i++) {
		if (!strcmp(args->v[i].name, name))
			return t->args[args->v[i].slot][0];
	}
	fail_msg("the rule has no '%s'", name);
	return 0;
}

/* Execute this program under the name of the subject: main() returns 42 for "--exit". */
static inline void exec_self(long arg)
{
	execl("/proc/self/exe", subject_name(), "--exit", NULL);
	_exit(99);
}

#endif
