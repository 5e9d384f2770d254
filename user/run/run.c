// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "examine/examiner.h"
#include "daemon/location.h"
#include "record/privilege.h"
#include "run/app_place.h"
#include "run/folder.h"
#include "run/hot_stacks.h"
#include "run/incident_note.h"
#include "run/repeat.h"
#include "run/report/report.h"
#include "run/run.h"
#include "run/wait.h"

struct run {
	const struct run_opts *opts;
	struct examiner *examiner; /* NULL: it could not be started */
	struct tracefs *tracefs;   /* NULL: there is none */
	struct run_rules rules;
	struct run_target target;
	struct child_user user;
	struct folder folder;
	struct child child;
	struct recording *recording;
	struct outcome outcome;
	bool other;    /* the run at hand is of opts->against */
	bool repeated; /* it is not a single run */
	struct repeat repeat;
	bool broken;		  /* what was asked for could not be done to its end */
	sighandler_t pipe_signal; /* so, too */
	struct rlimit files;	  /* as we were called: the command's */
	struct app_place app;
	sigset_t mask; /* the command's */
	int signals;
	struct err err;
};

static int refuse(const struct err *err)
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

/* Where nothing can be recorded the rules can still be wrong. False: they are, and it was said. */
static bool check_rules(struct run *r)
{
	struct diags diags = { 0 };
	int code = run_rules__check(r->opts, &diags);

	print_diags(&diags);
	return !code;
}

/* The rules, for this kernel. False: they are wrong, and it was said. Not *ret_able: they are right,
 * and it has no tracepoints for them. */
static bool read_rules(struct run *r, bool *ret_able)
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
		log_warn("no tracepoints, so our own sessions have context switches only, and not "
			 "who woke whom: %s",
			 no_tracefs.msg);
	*ret_able = !code;
	return !code;
}

/* Everything that can be wrong with what we were told, before anything is made. 0 or an exit
 * status. */
static int check(struct run *r)
{
	const struct run_opts *opts = r->opts;

	if (opts->as_user && child_user__find(opts->user, &r->user, &r->err))
		return refuse(&r->err);
	if (run_target__find(opts, &r->err, &r->target))
		return refuse(&r->err);
	r->signals = wait__block_signals(&r->mask);
	if (r->signals < 0) {
		err_set(&r->err, r->signals, "signalfd: %s", strerror(-r->signals));
		return refuse(&r->err);
	}
	return 0;
}

/* What arming has changed of ours, and the command of the next run would inherit. */
static void start_alike(struct run *r)
{
	if (!r->files.rlim_max) {
		getrlimit(RLIMIT_NOFILE, &r->files);
		r->pipe_signal = signal(SIGPIPE, SIG_DFL);
	}
	setrlimit(RLIMIT_NOFILE, &r->files);
	signal(SIGPIPE, r->pipe_signal);
}

static char *const *command_of(const struct run *r)
{
	return r->other ? r->opts->against : r->opts->command;
}

static int fork_command(struct run *r, struct err *err)
{
	int code;

	start_alike(r);
	if (!r->opts->command)
		return 0;
	if (setenv(LOCATION_APP_ENV, r->app.path, 1))
		return err_set(err, -errno, "setenv: %s", strerror(errno));
	code = child__fork(command_of(r), &r->user, &r->mask, err, &r->child);
	signal(SIGPIPE, SIG_IGN); /* of --log and the like; the command has its own */
	return code;
}

/* Are we allowed to record, and are the rules right? As read_rules(). */
static bool check_ability(struct run *r, bool *ret_able)
{
	struct err less = { 0 };

	if (privilege__check(&less, &r->err)) {
		*ret_able = false;
		return check_rules(r);
	}
	if (less.msg[0] && r->opts->scope != RUN_TREE)
		log_warn("recorded without %s", less.msg);
	return read_rules(r, ret_able);
}

/* Bring everything up. Negative errno with words: it cannot be recorded. */
static int arm(struct run *r)
{
	struct recording_opts rec = { .base = &r->folder.base,
				      .app = &r->app,
				      .tracefs = r->tracefs,
				      .examiner = r->examiner,
				      .target = &r->target,
				      .outcome = &r->outcome,
				      .discard = r->other };
	int code = 0;

	if (r->opts->scope == RUN_TREE)
		code = run_target__set_command(&r->target, r->child.pid, &r->err);
	code = code ?: recording__open(&rec, &r->rules, &r->err, &r->recording);
	if (code == -EPERM || code == -EACCES) {
		struct err refused = r->err;

		privilege__explain(refused.msg, &r->err);
	}
	return code;
}

/* The reports, the folder's owner. What was recorded stays, whatever fails here. */
static void report(struct run *r)
{
	struct err err = { 0 };

	if (report__write(&r->outcome, r->folder.base.fd, &err))
		log_error("%s: %s", r->outcome.folder, err.msg);
	err = (struct err){ 0 };
	if (folder__finish(&r->folder, &r->user, &err))
		log_error("%s", err.msg);
	log_info("%s", r->outcome.folder);
}

