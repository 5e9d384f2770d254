// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/cleanup.h"
#include "common/helper.h"
#include "common/opening.h"
#include "common/rights.h"
#include "daemon/explainer.h"
#include "daemon/reading.h"
#include "dump/incident/incident.h"

#define TITLE	    "frbpf-why"
#define ANSWER_MAX  16384     /* bytes of JSON */
#define SECONDS_MAX 60	      /* of CPU time for one incident */
#define PAUSE_NS    100000000 /* ns before a worker that failed is replaced */

struct question {
	char base[PATH_MAX];
	char name[INCIDENT_NAME_SIZE];
};

/* Without a name: a worker has started, or its opener. */
struct answer {
	pid_t pids[EXPLAINER_PIDS];
	char name[INCIDENT_NAME_SIZE];
	char why[ANSWER_MAX]; /* its length is that of the message */
};

#define ANSWER_HEAD offsetof(struct answer, why)

struct explainer {
	int sock;
	pid_t pids[EXPLAINER_PIDS];
};

static const struct explainer_fns *fns; /* set before the fork, called in the worker */

static void answer_question(int sock, const struct question *q, const json_t *manifest)
{
	static struct answer a;
	json_t *why = fns->explain(manifest, q->base);
	size_t len = why ? json_dumpb(why, a.why, sizeof(a.why), JSON_COMPACT) : 0;

	json_decref(why);
	a.pids[0] = getpid();
	memcpy(a.name, q->name, sizeof(a.name));
	/* sendmsg() to anybody but the opener is refused by now */
	if (len && len <= sizeof(a.why) && write(sock, &a, ANSWER_HEAD + len) < 0)
		_exit(1);
}

/* Report our pid, explain one incident, and exit, which drops all that was read. */
static void run_worker(int sock)
{
	struct answer here = { .pids = { getpid() } };
	json_t *manifest;
	struct question q;
	size_t n_fds;
	ssize_t n;

	if (channel__send(sock, &here, ANSWER_HEAD, NULL, 0, 0))
		_exit(1);
	n = channel__receive(sock, &q, sizeof(q), NULL, 0, &n_fds, 0);
	if (n != sizeof(q))
		_exit(1);
	manifest = fns->read(q.base, q.name);
	if (!manifest)
		_exit(0);
	if (reading__begin(SECONDS_MAX, &sock, 1))
		_exit(1);
	here.pids[1] = opening__pid();
	if (write(sock, &here, ANSWER_HEAD) < 0)
		_exit(1);
	answer_question(sock, &q, manifest);
	_exit(0);
}

static pid_t start_worker(int sock)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	run_worker(sock);
	_exit(1);
}

/* Has the recorder gone? Questions that it left in the socket do not matter. */
static bool is_closed(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

/* It parses nothing: the capabilities are for the opener of each worker. */
static void run_explainer(int sock)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	helper__ignore_signals();
	if (rights__keep_reader() || setpriority(PRIO_PROCESS, 0, 19))
		_exit(1);
	while (!is_closed(sock)) {
		pid_t pid = start_worker(sock);
		int status = 0;

		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
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
	struct question q = { 0 };

	if ((size_t)snprintf(q.base, sizeof(q.base), "%s", base) >= sizeof(q.base) ||
	    (size_t)snprintf(q.name, sizeof(q.name), "%s", name) >= sizeof(q.name))
		return -ENAMETOOLONG;
	return channel__send(e->sock, &q, sizeof(q), NULL, 0, MSG_DONTWAIT);
}

void explainer__process(struct explainer *e, explainer_answer_fn fn, void *arg)
{
	static struct answer a;
	size_t n_fds;
	ssize_t n;

	while ((n = channel__receive(e->sock, &a, sizeof(a), NULL, 0, &n_fds, MSG_DONTWAIT)) >=
	       (ssize_t)ANSWER_HEAD) {
		json_t *why = NULL;

		memcpy(e->pids, a.pids, sizeof(e->pids));
		a.name[sizeof(a.name) - 1] = '\0';
		if (a.name[0])
			why = json_loadb(a.why, n - ANSWER_HEAD, JSON_REJECT_DUPLICATES, NULL);
		if (json_is_object(why))
			fn(a.name, why, arg);
		json_decref(why);
	}
}
