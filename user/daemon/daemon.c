// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <syslog.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/rights.h"
#include "daemon/confine.h"
#include "daemon/daemon_core.h"
#include "daemon/location.h"
#include "dump/base/manifest.h"
#include "dump/base/recovery.h"
#include "rules/units.h"

#define ARENAS_MAX 4 /* of malloc() */

/* ---- incidents ---- */

static void log_incident(const struct daemon *d, const struct incident *inc)
{
	const struct frbpf_trigger *t = &inc->triggers[0].t;
	const struct rule_conf *rule = inc->triggers[0].rule;
	bool subject = when__has_subject(t->source);
	const struct frbpf_task *who = subject ? &t->subject : &t->current;
	char value[32], comm[FRBPF_COMM_LEN + 1], reason[INCIDENT_REASON_MAX];

	snprintf(comm, sizeof(comm), "%.*s", FRBPF_COMM_LEN, who->comm);
	snprintf(reason, sizeof(reason), "%s", inc->reason);
	if (rule && !who->tid && !comm[0])
		log_info("incident %s: rule %s: %s: %s", inc->name, rule->name, rule->when_text,
			 units__format_duration(t->value, value, sizeof(value)));
	else if (rule)
		log_info("incident %s: rule %s: %s: %s %s %s (pid %u, tid %u)", inc->name,
			 rule->name, rule->when_text,
			 units__format_duration(t->value, value, sizeof(value)),
			 subject ? "by" : "while there ran", make_printable(comm), who->pid,
			 who->tid);
	else
		log_info("incident %s: dumped by hand: %s", inc->name, make_printable(reason));
	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		if (inc->results[i].session && inc->results[i].error)
			log_error("incident %s: session '%s' has no file: %s", inc->name,
				  inc->results[i].session->name, inc->results[i].error_text);
	}
}

/* The limits of disk space in the rules in force. */
static struct retention_limits retention_limits(const struct daemon *d)
{
	const struct active_set *g = recorder__active_set(d->bring_up.recorder);
	const struct daemon_conf *conf = &g->rules->daemon;
	struct retention_limits limits;

	memset(&limits, 0, sizeof(limits)); /* also the padding: memcmp() compares it */
	limits.max_size = conf->max_size;
	limits.max_incidents = conf->max_incidents;
	limits.max_age = conf->max_age;
	timed_dumps__limits(g, &limits);
	return limits;
}

static void notify_retainer(struct daemon *d)
{
	d->retained = retention_limits(d);
	retainer__notify(d->retainer, &d->retained);
}

/* Pass changed limits to the retainer, after a reload and at the start. */
static void follow_limits(struct daemon *d)
{
	const struct retention_limits now = retention_limits(d);

	if (!d->looked || memcmp(&now, &d->retained, sizeof(now)) != 0)
		notify_retainer(d);
	d->looked = true;
}

static void log_caps(struct daemon *d)
{
	struct dump_cap cap;
	char window[32], wait[32];

	while (recorder__next_cap(d->bring_up.recorder, &cap)) {
		uint64_t now = now_ns(), left = cap.until > now ? cap.until - now : 0;

		log_warn("%s%s: max-dumps = %u in %s is reached: for %s, matches are only counted",
			 cap.rule ? "rule " : "[daemon]", cap.rule ? cap.rule->name : "", cap.max.n,
			 units__format_duration(cap.max.time, window, sizeof(window)),
			 units__format_duration(left, wait, sizeof(wait)));
	}
}

/*
 * Save the state before the files of a new incident are written. So a dump that kills us is not
 * repeated at once after a restart.
 */
static void on_triggers(void *arg)
{
	struct daemon *d = arg;

	state_keeper__save(d->keeper, d->bring_up.recorder, d->bring_up.detectors);
	log_caps(d);
}

/* Have @inc explained, now that its files are complete. */
static void ask_explainer(struct daemon *d, const struct incident *inc)
{
	const struct incident_trigger *t = &inc->triggers[0];
	int err;

	if (!d->opts->explainer || !t->rule || !t->t.subject.tid)
		return;
	err = explainer__ask(d->opts->explainer, d->base.path, inc->name);
	if (err)
		log_warn("incident %s: cannot explain it: %s", inc->name, strerror(-err));
}

static void on_explained(const char *name, enum explainer_part part, json_t *value, void *arg)
{
	struct daemon *d = arg;
	struct err err = { 0 };
	int code = part == EXPLAINER_WHY
			   ? manifest__set_why(&d->base, name, value, &err)
			   : manifest__set_kernel_symbols(&d->base, name, value, &err);

	if (code && code != -ENOENT)
		log_warn("incident %s: cannot add %s to its manifest: %s", name,
			 part == EXPLAINER_WHY ? "the verdict" : "the kernel's symbols", err.msg);
	if (!code && part == EXPLAINER_WHY && d->culprit_reader)
		culprit_reader__submit(d->culprit_reader, name, value);
}

