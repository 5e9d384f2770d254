// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "daemon/location.h"
#include "examine/probe/probe_reader.h"
#include "record/privilege.h"
#include "rules/units.h"
#include "run/app_place.h"
#include "run/findings.h"
#include "run/hot_stacks.h"
#include "run/output_dir.h"
#include "run/report/report.h"
#include "run/run.h"
#include "run/run_recording.h"
#include "run/run_rules.h"
#include "run/run_target.h"

struct run {
	const struct run_opts *opts;
	struct examiner *examiner; /* NULL: it could not be started */
	struct tracefs *tracefs;   /* NULL: there is none */
	struct run_rules rules;
	struct run_target target;
	struct child_user user;
	struct output_dir directory;
	struct child child;
	struct recording *recording;
	struct outcome outcome;
	struct measure measure;
	struct app_place app;
	sigset_t mask; /* for the command */
	int signals;
	struct err err;
};

/* ---- waiting: forwards signals, reaps children, steps the recording, decides when it ends ---- */

struct waiter {
	const struct run_opts *opts;
	struct child *child;		 /* NULL: no command */
	struct recording *recording;	 /* NULL: not recorded */
	const struct run_target *target; /* used with a recording */
	struct outcome *outcome;
	int signals; /* signalfd from block_signals() */
};

/* Signals forwarded to the command. SIGTSTP and the like stop frbpf together with it. */
static const int forwarded_signals[] = { SIGINT,  SIGQUIT, SIGTERM,  SIGHUP,
					 SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM };

/*
 * Block the signals to be forwarded: from now on they arrive at the signalfd. *ret_old: the
 * previous mask, which the command gets. Returns the fd or negative errno.
 */
static int block_signals(sigset_t *ret_old)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded_signals); i++)
		sigaddset(&set, forwarded_signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, ret_old) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/*
 * Did the terminal send the signal? Then the whole foreground group has received it, including the
 * command.
 */
static bool is_from_terminal(const struct signalfd_siginfo *si)
{
	return si->ssi_code == SI_KERNEL;
}

/* Handle a signal. True: it ends the recording. */
static bool on_run_signal(struct waiter *w, const struct signalfd_siginfo *si)
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
		end |= on_run_signal(w, &si);
	return end;
}

static size_t count_dumps(const struct outcome *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_incidents; i++)
		n += !o->incidents[i].last;
	return n;
}

/* Reap processes that have ended. True: the command and all its orphans have ended. */
static bool reap_children(struct waiter *w)
{
	bool was_running = !w->child->ended, all = child__reap(w->child);

	if (was_running && w->child->ended && !all)
		log_info("the command has ended, but processes that it left have not: recording "
			 "until they do (Ctrl-C, SIGTERM or --for end it sooner)");
	return all;
}

/* Is the recording to end? */
static bool recording_is_over(struct waiter *w, bool signalled, bool target_ended,
			      uint64_t deadline)
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

/* Wait until the recording is to end; sets outcome.end. */
static void await_recording(struct waiter *w)
{
	struct pollfd fds[] = { { w->signals, POLLIN },
				{ run_recording__fd(w->recording), POLLIN },
				{ w->target->pidfd, POLLIN }, /* ignored if -1 */
				{ run_recording__keys_fd(w->recording), POLLIN },
				{ run_recording__cpus_fd(w->recording), POLLIN } };
	uint64_t deadline = w->opts->for_ns ? now_ns() + w->opts->for_ns : UINT64_MAX, wait;
	bool signalled = false;

	for (;;) {
		wait = run_recording__step(w->recording);
		if (recording_is_over(w, signalled, fds[2].revents, deadline))
			return;
		wait_for(fds, ARRAY_SIZE(fds), wait, deadline);
		signalled |= fds[0].revents && read_signals(w);
	}
}

/* Wait until the command has ended, if it outlasts the recording. */
static void await_command(struct waiter *w)
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

/* ---- the run ---- */

static int refuse_run(const struct err *err)
{
	log_error("%s", err->msg);
	return RUN_EXIT_NOT_RECORDED;
}

static void print_diags(struct diags *diags)
{
	struct buf text = { 0 };

	if (diags__format(diags, &text) == 0 && text.len)
		log_text(text.data);
	buf__free(&text);
	diags__free(diags);
}

