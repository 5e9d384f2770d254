// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/cleanup.h"
#include "common/helper.h"
#include "common/opening.h"
#include "common/rights.h"
#include "confine/reading.h"
#include "daemon/explainer.h"
#include "dump/incident/incident.h"

#define TITLE	    "frbpf-why"
#define ANSWER_MAX  131072    /* bytes of JSON; the socket takes 212992 by default */
#define SECONDS_MAX 60	      /* of CPU time for one incident */
#define PAUSE_NS    100000000 /* ns before a worker that failed is replaced */
#define KILLED_MS   500	      /* ms to wait for a worker that was killed, and for its opener */
#define STUCK_MAX   8	      /* workers or openers that hang, besides those at work */

struct question {
	char base[PATH_MAX];
	char name[INCIDENT_NAME_SIZE];
};

/* Sent by a worker: when it has started, without a name; then with each part of the answer. */
struct answer {
	pid_t pids[EXPLAINER_PIDS];
	uint32_t part; /* enum explainer_part */
	char name[INCIDENT_NAME_SIZE];
	char value[ANSWER_MAX]; /* its length is that of the message */
};

#define ANSWER_HEAD offsetof(struct answer, value)

struct explainer {
	int sock;
	pid_t pids[EXPLAINER_PIDS];
};

static const struct explainer_fns *fns; /* set before the fork, called in the worker */

static void explain_part(int sock, const struct question *q, const json_t *manifest,
			 enum explainer_part part)
{
	static struct answer a;
	json_t *value = fns->explain[part](manifest, q->base);
	size_t len = value ? json_dumpb(value, a.value, sizeof(a.value), JSON_COMPACT) : 0;

	json_decref(value);
	a.pids[0] = getpid();
	a.part = part;
	memcpy(a.name, q->name, sizeof(a.name));
	if (len && len <= sizeof(a.value) && write(sock, &a, ANSWER_HEAD + len) < 0)
		_exit(1);
}

/*
 * Confine ourselves, report our pid, explain one incident, and exit, which drops all that was read.
 * @busy: a pipe. It gets a byte when a question comes. It is closed once we and our opener, which
 * has a copy, have ended.
 */
_Noreturn static void run_worker(int sock, int busy)
{
	int opener_too = fcntl(busy, F_DUPFD_CLOEXEC, 0);
	const int keep[] = { sock, busy };
	struct answer here = { 0 };
	json_t *manifest;
	struct question q;
	size_t n_fds = 0;
	int fd;

	if (opener_too < 0 || reading__begin(SECONDS_MAX, keep, ARRAY_SIZE(keep)))
		_exit(1);
	close(opener_too); /* the opener still has its copy */
	here.pids[0] = getpid();
	here.pids[1] = opening__pid();
	/* write(): from now on, sendmsg() is refused except to the opener */
	if (write(sock, &here, ANSWER_HEAD) < 0 ||
	    channel__receive(sock, &q, sizeof(q), &fd, 1, &n_fds, 0) != sizeof(q) || n_fds != 1 ||
	    write(busy, "", 1) != 1)
		_exit(1);
	manifest = fns->read(fd, q.base, q.name);
	for (int i = 0; manifest && i < EXPLAINER_PARTS; i++)
		explain_part(sock, &q, manifest, i);
	_exit(0);
}

/* ---- the process that starts workers ---- */

struct starter {
	int sock;
	/* pipes of workers and openers that did not end when they were killed */
	int stuck[STUCK_MAX];
	size_t n_stuck;
};

/*
 * Fork a worker. @ret_busy: see run_worker(); the caller closes it. Returns the pid or negative
 * errno.
 */
