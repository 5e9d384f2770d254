/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests that watch system calls: a call that nobody else makes, rules for it, and
 * children that make it.
 */
#ifndef TESTS_UNIT_SYSCALL_FIXTURE_H
#define TESTS_UNIT_SYSCALL_FIXTURE_H

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "detect_fixture.h"

#define REFUSED 99 /* exit status: not permitted here */

/*
 * A call that nobody else makes: its number is in no 64-bit table, so it fails with ENOSYS. Several
 * of these tests may run at once. A test owns a number while it has the socket of that name bound.
 */
#define RARE_CALL	rare_call
#define RARE_CALL_FIRST 340
#define RARE_CALLS	80
static int rare_call = RARE_CALL_FIRST;

static inline bool bind_call_name(int fd, int nr)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "frbpf-test-call-%d", nr);
	return !bind(fd, (struct sockaddr *)&name, sizeof(name));
}

__attribute__((constructor)) static void take_rare_call(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int nr = RARE_CALL_FIRST; nr < RARE_CALL_FIRST + RARE_CALLS; nr++) {
		rare_call = nr;
		if (bind_call_name(fd, nr))
			return;
	}
}

/* ---- rules ---- */

static inline struct rule_conf syscall_rule(uint64_t id, long nr, uint64_t threshold)
{
	struct rule_conf r = {
		.id = id,
		.when = { .source = FRBPF_SOURCE_SYSCALL, .threshold = threshold },
	};

	r.when.keys[nr / 64] |= 1ULL << (nr % 64);
	return r;
}

static inline void add_node(struct rule_conf *r, enum frbpf_field field, enum frbpf_op op,
			    uint64_t val, unsigned int flags)
{
	r->expr.nodes[r->expr.n_nodes++] =
		(struct frbpf_node){ .field = field, .op = op, .flags = flags, .val = { val } };
}

static inline void add_name(struct rule_conf *r, enum frbpf_field field, enum frbpf_op op,
			    const char *name, unsigned int flags)
{
	struct frbpf_node *n = &r->expr.nodes[r->expr.n_nodes++];
	char word[FRBPF_COMM_LEN] = "";

	snprintf(word, sizeof(word), "%s", name);
	*n = (struct frbpf_node){ .field = field, .op = op, .flags = flags };
	memcpy(n->val, word, sizeof(word));
}

/* A rule for processes with the name subject_name(). @condition may be NULL. */
static inline struct rule_conf rule_when(uint64_t id, const char *when, const char *condition)
{
	char text[256];

	snprintf(text, sizeof(text), "comm == %s%s%s%s", subject_name(), condition ? " && (" : "",
		 condition ? condition : "", condition ? ")" : "");
	return rule_of(id, when, text);
}

/* ---- children ---- */

/* What a child reports about itself. */
struct findings {
	uint64_t begin, end;
	pid_t pid, tid;
	int ready;
};

/* Begin the findings of a separate process, under a name of its own. */
static inline void name_findings(struct findings *f)
{
	set_name(subject_name());
	f->pid = f->tid = getpid();
}

static inline void make_rare_calls(struct findings *f, long n)
{
	set_name("frbpf-rare");
	for (long i = 0; i < n; i++)
		syscall(RARE_CALL, SCHED_FIFO);
}

/* Wait until the task sleeps in its next call. */
static inline void await_call(struct findings *f, int ready)
{
	while (__atomic_load_n(&f->ready, __ATOMIC_SEQ_CST) != ready)
		usleep(1000);
	await_sleep(f->tid);
}

#endif
