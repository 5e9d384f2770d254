/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests of spans: children that make the events, as the test itself is never a subject.
 */
#ifndef TESTS_UNIT_SPAN_FIXTURE_H
#define TESTS_UNIT_SPAN_FIXTURE_H

#include <stdatomic.h>
#include <sys/syscall.h>

#include "detect_fixture.h"

/* What a child measured itself. */
struct findings {
	uint64_t value[4];
	pid_t pid;
	atomic_int step;
};

static inline pid_t start(void (*fn)(struct findings *f), struct findings *f)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, subject_name());
		f->pid = getpid();
		fn(f);
		_exit(0);
	}
	return pid;
}

static inline void run(void (*fn)(struct findings *f), struct findings *f)
{
	assert_int_equal(await(start(fn, f)), 0);
}

#endif