static void start_command(struct run *r)
{
	int code;

	if (!r->opts->command)
		return;
	if (r->repeated)
		repeat__begin(&r->repeat);
	code = child__go(&r->child, command_of(r)[0], &r->err);
	r->outcome.exec_error = -code;
	if (code)
		log_error("%s", r->err.msg);
}

static void note_end(struct run *r)
{
	if (!r->opts->command)
		return;
	r->outcome.command_ended = r->child.ended;
	r->outcome.command_status = r->child.status;
}

/* Armed: one run. Without an error of executing it, see outcome.exec_error, it was recorded. */
static void record_run(struct run *r, bool measured, bool last)
{
	struct waiter w = { .opts = r->opts,
			    .child = r->opts->command ? &r->child : NULL,
			    .recording = r->recording,
			    .target = &r->target,
			    .outcome = &r->outcome,
			    .signals = r->signals };

	start_command(r);
	if (r->outcome.exec_error) {
		recording__free(TAKE_PTR(r->recording));
		return;
	}
	wait__recording(&w);
	measured = measured && r->child.ended;
	if (measured && repeat__end(&r->repeat, &r->child))
		measured = false;
	recording__finish(r->recording, last);
	recording__free(TAKE_PTR(r->recording));
	wait__command(&w);
	note_end(r);
	if (!r->other)
		hot_stacks__find(&r->outcome);
	hot_stacks__drop_rest(&r->outcome);
	if (measured)
		repeat__take_rules(&r->repeat, &r->outcome);
}

/* Bring everything up once more. */
static int rearm(struct run *r, bool capture)
{
	struct diags diags = { 0 };
	int code;

	r->err = (struct err){ 0 };
	run_rules__free(&r->rules);
	run_target__free(&r->target);
	r->target = (struct run_target){ .pidfd = -1, .record.cgroup_fd = -1 };
	r->child = (struct child){ .go = -1, .result = -1 };
	code = run_rules__make(r->opts, r->tracefs, &diags, &r->rules);
	if (code) {
		print_diags(&diags);
		return err_set(&r->err, code, "the rules are wrong since the run before");
	}
	diags__free(&diags); /* warnings were shown before the first run */
	code = repeat__check_rules(&r->repeat, &r->rules, &r->err);
	if (!code && capture)
		repeat__set_thresholds(&r->repeat, &r->rules);
	code = code ?: run_target__find(r->opts, &r->err, &r->target);
	code = code ?: fork_command(r, &r->err);
	return code ?: arm(r);
}

/* Did it end well, of itself, and on its own time? */
static bool ended_well(const struct outcome *o)
{
	return !o->exec_error && o->command_ended && !o->command_status &&
	       o->end == RUN_END_COMMAND;
}

/* The other command, too, has to end well for anything to be compared. What ends the recording, or the command by a
 * key, is meant for all. */
static void check_other(struct run *r, const struct outcome *o)
{
	int status = o->command_status, sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (ended_well(o))
		return;
	if (o->end != RUN_END_COMMAND || sig == SIGINT || sig == SIGQUIT || sig == SIGTERM ||
	    sig == SIGHUP) {
		r->outcome.end = o->end;
		r->outcome.command_ended = o->command_ended;
		r->outcome.command_status = status;
		return;
	}
	if (!o->exec_error) /* else it was said */
		log_error("--against: %s ended with %s %d: nothing is compared",
			  r->opts->against[0], sig ? "signal" : "status",
			  sig ? sig : WEXITSTATUS(status));
	r->broken = true;
}

/* Record one run more; false, said: it was not. */
static bool record_again(struct run *r, const struct outcome *all, bool capture,
			 struct outcome *ret)
{
	r->outcome = (struct outcome){ .opts = r->opts };
	memcpy(r->outcome.folder, all->folder, sizeof(all->folder));
	r->outcome.folder_fd = all->folder_fd;
	memcpy(r->outcome.cgroup, all->cgroup, sizeof(all->cgroup));
	if (rearm(r, capture)) {
		log_error("%s", r->err.msg);
		child__free(&r->child);
		r->broken = true;
	} else {
		record_run(r, !capture, capture || (r->opts->last_window && !r->other));
	}
	*ret = r->outcome;
	return !r->broken;
}

/* One run more, into the outcome of all of them if it is of the command. */
static void run_again(struct run *r, bool capture)
{
	struct outcome all = r->outcome, one;
	bool recorded = record_again(r, &all, capture, &one);

	r->outcome = all;
	if (recorded && r->other)
		check_other(r, &one);
	if (!recorded || r->other)
		outcome__free(&one);
	else if (capture ? outcome__add_capture(&r->outcome, &one)
			 : outcome__add(&r->outcome, &one))
		log_error("incidents of a run are not in the summary: out of memory");
}

