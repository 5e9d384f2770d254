// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/cleanup.h"
#include "common/helper.h"
#include "examine/keeper.h"
#include "examine/opener.h"
#include "examine/parser.h"
#include "examine/sandbox.h"

#define END_WAIT 100 /* ms to wait for a killed process; one that is stuck may never end */

struct keeper {
	int sock, signals;
	struct keeper_process {
		pid_t pid; /* 0: free */
		bool killed;
	} v[KEEPER_PROCESSES_MAX];
};

static size_t keeper__count(const struct keeper *k, bool stuck)
{
	size_t n = 0;

	for (size_t i = 0; i < KEEPER_PROCESSES_MAX; i++)
		n += k->v[i].pid && (!stuck || k->v[i].killed);
	return n;
}

static void keeper__note(struct keeper *k, pid_t pid)
{
	size_t i = 0;

	while (k->v[i].pid) /* start_process_pair() made sure that there is room */
		i++;
	k->v[i] = (struct keeper_process){ .pid = pid };
}

static void keeper__reap(struct keeper *k)
{
	struct signalfd_siginfo si;
	pid_t pid;

	while (read(k->signals, &si, sizeof(si)) == sizeof(si))
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < KEEPER_PROCESSES_MAX; i++)
			if (k->v[i].pid == pid)
				k->v[i].pid = 0;
}

/* In a new process: close all descriptors but these two, which become 3 and 4. */
static bool keep_only_fds(int a, int b)
{
	int x = fcntl(a, F_DUPFD, 16), y = fcntl(b, F_DUPFD, 16);

	return x >= 0 && y >= 0 && dup2(x, 3) == 3 && dup2(y, 4) == 4 && !close_range(5, ~0U, 0) &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static pid_t fork_process(int a, int b, void (*run)(int, int), const char *name)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_NAME, name);
	if (!keep_only_fds(a, b) || getppid() != parent)
		_exit(1);
	run(3, 4);
	_exit(1);
}

static void run_opener(int requests, int parser)
{
	opener__run(requests, parser);
}

static void run_parser(int files, int answers)
{
	parser__run(files, answers, NULL);
}

/* Load the library of the demangler first: the parser cannot open files later. */
static void run_probe_parser(int files, int answers)
{
	parser__run(files, answers, demangler__new());
}

/* Channels from us to the opener, from the opener to the parser, from the parser to us. */
struct channels {
	int v[3][2];
};

static int channels__open(struct channels *c)
{
	memset(c, -1, sizeof(*c));
	for (size_t i = 0; i < ARRAY_SIZE(c->v); i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, c->v[i]))
			return -errno;
	return 0;
}

static void channels__close(struct channels *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->v); i++)
		for (size_t k = 0; k < 2; k++)
			cleanup_close(&c->v[i][k]);
}

static void end_process_pair(struct keeper *k, const pid_t pair[2])
{
	for (size_t i = 0; i < KEEPER_PROCESSES_MAX; i++) {
		struct keeper_process *p = &k->v[i];

		if (!p->pid || (p->pid != pair[0] && p->pid != pair[1]))
			continue;
		kill(p->pid, SIGKILL); /* our child, and not reaped: the pid is still its own */
		p->killed = true;
	}
}

static int start_process_pair(struct keeper *k, bool of_probes, struct channels *c, pid_t ret[2])
{
	int err;

	if (keeper__count(k, true) >= KEEPER_STUCK_MAX ||
	    keeper__count(k, false) + 2 > KEEPER_PROCESSES_MAX)
		return -EBUSY;
	err = channels__open(c);
	if (err)
		return err;
	ret[0] = fork_process(c->v[0][1], c->v[1][0], run_opener, "frbpf-opener");
	if (ret[0] < 0)
		return ret[0];
	keeper__note(k, ret[0]);
	ret[1] = fork_process(c->v[1][1], c->v[2][1], of_probes ? run_probe_parser : run_parser,
			      "frbpf-parser");
	if (ret[1] < 0) {
		end_process_pair(k, ret);
		return ret[1];
	}
	keeper__note(k, ret[1]);
	return 0;
}

static bool keeper__has(const struct keeper *k, const pid_t pair[2])
{
	for (size_t i = 0; i < KEEPER_PROCESSES_MAX; i++)
		if (k->v[i].pid && (k->v[i].pid == pair[0] || k->v[i].pid == pair[1]))
			return true;
	return false;
}

static void await_process_end(struct keeper *k, const pid_t pair[2])
{
	struct pollfd pfd = { .fd = k->signals, .events = POLLIN };

	while (keeper__has(k, pair) && poll(&pfd, 1, END_WAIT) > 0)
		keeper__reap(k);
}

static void describe_reply(const struct keeper *k, struct keeper_reply *ret)
{
	ret->n_stuck = keeper__count(k, true);
	for (size_t i = 0; i < KEEPER_PROCESSES_MAX; i++)
		if (k->v[i].pid)
			ret->pids[ret->n_pids++] = k->v[i].pid;
}

static void serve_keeper_request(struct keeper *k, const struct keeper_request *r)
{
	struct keeper_reply reply = { 0 };
	struct channels c;
	size_t n_fds = 0;
	int fds[2];

	memset(&c, -1, sizeof(c));
	if (r->op == KEEPER_START) {
		reply.error = start_process_pair(k, r->of_probes, &c, reply.pair);
		fds[0] = c.v[0][0];
		fds[1] = c.v[2][0];
		n_fds = reply.error ? 0 : 2;
	} else if (r->op == KEEPER_END) {
		end_process_pair(k, r->pair);
		await_process_end(k, r->pair);
	}
	describe_reply(k, &reply);
	channel__send(k->sock, &reply, sizeof(reply), fds, n_fds, 0);
	channels__close(&c);
}

static int open_keeper_signals(void)
{
	sigset_t set;

	helper__ignore_signals();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void keeper__run(int sock)
{
	struct keeper k = { .sock = sock, .signals = open_keeper_signals() };
	struct keeper_request r;
	size_t n_fds;

	if (sandbox__keeper()) /* children have these rights at most */
		_exit(1);
	while (k.signals >= 0) {
		struct pollfd pfds[] = { { .fd = sock, .events = POLLIN },
					 { .fd = k.signals, .events = POLLIN } };

		if (poll(pfds, ARRAY_SIZE(pfds), -1) < 0 && errno != EINTR)
			break;
		keeper__reap(&k);
		if (!pfds[0].revents)
			continue;
		if (channel__receive(sock, &r, sizeof(r), NULL, 0, &n_fds, MSG_DONTWAIT) !=
		    sizeof(r))
			break;
		serve_keeper_request(&k, &r);
	}
	_exit(0); /* the others get SIGKILL: see keep_only_fds() */
}