static void process_explainer(struct daemon *d)
{
	explainer__process(d->opts->explainer, on_explained, d);
	bring_up__own_explainer(&d->bring_up, explainer__pids(d->opts->explainer));
}

static bool on_daemon_incident(struct incident *inc, bool first, void *arg)
{
	struct daemon *d = arg;
	int code;

	bring_up__name_incident(&d->bring_up, inc);
	code = bring_up__save_incident(&d->bring_up, inc);
	notify_retainer(d);
	if (first) {
		log_incident(d, inc);
		session_events__report_dump(d, inc);
		requests__answer_dump(d, inc);
	}
	if (first && !code)
		ask_explainer(d, inc);
	return code == 0;
}

/* ---- signals ---- */

static void on_daemon_signal(struct daemon *d)
{
	uint64_t all = active_set__all_sessions(recorder__active_set(d->bring_up.recorder));
	struct signalfd_siginfo si;

	if (read(d->signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP)
		rulebook__load_again(d->rulebook);
	else if (si.ssi_signo != SIGUSR2)
		requests__note_stop(d, si.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM", si.ssi_pid,
				    si.ssi_uid);
	else if (all && recorder__dump(d->bring_up.recorder, all, "SIGUSR2") < 0)
		log_warn("SIGUSR2: too many dumps are in progress: this one is skipped");
}

static int open_daemon_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* ---- the base ---- */

/*
 * Watch for the removal of the base, its lock or its socket. Without them, commands cannot reach
 * us, and a second daemon may start. Call it once these files exist. Returns a descriptor, owned by
 * the caller, or negative errno.
 */
static int open_base_watch(const char *base)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), code;

	if (fd >= 0 && inotify_add_watch(fd, base,
					 IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF |
						 IN_ONLYDIR | IN_DONT_FOLLOW) < 0) {
		code = -errno;
		close(fd);
		return code;
	}
	return fd < 0 ? -errno : fd;
}

static bool base_is_lost(const struct inotify_event *e)
{
	if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
		return true;
	return e->len && (strcmp(e->name, "lock") == 0 || strcmp(e->name, "control") == 0);
}

/* Is the base, its lock or its socket gone? Then its path is in @ret. */
static bool base_watch_lost(int fd, const char *base, char *ret, size_t size)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	bool lost = false;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (const char *p = buf; p < buf + n; p += sizeof(*e) + e->len) {
			e = (const void *)p;
			if (lost || !base_is_lost(e))
				continue;
			lost = true;
			snprintf(ret, size, "%s%s%s", base, e->len ? "/" : "",
				 e->len ? e->name : "");
		}
	}
	return lost;
}

/* Report a removal to the system's log, too, since our own log may have been in the base. */
static void on_base_event(struct daemon *d)
{
	char gone[PATH_MAX + 16];

	if (d->stop || !base_watch_lost(d->base_watch, d->base.path, gone, sizeof(gone)))
		return;
	log_error("%s was removed: recording ends, since no command can reach the daemon", gone);
	syslog(LOG_DAEMON | LOG_ERR, "frbpf: %s was removed: recording ends", gone);
	snprintf(d->stopped_by, sizeof(d->stopped_by), "because its base was removed");
	d->stop = true;
}

/* ---- life ---- */

static int start_recording(struct daemon *d, const struct ruleset *rs, struct err *err)
{
	char app_path[PATH_MAX + 8];
	struct bring_up_opts up = {
		.base = &d->base,
		.tracefs = d->tracefs,
		.examiner = d->opts->examiner,
		.program = d->opts->program,
		.app_path = app_path,
		.app_dir_fd = d->base.fd,
	};
	struct rulebook_opts rules = {
		.tracefs = d->tracefs,
		.dump = &d->bring_up.dump_env,
		.path = d->opts->rules_path,
		.proxies = d->proxies,
		.perf_habits = d->opts->perf_habits,
	};
	int code;

	snprintf(app_path, sizeof(app_path), "%s/app", d->base.path);
	code = bring_up__open(&up, &rs->daemon, err, &d->bring_up);
	code = code ?: state_keeper__new(&d->base, d->bring_up.detectors, err, &d->keeper);
	code = code ?: retainer__start(&d->base, d->bring_up.recorder, err, &d->retainer);
	if (!code && d->opts->explainer && d->opts->examiner)
		code = culprit_reader__start(d->opts->examiner, &d->base, err, &d->culprit_reader);
	if (code)
		return code;
	recorder__on_triggers(d->bring_up.recorder, on_triggers, d);
	rules.recorder = d->bring_up.recorder;
	return rulebook__new(&rules, err, &d->rulebook);
}