/*
 * Check the rules although nothing can be recorded. False: they are wrong, and the errors were
 * printed.
 */
static bool check_rules(struct run *r)
{
	struct diags diags = { 0 };
	int err = run_rules__check(r->opts, &diags);

	print_diags(&diags);
	return !err;
}

/*
 * Read the rules for this kernel. False: they are wrong, and the errors were printed. *ret_able
 * false: they are right, but the kernel has no tracepoints for them.
 */
static bool read_run_rules(struct run *r, bool *ret_able)
{
	struct diags diags = { 0 };
	struct err no_tracefs = { 0 };
	int code;

	if (tracefs__open(&no_tracefs, &r->tracefs))
		r->tracefs = NULL;
	code = run_rules__make(r->opts, r->tracefs, &diags, &r->rules);
	if (code && !r->tracefs && check_rules(r)) {
		diags__free(&diags);
		err_set(&r->err, -ENOENT, "%s", no_tracefs.msg);
		*ret_able = false;
		return true;
	}
	print_diags(&diags);
	if (!code && !r->tracefs && !r->opts->n_sessions)
		log_warn("without tracepoints, the default sessions record context switches, but "
			 "not who woke whom: %s",
			 no_tracefs.msg);
	*ret_able = !code;
	return !code;
}

/* Check all options before anything is made. 0 or an exit status. */
static int check_opts(struct run *r)
{
	const struct run_opts *opts = r->opts;

	if (opts->as_user && child_user__find(opts->user, &r->user, &r->err))
		return refuse_run(&r->err);
	if (run_target__find(opts, &r->err, &r->target))
		return refuse_run(&r->err);
	r->signals = block_signals(&r->mask);
	if (r->signals < 0) {
		err_set(&r->err, r->signals, "signalfd: %s", strerror(-r->signals));
		return refuse_run(&r->err);
	}
	return 0;
}

static int fork_run_command(struct run *r, struct err *err)
{
	int code;

	if (!r->opts->command)
		return 0;
	if (setenv(LOCATION_APP_ENV, r->app.path, 1))
		return err_set(err, -errno, "setenv: %s", strerror(errno));
	code = child__fork(r->opts->command, &r->user, &r->mask, err, &r->child);
	/*
	 * the reader of a pipe of --log may end; set after the fork, so that the command does not
	 * inherit this
	 */
	signal(SIGPIPE, SIG_IGN);
	return code;
}

/* Check privileges and rules. Results as for read_run_rules(). */
static bool check_ability(struct run *r, bool *ret_able)
{
	struct err less = { 0 };

	if (privilege__check(&less, &r->err)) {
		*ret_able = false;
		return check_rules(r);
	}
	if (less.msg[0] && r->opts->scope != RUN_TREE)
		log_warn("recorded without %s", less.msg);
	return read_run_rules(r, ret_able);
}

/* Start everything. Negative errno, message in r->err: nothing can be recorded. */
static int arm_run(struct run *r)
{
	struct recording_opts rec = { .base = &r->directory.base,
				      .app = &r->app,
				      .tracefs = r->tracefs,
				      .examiner = r->examiner,
				      .target = &r->target,
				      .outcome = &r->outcome };
	int code = 0;

	if (r->opts->scope == RUN_TREE)
		code = run_target__set_command(&r->target, r->child.pid, &r->err);
	code = code ?: run_recording__open(&rec, &r->rules, &r->err, &r->recording);
	if (code == -EPERM || code == -EACCES) {
		struct err refused = r->err;

		privilege__explain(refused.msg, &r->err);
	}
	return code;
}

/* Write the reports, and give the directory away. The recording is kept, whatever fails here. */
static void report_run(struct run *r)
{
	struct err err = { 0 };

	if (report__write(&r->outcome, r->directory.base.fd, &err))
		log_error("%s: %s", r->outcome.directory, err.msg);
	err = (struct err){ 0 };
	if (output_dir__finish(&r->directory, &r->user, &err))
		log_error("%s", err.msg);
	log_info("%s", r->outcome.directory);
}

static void start_run_command(struct run *r)
{
	int err;

	if (!r->opts->command)
		return;
	if (measure__begin(&r->measure))
		log_warn("cannot measure what the command costs: out of memory");
	err = child__go(&r->child, r->opts->command[0], &r->err);
	r->outcome.exec_error = -err;
	if (err)
		log_error("%s", r->err.msg);
}

