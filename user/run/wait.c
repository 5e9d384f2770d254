// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "rules/units.h"
#include "run/wait.h"

/* Signals forwarded to the command. SIGTSTP and the like stop frbpf together with it. */
static const int handed_on[] = { SIGINT,  SIGQUIT, SIGTERM,  SIGHUP,
				 SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM };

int wait__block_signals(sigset_t *ret_old)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
		sigaddset(&set, handed_on[i]);
	if (sigprocmask(SIG_BLOCK, &set, ret_old) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Did the terminal send the signal? Then the whole foreground group has it, with the command. */
static bool is_from_terminal(const struct signalfd_siginfo *si)
{
	return si->ssi_code == SI_KERNEL;
}

/* Handle a signal. True: it ends the recording. */
static bool on_signal(struct waiter *w, const struct signalfd_siginfo *si)
{
	bool running = w->child && !w->child->ended;

	if (si->ssi_signo == SIGCHLD || si->ssi_signo == SIGWINCH)
		return false;
	if (running && !is_from_terminal(si))
		kill(w->child->pid, si->ssi_signo);
	return !running;
}

static bool read_signals(struct waiter *w)
{
	struct signalfd_siginfo si;
	bool end = false;

	while (read(w->signals, &si, sizeof(si)) == sizeof(si))
		end |= on_signal(w, &si);
	return end;
}

static size_t count_dumps(const struct outcome *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_incidents; i++)
		n += !o->incidents[i].last;
	return n;
}

/* Reap processes that have ended. True: the command and all orphans have. */
static bool reap_children(struct waiter *w)
{
	bool was_running = !w->child->ended, all = child__reap(w->child);

	if (was_running && w->child->ended && !all)
		log_info("the command has ended, but processes that it left have not: recording "
			 "until they do (Ctrl-C, SIGTERM or --for end it sooner)");
	return all;
}

/* Is the recording to end? */
static bool is_over(struct waiter *w, bool signalled, bool target_ended, uint64_t deadline)
{
	struct outcome *o = w->outcome;

	if (w->child && reap_children(w))
		o->end = RUN_END_COMMAND;
	else if (signalled)
		o->end = RUN_END_SIGNAL;
	else if (target_ended)
		o->end = RUN_END_TARGET;
	else if (w->opts->max_dumps && count_dumps(o) >= w->opts->max_dumps)
		o->end = RUN_END_DUMPS;
	else if (now_ns() >= deadline)
		o->end = RUN_END_TIME;
	else
		return false;
	return true;
}

static void wait_for(struct pollfd *fds, size_t n, uint64_t wait, uint64_t deadline)
{
	uint64_t now = now_ns(), left = deadline > now ? deadline - now : 0;
	struct timespec ts;

	wait = left < wait ? left : wait;
	ts = (struct timespec){ wait / NSEC_PER_SEC, wait % NSEC_PER_SEC };
	if (ppoll(fds, n, wait == UINT64_MAX ? NULL : &ts, NULL) < 0) {
		for (size_t i = 0; i < n; i++)
			fds[i].revents = 0;
	}
}

void wait__recording(struct waiter *w)
{
	struct pollfd fds[] = { { w->signals, POLLIN },
				{ recording__fd(w->recording), POLLIN },
				{ w->target->pidfd, POLLIN }, /* ignored if -1 */
				{ recording__keys_fd(w->recording), POLLIN },
				{ recording__cpus_fd(w->recording), POLLIN } };
	uint64_t deadline = w->opts->for_ns ? now_ns() + w->opts->for_ns : UINT64_MAX, wait;
	bool signalled = false;

	for (;;) {
		wait = recording__step(w->recording);
		if (is_over(w, signalled, fds[2].revents, deadline))
			return;
		wait_for(fds, ARRAY_SIZE(fds), wait, deadline);
		signalled |= fds[0].revents && read_signals(w);
	}
}

void wait__command(struct waiter *w)
{
	struct pollfd fd = { w->signals, POLLIN };

	while (w->child && !w->child->ended) {
		child__reap(w->child);
		if (w->child->ended)
			break;
		wait_for(&fd, 1, UINT64_MAX, UINT64_MAX);
		read_signals(w);
	}
}