static int watch_daemon_fd(struct daemon *d, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int open_loop(struct daemon *d, struct err *err)
{
	char path[PATH_MAX + 16];
	int code;

	snprintf(path, sizeof(path), "%s/control", d->base.path);
	code = control__listen(path, requests__serve, d, err, &d->control);
	if (code)
		return code;
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0)
		code = -errno;
	code = code ?: watch_daemon_fd(d, d->signals);
	code = code ?: watch_daemon_fd(d, control__fd(d->control));
	code = code ?: watch_daemon_fd(d, recorder__fd(d->bring_up.recorder));
	code = code ?: watch_daemon_fd(d, rulebook__fd(d->rulebook));
	code = code ?: watch_daemon_fd(d, rulebook__targets_fd(d->rulebook));
	code = code ?: watch_daemon_fd(d, proxies__fd(d->proxies));
	code = code ?: watch_daemon_fd(d, detectors__keys_fd(d->bring_up.detectors));
	code = code ?: watch_daemon_fd(d, bring_up__cpus_fd(&d->bring_up));
	if (!code && d->opts->explainer)
		code = watch_daemon_fd(d, explainer__fd(d->opts->explainer));
	if (!code)
		d->base_watch = open_base_watch(d->base.path);
	code = code ?: d->base_watch < 0 ? d->base_watch : watch_daemon_fd(d, d->base_watch);
	return code ? err_set(err, code, "epoll: %s", strerror(-code)) : 0;
}

/* Log if another recorder has the well-known socket of applications. */
static void log_app_socket(const struct daemon *d)
{
	struct app_stats st;

	detectors__app_stats(d->bring_up.detectors, &st);
	if (st.path && !st.common)
		log_info("application messages are received at %s; %s is not ours", st.path,
			 LOCATION_APP);
}

/* Finish what an earlier recorder left, if it was killed. */
static void recover_base(struct daemon *d)
{
	struct recovery_report done;
	int err = recovery__run(&d->base, &done);

	if (err)
		log_warn("%s: cannot check what an earlier recorder left: %s", d->base.path,
			 strerror(-err));
	if (done.finished + done.adopted)
		log_warn("finished %zu incidents that a killed recorder left without a manifest, "
			 "%zu of them from their files alone",
			 done.finished + done.adopted, done.adopted);
	if (done.removed)
		log_info("removed the remains of %zu incidents that were cut off", done.removed);
	if (done.failed)
		log_error("%zu incidents without a manifest could not be finished or removed",
			  done.failed);
}

/* If the kernel has no seccomp filters, record without. */
static int confine_calls(struct err *err)
{
	int code = confine__calls();

	if (code == -ENOSYS) {
		log_warn("this kernel has no seccomp filters (CONFIG_SECCOMP_FILTER): the recorder "
			 "may make "
			 "any system call");
		return 0;
	}
	return code ? err_set(err, code, "cannot limit the recorder's system calls: %s",
			      strerror(-code))
		    : 0;
}

static int confine_files(const struct base_dir *base, struct err *err)
{
	int code = confine__set_base(base->fd);

	return code ? err_set(err, code, "%s: cannot limit writing to it (Landlock): %s",
			      base->path, strerror(-code))
		    : 0;
}

static int bring_up(struct daemon *d, struct ruleset *rs, struct plan *plan, struct err *err)
{
	int code;

	/*
	 * few arenas, since each stays as large as it once was; but enough that real-time threads
	 * find one that no other thread uses
	 */
	mallopt(M_ARENA_MAX, ARENAS_MAX);
	heap__begin_load();
	code = proxies__new(err, &d->proxies);
	code = code ?: rights__keep_recorder(); /* before threads: each has its own */
	if (code && !err->msg[0])
		err_set(err, code, "cannot drop the privileges that are not needed: %s",
			strerror(-code));
	if (!code && !rs->daemon.no_seccomp)
		code = confine_calls(err);
	d->signals = open_daemon_signals();
	if (!code && d->signals < 0)
		code = err_set(err, -errno, "signalfd: %s", strerror(errno));
	code = code ?: base_dir__open(&d->base, d->opts->base, err);
	if (!code)
		recover_base(d);
	code = code ?: confine_files(&d->base, err);
	code = code ?: start_recording(d, rs, err);
	if (code) {
		ruleset__free(rs);
		return code;
	}
	code = rulebook__begin(d->rulebook, rs, plan, state_keeper__past(d->keeper), err);
	code = code ?: open_loop(d, err);
	if (code)
		return code;
	location__announce(d->base.path);
	if (location__is_noted(d->base.path))
		detectors__set_app_common(d->bring_up.detectors, LOCATION_APP);
	rulebook__follow(d->rulebook);
	return 0;
}