static void note_command_end(struct run *r)
{
	if (!r->opts->command)
		return;
	r->outcome.command_ended = r->child.ended;
	r->outcome.command_status = r->child.status;
}

/*
 * Execute the command and record it. Nothing was recorded if outcome.exec_error is set afterwards.
 */
static void record_command(struct run *r)
{
	bool last = r->opts->last_window || (!r->outcome.n_rules && !r->opts->no_last_window);
	struct waiter w = { .opts = r->opts,
			    .child = r->opts->command ? &r->child : NULL,
			    .recording = r->recording,
			    .target = &r->target,
			    .outcome = &r->outcome,
			    .signals = r->signals };

	start_run_command(r);
	if (r->outcome.exec_error) {
		run_recording__free(TAKE_PTR(r->recording));
		return;
	}
	await_recording(&w);
	if (r->measure.machine && r->child.ended) {
		measure__end(&r->measure, &r->child, &r->outcome.cost);
		r->outcome.has_cost = true;
	}
	run_recording__finish(r->recording, last);
	run_recording__free(TAKE_PTR(r->recording));
	await_command(&w);
	note_command_end(r);
	findings__find(&r->outcome, &r->directory.base);
	hot_stacks__drop_rest(&r->outcome);
}

static int record_run(struct run *r)
{
	record_command(r);
	if (r->outcome.exec_error) /* nothing was run, so nothing is left behind */
		output_dir__undo(&r->directory);
	else
		report_run(r);
	return outcome__exit_status(&r->outcome);
}

/* For --optional: run the command without a recording. */
static int run_plainly(struct run *r)
{
	struct waiter w = {
		.opts = r->opts, .child = &r->child, .outcome = &r->outcome, .signals = r->signals
	};

	snprintf(r->outcome.reason, sizeof(r->outcome.reason), "%s", r->err.msg);
	for (char *c = r->outcome.reason; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	log_warn("%s", r->err.msg);
	log_warn("not recorded: running the command without recording it (--optional)");
	start_run_command(r);
	await_command(&w);
	note_command_end(r);
	if (r->outcome.exec_error)
		output_dir__undo(&r->directory);
	else
		report_run(r);
	return outcome__exit_status(&r->outcome);
}

static int run_in_base(struct run *r)
{
	bool plainly = r->opts->optional && r->opts->command, able;
	struct err err = { 0 };

	if (!check_ability(r, &able))
		return RUN_EXIT_NOT_RECORDED;
	if (!able && !plainly)
		return refuse_run(&r->err);
	if (output_dir__make(r->opts->out, &r->directory, &err))
		return refuse_run(&err);
	snprintf(r->outcome.directory, sizeof(r->outcome.directory), "%s", r->directory.base.path);
	r->outcome.directory_fd = r->directory.base.fd;
	snprintf(r->outcome.cgroup, sizeof(r->outcome.cgroup), "%s", r->target.cgroup);
	if (app_place__make(&r->directory, &r->user, &r->app, &err) || fork_run_command(r, &err))
		return refuse_run(&err);
	if (able && !arm_run(r))
		return record_run(r);
	return plainly ? run_plainly(r) : refuse_run(&r->err);
}

int run__run(const struct run_opts *opts)
{
	struct run r = { .opts = opts,
			 .signals = -1,
			 .target = { .pidfd = -1, .record.cgroup_fd = -1 },
			 .child = { .go = -1, .result = -1 },
			 .app = { .dir_fd = -1 },
			 .outcome = { .opts = opts } };
	int status = check_opts(&r);

	/*
	 * before the child: we reap all processes of the command, and the examiner's must not be
	 * among them
	 */
	if (!status && examiner__new(&r.examiner))
		r.examiner = NULL;
	probe_reader__use(r.examiner);
	status = status ?: run_in_base(&r);
	run_recording__free(r.recording);
	child__free(&r.child);
	app_place__free(&r.app);
	output_dir__undo(&r.directory);
	run_rules__free(&r.rules);
	run_target__free(&r.target);
	tracefs__free(r.tracefs);
	outcome__free(&r.outcome);
	measure__free(&r.measure);
	probe_reader__use(NULL);
	examiner__free(r.examiner);
	if (r.signals >= 0)
		close(r.signals);
	return status;
}