static pid_t start_worker(int sock, int *ret_busy)
{
	pid_t parent = getpid(), pid;
	int busy[2];

	if (pipe2(busy, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(1);
		run_worker(sock, busy[1]);
	}
	close(busy[1]);
	if (pid < 0) {
		pid = -errno;
		close(busy[0]);
		return pid;
	}
	*ret_busy = busy[0];
	return pid;
}

/* Is the recorder gone? Then nobody wants answers to the questions that are still in the socket. */
static bool is_closed(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* Wait for a byte (1), or until all writers have ended (0). -ETIMEDOUT: neither within @ms. */
static int await_busy(int busy, int ms)
{
	struct pollfd p = { .fd = busy, .events = POLLIN };
	char c;
	int n;

	do
		n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	return n ? read(busy, &c, 1) == 1 : -ETIMEDOUT;
}

/* Wait until our child @pid has ended, for at most @ms. False: it has not. */
static bool await_worker_end(pid_t pid, int ms)
{
	_cleanup_close_ int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = fd >= 0 ? poll(&p, 1, ms) : 0;
	while (n < 0 && errno == EINTR);
	return n > 0;
}

/* Explain one incident. False: the worker failed. */
static bool serve_question(struct starter *s)
{
	int busy = -1, status = 1;
	pid_t pid = start_worker(s->sock, &busy);
	bool ended;

	if (pid < 0)
		return false;
	if (await_busy(busy, -1) <= 0)
		ended = await_worker_end(pid, KILLED_MS); /* it failed before a question came */
	else
		ended = await_worker_end(pid, fns->seconds_max * 1000);
	if (!ended)
		ended = !kill(pid, SIGKILL) && await_worker_end(pid, KILLED_MS);
	while (ended && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* the opener ends with its worker, unless it hangs in a file system */
	if (await_busy(busy, KILLED_MS))
		s->stuck[s->n_stuck++] = busy;
	else
		close(busy);
	return ended && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void forget_stuck(struct starter *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_stuck; i++) {
		if (await_busy(s->stuck[i], 0))
			s->stuck[n++] = s->stuck[i];
		else
			close(s->stuck[i]);
	}
	s->n_stuck = n;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* The process that starts workers. It parses nothing; its capabilities are for their openers. */
static void run_explainer(int sock)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct starter s = { .sock = sock };

	helper__ignore_signals();
	if (rights__keep_reader() || setpriority(PRIO_PROCESS, 0, 19))
		_exit(1);
	while (!is_closed(sock)) {
		forget_stuck(&s);
		if (s.n_stuck >= STUCK_MAX || !serve_question(&s))
			nanosleep(&pause, NULL);
	}
	_exit(0);
}

int explainer__new(const struct explainer_fns *of_worker, struct explainer **ret)
{
	struct explainer *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	fns = of_worker;
	err = helper__fork(TITLE, run_explainer, &e->sock);
	if (err) {
		free(e);
		return err;
	}
	*ret = e;
	return 0;
}

void explainer__free(struct explainer *e)
{
	if (!e)
		return;
	close(e->sock);
	free(e);
}

int explainer__fd(const struct explainer *e)
{
	return e->sock;
}

const pid_t *explainer__pids(const struct explainer *e)
{
	return e->pids;
}

int explainer__ask(struct explainer *e, const char *base, const char *name)
{
	char path[PATH_MAX + INCIDENT_NAME_SIZE + 32];
	struct question q = { 0 };

	if ((size_t)snprintf(q.base, sizeof(q.base), "%s", base) >= sizeof(q.base) ||
	    (size_t)snprintf(q.name, sizeof(q.name), "%s", name) >= sizeof(q.name))
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%s/incidents/%s.json", base, name);
	_cleanup_close_ int manifest = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (manifest < 0)
		return -errno;
	return channel__send(e->sock, &q, sizeof(q), &manifest, 1, MSG_DONTWAIT);
}

void explainer__process(struct explainer *e, explainer_answer_fn fn, void *arg)
{
	static struct answer a;
	size_t n_fds;
	ssize_t n;

	while ((n = channel__receive(e->sock, &a, sizeof(a), NULL, 0, &n_fds, MSG_DONTWAIT)) >=
	       (ssize_t)ANSWER_HEAD) {
		json_t *value = NULL;

		memcpy(e->pids, a.pids, sizeof(e->pids));
		a.name[sizeof(a.name) - 1] = '\0';
		if (a.name[0])
			value = json_loadb(a.value, n - ANSWER_HEAD, JSON_REJECT_DUPLICATES, NULL);
		if ((a.part == EXPLAINER_WHY && json_is_object(value)) ||
		    (a.part == EXPLAINER_KERNEL_SYMBOLS && json_is_array(value)))
			fn(a.name, a.part, value, arg);
		json_decref(value);
	}
}