static bool ran_well(const struct run *r)
{
	return !r->broken && ended_well(&r->outcome);
}

static bool is_compared(const struct run *r)
{
	return r->opts->baseline || r->opts->save_baseline || r->opts->against;
}

static void repeat(struct run *r)
{
	while (ran_well(r) && repeat__goes_on(&r->repeat)) {
		r->other = repeat__is_other(&r->repeat);
		run_again(r, false);
	}
	r->other = false;
	r->outcome.series = &r->repeat.now;
	if (!ran_well(r)) {
		if (is_compared(r) && !r->broken) /* else it was said */
			log_warn("the command did not end well: nothing is compared%s",
				 r->opts->save_baseline ? ", no baseline is written" : "");
		return;
	}
	r->broken = !repeat__finish(&r->repeat);
	if (!r->repeat.compared)
		return;
	r->outcome.comparison = &r->repeat.comparison;
	if (r->opts->against)
		r->outcome.against = &r->repeat.before;
	if (r->repeat.comparison.verdict == VERDICT_REGRESSED) {
		log_info("one more run, with thresholds of %s, to see what is slower",
			 r->opts->against ? "the other" : "the baseline");
		run_again(r, true);
	}
}

static int exit_status(const struct run *r)
{
	int status = outcome__exit_status(&r->outcome);

	return r->broken && !status ? RUN_EXIT_NOT_RECORDED : status;
}

/* Armed: the run itself, or the first of several. */
static int record(struct run *r)
{
	bool last = r->opts->last_window || (!r->outcome.n_rules && !r->repeated);

	record_run(r, r->repeated, last);
	if (r->outcome.exec_error) { /* nothing was run: nothing is left */
		folder__undo(&r->folder);
		return outcome__exit_status(&r->outcome);
	}
	if (r->repeated)
		repeat(r);
	report(r);
	return exit_status(r);
}

/* --optional: the command is what matters. */
static int run_plainly(struct run *r)
{
	struct waiter w = {
		.opts = r->opts, .child = &r->child, .outcome = &r->outcome, .signals = r->signals
	};

	snprintf(r->outcome.reason, sizeof(r->outcome.reason), "%s", r->err.msg);
	for (char *c = r->outcome.reason; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	log_warn("%s", r->err.msg);
	log_warn("not recorded: running the command without (--optional)");
	if (r->repeated)
		log_warn("run once: nothing is measured, compared or saved");
	r->repeated = false;
	start_command(r);
	wait__command(&w);
	note_end(r);
	if (r->outcome.exec_error)
		folder__undo(&r->folder);
	else
		report(r);
	return outcome__exit_status(&r->outcome);
}

static int make_and_run(struct run *r)
{
	bool plainly = r->opts->optional && r->opts->command, able;
	struct err err = { 0 };

	if (!check_ability(r, &able))
		return RUN_EXIT_NOT_RECORDED;
	if (!able && !plainly)
		return refuse(&r->err);
	if (able && r->repeated && repeat__open(r->opts, &r->rules, &err, &r->repeat))
		return refuse(&err);
	if (folder__make(r->opts->out, &r->folder, &err))
		return refuse(&err);
	snprintf(r->outcome.folder, sizeof(r->outcome.folder), "%s", r->folder.base.path);
	r->outcome.folder_fd = r->folder.base.fd;
	snprintf(r->outcome.cgroup, sizeof(r->outcome.cgroup), "%s", r->target.cgroup);
	if (app_place__make(&r->folder, &r->user, &r->app, &err) || fork_command(r, &err))
		return refuse(&err);
	if (able && !arm(r))
		return record(r);
	return plainly ? run_plainly(r) : refuse(&r->err);
}

int run__run(const struct run_opts *opts)
{
	struct run r = { .opts = opts,
			 .repeated = !repeat__is_single(opts),
			 .signals = -1,
			 .target = { .pidfd = -1, .record.cgroup_fd = -1 },
			 .child = { .go = -1, .result = -1 },
			 .app = { .dir_fd = -1 },
			 .outcome = { .opts = opts } };
	int status = check(&r);

	/* before the command, whose processes we wait for */
	if (!status && examiner__new(&r.examiner))
		r.examiner = NULL;
	status = status ?: make_and_run(&r);
	recording__free(r.recording);
	child__free(&r.child);
	app_place__free(&r.app);
	folder__undo(&r.folder);
	run_rules__free(&r.rules);
	run_target__free(&r.target);
	tracefs__free(r.tracefs);
	outcome__free(&r.outcome);
	repeat__free(&r.repeat);
	examiner__free(r.examiner);
	if (r.signals >= 0)
		close(r.signals);
	return status;
}