/* Convert to ms for epoll_wait(): at most a day, since the argument is an int. */
static int timeout_ms(uint64_t ns)
{
	const int day = 24 * 3600 * 1000;

	if (ns == UINT64_MAX)
		return -1;
	return ns / NSEC_PER_MSEC < (uint64_t)day ? (int)(ns / NSEC_PER_MSEC) + 1 : day;
}

static void serve_events(struct daemon *d)
{
	struct epoll_event ev[8];
	uint64_t wait, step;

	while (!d->stop) {
		wait = recorder__collect(d->bring_up.recorder, on_daemon_incident, d);
		session_events__end_full(d);
		step = state_keeper__step(d->keeper, d->bring_up.recorder, d->bring_up.detectors);
		wait = step < wait ? step : wait;
		step = rulebook__step(d->rulebook);
		follow_limits(d);
		wait = step < wait ? step : wait;
		followed_log__step(d->bring_up.followed);
		step = suppressed_log__step(d->bring_up.suppressed);
		wait = step < wait ? step : wait;
		step = timed_dumps__step(d->bring_up.recorder);
		wait = step < wait ? step : wait;
		step = detectors__step_keys(d->bring_up.detectors);
		wait = step < wait ? step : wait;
		int n = epoll_wait(d->epoll, ev, ARRAY_SIZE(ev), timeout_ms(wait));

		for (int i = 0; i < n; i++) {
			if (ev[i].data.fd == d->signals)
				on_daemon_signal(d);
			else if (ev[i].data.fd == control__fd(d->control))
				control__process(d->control);
			else if (ev[i].data.fd == rulebook__fd(d->rulebook))
				rulebook__on_change(d->rulebook);
			else if (ev[i].data.fd == rulebook__targets_fd(d->rulebook))
				rulebook__on_target_end(d->rulebook);
			else if (ev[i].data.fd == bring_up__cpus_fd(&d->bring_up))
				bring_up__follow_cpus(&d->bring_up);
			else if (ev[i].data.fd == proxies__fd(d->proxies))
				session_events__process(d);
			else if (d->opts->explainer &&
				 ev[i].data.fd == explainer__fd(d->opts->explainer))
				process_explainer(d);
			else if (ev[i].data.fd == d->base_watch)
				on_base_event(d);
		}
	}
	session_events__dump_last(d);
	/* first stop all rules, then write what has fired */
	detectors__update(d->bring_up.detectors, NULL, 0, NULL, NULL);
	recorder__sync(d->bring_up.recorder);
	recorder__drain(d->bring_up.recorder, on_daemon_incident, d);
	followed_log__step(d->bring_up.followed);
	suppressed_log__finish(d->bring_up.suppressed);
	state_keeper__save(d->keeper, d->bring_up.recorder, d->bring_up.detectors);
}

static void tear_down(struct daemon *d, bool undo)
{
	if (d->control)
		location__withdraw(d->base.path);
	rulebook__free(d->rulebook);
	retainer__free(d->retainer);
	bring_up__free(&d->bring_up);
	/* does not block: bring_up__free() has cancelled what this thread asked of the examiner */
	culprit_reader__free(d->culprit_reader);
	proxies__free(d->proxies); /* the sessions have released them just now */
	state_keeper__free(d->keeper);
	requests__answer_stops(d);
	control__free(d->control);
	base_dir__close(&d->base, undo);
	if (d->epoll >= 0)
		close(d->epoll);
	if (d->signals >= 0)
		close(d->signals);
	if (d->base_watch >= 0)
		close(d->base_watch);
}

int daemon__run(const struct daemon_opts *opts, struct ruleset *rs, struct plan *plan,
		struct tracefs *tracefs, void (*ready)(const char *error, void *arg), void *arg)
{
	struct daemon d = { .opts = opts,
			    .tracefs = tracefs,
			    .epoll = -1,
			    .signals = -1,
			    .base_watch = -1,
			    .base = { .fd = -1, .lock_fd = -1, .incidents_fd = -1 } };
	struct err err = { 0 };
	int code;

	d.started = now_ns();
	code = bring_up(&d, rs, plan, &err);
	plan__free(plan);
	if (code) {
		tear_down(&d, true);
		ready(err.msg[0] ? err.msg : strerror(-code), arg);
		return 1;
	}
	ready(NULL, arg);
	log_info("recording: %zu sessions, %zu rules, base %s",
		 recorder__active_set(d.bring_up.recorder)->n_dumpers,
		 recorder__active_set(d.bring_up.recorder)->rules->n_rules, d.base.path);
	log_app_socket(&d);
	serve_events(&d);
	log_info("stopped %s", d.stopped_by);
	tear_down(&d, false);
	return 0;
}
