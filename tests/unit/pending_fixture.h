/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by tests of pending events: children that hang, and what looks find. */
#ifndef TESTS_UNIT_PENDING_FIXTURE_H
#define TESTS_UNIT_PENDING_FIXTURE_H

#include "common/clock.h"
#include "detect_fixture.h"

#define LONG_MS 60000 /* longer than anything here takes */

/* ---- children ---- */

struct hanger {
	pid_t pid;
	int go[2];
};

/*
 * Start a child with the subject's name that calls @fn, which hangs until it can read from @fd.
 * @pid 0: any number; otherwise this one.
 */
static inline struct hanger hang_in(long (*fn)(long what, long fd), long what, pid_t pid)
{
	struct hanger h = { 0 };

	assert_int_equal(pipe(h.go), 0);
	h.pid = fork_as(pid);
	assert_true(h.pid >= 0);
	if (!h.pid) {
		close(h.go[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with a test that fails */
		set_name(subject_name());
		fn(what, h.go[0]);
		_exit(0);
	}
	close(h.go[0]);
	return h;
}

static inline void hanger__end(struct hanger *h, size_t n)
{
	static const char go[1024];

	assert_int_equal(write(h->go[1], go, n), n);
	close(h->go[1]);
	assert_int_equal(await(h->pid), 0);
}

/* ---- results of looks ---- */

static inline void await_at_least(const struct detectors *d, uint32_t slot, uint64_t n)
{
	uint64_t end = now_ns() + LONG_MS * MS;

	while (matched(d, slot) < n && now_ns() < end)
		usleep(1000);
	assert_true(matched(d, slot) >= n);
}

static inline void await_matched(const struct detectors *d, uint32_t slot, uint64_t n)
{
	await_at_least(d, slot, n);
	assert_int_equal(matched(d, slot), n);
}

struct ends {
	struct frbpf_ended v[8];
	int n;
};

static inline void take_end(const struct frbpf_ended *e, void *arg)
{
	struct ends *ends = arg;

	if (ends->n < (int)ARRAY_SIZE(ends->v))
		ends->v[ends->n] = *e;
	ends->n++;
}

/*
 * Wait until @n followed events have ended; there may be more. Triggers that come meanwhile are
 * dropped.
 */
static inline struct ends await_ends(struct detectors *d, int n)
{
	uint64_t until = now_ns() + LONG_MS * MS;
	struct ends ends = { .n = 0 };
	struct sink sink = { .n = 0 };

	detectors__on_ended(d, take_end, &ends);
	while (ends.n < n && now_ns() < until) {
		detectors__consume(d, INT_MAX, take_trigger, &sink);
		usleep(1000);
	}
	detectors__on_ended(d, NULL, NULL);
	assert_true(ends.n >= n);
	return ends;
}

static inline struct frbpf_ended await_end(struct detectors *d)
{
	return await_ends(d, 1).v[0];
}

#endif
