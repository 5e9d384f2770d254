// SPDX-License-Identifier: GPL-2.0-only
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json_text.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/rights.h"
#include "daemon/base_watch.h"
#include "daemon/control.h"
#include "daemon/cpu_follow.h"
#include "daemon/daemon.h"
#include "daemon/held_log.h"
#include "daemon/state_keeper.h"
#include "daemon/location.h"
#include "daemon/recorder.h"
#include "daemon/retainer.h"
#include "daemon/rulebook.h"
#include "daemon/status.h"
#include "dump/base/manifest.h"
#include "dump/base/recovery.h"
#include "dump/tracing_parts.h"
#include "rules/rules_files.h"
#include "rules/units.h"

#define RT_PRIORITY_TRIGGER  50
#define RT_PRIORITY_SIDEBAND (RT_PRIORITY_TRIGGER - 1)
#define TRIGGER_ON_ITS_WAY   (2 * NSEC_PER_SEC) /* from the kernel to the trigger thread, at most */
#define ARENAS_MAX	     4			/* of malloc() */
#define DUMPS_WAITING_MAX    16

/* A client that waits for its dump. */
struct waiting_dump {
	struct control_client *client; /* NULL: free */
	uint64_t incident;
};

struct daemon {
	const struct daemon_opts *opts;
	struct base_dir base;
	struct host_info *host;
	struct perfdata_tracing tracing;
	struct tracefs *tracefs; /* borrowed; NULL: there is none */
	struct sideband *sideband;
	struct horizon *horizon;
	struct cpu_follow *cpus;
	struct detectors *detectors;
	struct recorder *recorder;
	struct control *control;
	struct rulebook *rulebook;
	struct state_keeper *keeper;
	struct held_log *held;
	struct retainer *retainer;
	struct retention_limits retained; /* what the retainer has */
	bool looked;
	struct dump_env dump_env;
	struct waiting_dump waiting[DUMPS_WAITING_MAX];
	struct control_client *stopping[CONTROL_CLIENTS_MAX]; /* who asked for it, answered last */
	size_t n_stopping;
	uint64_t started;
	int epoll, signals, base_watch;
	bool stop, ended;
	char stopped_by[96]; /* for the log */
};

/* ---- incidents ---- */

static void answer_dump(struct daemon *d, struct waiting_dump *w, const struct incident *inc)
{
	json_t *files = json_array(), *errors = json_array();
	char path[PATH_MAX + 256];

	for (size_t i = 0; i < INCIDENT_SESSIONS_MAX; i++) {
		const struct dump_result *res = &inc->results[i];

		if (!res->session)
			continue;
		snprintf(path, sizeof(path), "%s/session-%s/%s", d->base.path, res->session->name,
			 res->error ? "" : res->file);
		if (res->error)
			json_array_append_new(errors,
					      json_sprintf("session '%s': %s", res->session->name,
							   res->error_text));
		else
			json_array_append_new(files, json_text(path, SIZE_MAX));
	}
	control_client__reply(w->client, json_pack("{s:b, s:s, s:o, s:o}", "ok", 1, "incident",
						   inc->name, "files", files, "errors", errors));
	w->client = NULL;
}

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

/* What may stay on disk, as the rules in force say it. */
static struct retention_limits retention_limits(const struct daemon *d)
{
	const struct daemon_conf *conf = &recorder__generation(d->recorder)->rules->daemon;

	return (struct retention_limits){ conf->max_size, conf->max_incidents, conf->max_age };
}

static void poke_retainer(struct daemon *d)
{
	d->retained = retention_limits(d);
	retainer__poke(d->retainer, &d->retained);
}

/* After a reload; the first look is at the start. */
static void follow_limits(struct daemon *d)
{
	const struct retention_limits now = retention_limits(d);

	if (!d->looked || memcmp(&now, &d->retained, sizeof(now)) != 0)
		poke_retainer(d);
	d->looked = true;
}

static void log_caps(struct daemon *d)
{
	struct dump_cap cap;
	char window[32], wait[32];

	while (recorder__next_cap(d->recorder, &cap)) {
		uint64_t now = now_ns(), left = cap.until > now ? cap.until - now : 0;

		log_warn("%s%s: max-dumps = %u in %s is reached: for %s what matches is only "
			 "counted",
			 cap.rule ? "rule " : "[daemon]", cap.rule ? cap.rule->name : "", cap.max.n,
			 units__format_duration(cap.max.window, window, sizeof(window)),
			 units__format_duration(left, wait, sizeof(wait)));
	}
}

/* Before the files of what began are written: a dump that kills us must not come again at once. */
static void on_triggers(void *arg)
{
	struct daemon *d = arg;

	state_keeper__save(d->keeper, d->recorder, d->detectors);
	log_caps(d);
}

static bool on_incident(struct incident *inc, bool first, void *arg)
{
	struct daemon *d = arg;
	struct err err = { 0 };
	int code;

	if (!inc->name[0]) { /* every session failed before it had a name */
		char name[INCIDENT_NAME_SIZE];

		base_dir__reserve_name(&d->base, inc->freeze.frozen + inc->realtime_offset, name);
		recorder__set_name(d->recorder, inc, name);
	}
	code = manifest__write(&d->base, inc, host_info__hostname(d->host), &err);
	if (code)
		log_error("%s", err.msg);
	held_log__incident(d->held, inc);
	detectors__tidy(d->detectors);
	poke_retainer(d);
	if (first)
		log_incident(d, inc);
	for (size_t i = 0; first && i < DUMPS_WAITING_MAX; i++) {
		if (d->waiting[i].client && d->waiting[i].incident == inc->number)
			answer_dump(d, &d->waiting[i], inc);
	}
	return code == 0;
}

/* ---- requests ---- */

static void serve_status(struct daemon *d, struct control_client *c, const json_t *request)
{
	struct status_sources s = {
		.base = d->base.path,
		.rules_path = rulebook__path(d->rulebook),
		.started = d->started,
		.recorder = d->recorder,
		.detectors = d->detectors,
		.sideband = d->sideband,
		.overlay = rulebook__overlay(d->rulebook),
		.retainer = d->retainer,
		.examiner = d->opts->examiner,
	};

	control_client__reply(c, status__make(&s, json_is_true(json_object_get(request, "held"))));
}

static void serve_ping(struct daemon *d, struct control_client *c, const json_t *request)
{
	control_client__reply(c, json_pack("{s:b, s:i}", "ok", 1, "pid", (int)getpid()));
}

static void serve_load(struct daemon *d, struct control_client *c, const json_t *request)
{
	const char *path = json_string_value(json_object_get(request, "path"));
	struct buf text = { 0 };
	int code;

	if (!path || path[0] != '/' || strlen(path) >= RULES_FILES_LIST_MAX) {
		control_client__refuse(c, "load: no absolute path in the request");
		return;
	}
	code = rulebook__load(d->rulebook, path, &text);
	if (code)
		control_client__reply(
			c, json_pack("{s:b, s:o}", "ok", 0, "error",
				     json_text(text.len ? text.data : strerror(-code), SIZE_MAX)));
	else
		control_client__reply(c, json_pack("{s:b, s:i, s:o}", "ok", 1, "pid", (int)getpid(),
						   "warnings",
						   json_text(text.len ? text.data : "", SIZE_MAX)));
	buf__free(&text);
}

static void serve_dump(struct daemon *d, struct control_client *c, const json_t *request)
{
	const struct generation *g = recorder__generation(d->recorder);
	const char *session = json_string_value(json_object_get(request, "session"));
	const char *reason = json_string_value(json_object_get(request, "reason"));
	uint64_t mask = generation__all_sessions(g);
	struct waiting_dump *w = NULL;
	int64_t number;
	int i;

	if (session) {
		i = generation__find_session(g, session);
		if (i < 0) {
			control_client__refuse(c, "no session '%s' here: `frbpf status` lists them",
					       session);
			return;
		}
		mask = 1ULL << i;
	}
	for (i = 0; i < DUMPS_WAITING_MAX && !w; i++) {
		if (!d->waiting[i].client)
			w = &d->waiting[i];
	}
	number = w ? recorder__dump(d->recorder, mask, reason ? reason : "frbpf dump") : -EBUSY;
	if (number < 0) {
		control_client__refuse(
			c, "too many dumps are under way: try again when they are written");
		return;
	}
	*w = (struct waiting_dump){ .client = c, .incident = number };
}

static uint64_t end_of(const json_t *request)
{
	json_int_t ns = json_integer_value(json_object_get(request, "for_ns"));

	return ns > 0 ? now_ns() + ns : OVERLAY_FOREVER;
}

static void answer(struct control_client *c, int code, const struct err *err)
{
	if (code)
		control_client__refuse(c, "%s", err->msg);
	else
		control_client__reply(c, json_pack("{s:b}", "ok", 1));
}

static void serve_mute(struct daemon *d, struct control_client *c, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "rule")) ?: "";
	bool off = json_is_true(json_object_get(request, "off"));
	struct err err = { 0 };

	answer(c, rulebook__mute(d->rulebook, name, off ? 0 : end_of(request), &err), &err);
}

static void serve_arm(struct daemon *d, struct control_client *c, const json_t *request)
{
	const char *when = json_string_value(json_object_get(request, "when")) ?: "";
	const char *condition = json_string_value(json_object_get(request, "if"));
	const char *off = json_string_value(json_object_get(request, "off"));
	char name[RULESET_NAME_MAX + 1];
	struct err err = { 0 };

	if (off)
		answer(c, rulebook__disarm(d->rulebook, off, &err), &err);
	else if (rulebook__arm(d->rulebook, when, condition, end_of(request), name, &err))
		control_client__refuse(c, "%s", err.msg);
	else
		control_client__reply(c, json_pack("{s:b, s:s}", "ok", 1, "rule", name));
}

/* @pid 0: of another pid namespace, or the kernel. */
static void note_stop(struct daemon *d, const char *what, int pid, unsigned int uid)
{
	struct buf comm = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (pid && buf__read_file(&comm, path, 64) == 0 && comm.len)
		comm.data[strcspn(comm.data, "\n")] = '\0';
	snprintf(d->stopped_by, sizeof(d->stopped_by), "by %s from %s (pid %d, uid %u)", what,
		 comm.len ? make_printable(comm.data) : "a process that has ended", pid, uid);
	buf__free(&comm);
	d->stop = true;
}

static void serve_stop(struct daemon *d, struct control_client *c, const json_t *request)
{
	struct ucred peer = { .uid = (uid_t)-1 };

	d->stopping[d->n_stopping++] = c;
	if (d->stop)
		return;
	control_client__peer(c, &peer);
	note_stop(d, "a request", peer.pid, peer.uid);
}

static const struct {
	const char *name;
	void (*serve)(struct daemon *d, struct control_client *c, const json_t *request);
} requests[] = {
	{ "status", serve_status }, { "ping", serve_ping }, { "load", serve_load },
	{ "mute", serve_mute },	    { "arm", serve_arm },   { "dump", serve_dump },
	{ "stop", serve_stop },
};

static void on_request(struct control_client *c, const json_t *request, void *arg)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	struct daemon *d = arg;

	if (d->ended) { /* nothing is left that could be asked */
		if (cmd && strcmp(cmd, "stop") == 0)
			serve_stop(d, c, request);
		else
			control_client__refuse(c, "the daemon is ending");
		return;
	}
	for (size_t i = 0; cmd && i < ARRAY_SIZE(requests); i++) {
		if (strcmp(requests[i].name, cmd) == 0) {
			requests[i].serve(d, c, request);
			return;
		}
	}
	control_client__refuse(c, "this daemon does not know the request '%s'", cmd ? cmd : "");
}

/* ---- signals ---- */

static void on_signal(struct daemon *d)
{
	struct signalfd_siginfo si;

	if (read(d->signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP)
		rulebook__load_again(d->rulebook);
	else if (si.ssi_signo != SIGUSR2)
		note_stop(d, si.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM", si.ssi_pid, si.ssi_uid);
	else if (recorder__dump(d->recorder,
				generation__all_sessions(recorder__generation(d->recorder)),
				"SIGUSR2") < 0)
		log_warn("SIGUSR2: too many dumps are under way, this one is not made");
}

static int open_signals(void)
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

/* ---- life ---- */

/* From when on dumps may still ask for names; 0: nobody can tell. In the side band's thread. */
static uint64_t names_needed_from(void *arg)
{
	struct daemon *d = arg;
	/* first the rings, then the incidents: what is frozen after that shows nothing older */
	uint64_t from = horizon__measure(d->horizon), back, now = now_ns();
	struct recorder_stats stats;

	recorder__stats(d->recorder, &stats);
	if (stats.writing)
		return 0;
	back = recorder__longest_pre(d->recorder) + TRIGGER_ON_ITS_WAY;
	if (now < back)
		return 0;
	return from < now - back ? from : now - back;
}

static void own_helpers(const pid_t *pids, size_t n, void *arg)
{
	detectors__own_helpers(arg, pids, n);
}

static int start_recording(struct daemon *d, const struct ruleset *rs, struct err *err)
{
	struct sideband_opts sideband = {
		.memory = rs->daemon.sideband_memory,
		.all = rs->daemon.sideband_all,
		.rt_priority = RT_PRIORITY_SIDEBAND,
		.examiner = d->opts->examiner,
	};
	struct recorder_opts recorder = { .rt_priority = RT_PRIORITY_TRIGGER };
	char app_path[PATH_MAX + 8];
	struct rulebook_opts rules = {
		.tracefs = d->tracefs,
		.dump = &d->dump_env,
		.path = d->opts->rules_path,
	};
	int code;

	code = host_info__collect(err, &d->host);
	if (!code && d->tracefs)
		code = tracing_parts__read(d->tracefs, &d->tracing, err);
	code = code ?: cpu_follow__open(err, &d->cpus);
	code = code ?: sideband__open(&sideband, err, &d->sideband);
	if (!code)
		cpu_follow__begin(d->cpus, d->sideband);
	code = code ?: sideband__scan(d->sideband, err);
	code = code ?: sideband__start(d->sideband, err);
	code = code ?: detectors__open(err, &d->detectors);
	if (!code && horizon__new(&d->horizon))
		code = err_set(err, -ENOMEM, "out of memory");
	if (code)
		return code;
	code = state_keeper__new(&d->base, d->detectors, err, &d->keeper);
	if (code)
		return code;
	snprintf(app_path, sizeof(app_path), "%s/app", d->base.path);
	detectors__set_app_path(d->detectors, app_path, d->base.fd);
	recorder.detectors = d->detectors;
	recorder.examiner = d->opts->examiner;
	if (recorder.examiner)
		examiner__follow(recorder.examiner, own_helpers, d->detectors);
	code = recorder__new(&recorder, err, &d->recorder);
	if (code)
		return code;
	d->held = held_log__new(&d->base, d->recorder, d->detectors);
	if (!d->held)
		return err_set(err, -ENOMEM, "out of memory");
	code = retainer__start(&d->base, d->recorder, err, &d->retainer);
	if (code)
		return code;
	d->dump_env = (struct dump_env){
		.base = &d->base,
		.sideband = d->sideband,
		.host = d->host,
		.tracing = &d->tracing,
		.program = d->opts->program,
		.horizon = d->horizon,
		.before_write = recorder__wait_saved,
		.before_write_arg = d->recorder,
	};
	recorder__on_triggers(d->recorder, on_triggers, d);
	sideband__follow(d->sideband, names_needed_from, d);
	rules.recorder = d->recorder;
	return rulebook__new(&rules, err, &d->rulebook);
}

static int watch_fd(struct daemon *d, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static int open_loop(struct daemon *d, struct err *err)
{
	char path[PATH_MAX + 16];
	int code;

	snprintf(path, sizeof(path), "%s/control", d->base.path);
	code = control__listen(path, on_request, d, err, &d->control);
	if (code)
		return code;
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (d->epoll < 0)
		code = -errno;
	code = code ?: watch_fd(d, d->signals);
	code = code ?: watch_fd(d, control__fd(d->control));
	code = code ?: watch_fd(d, recorder__fd(d->recorder));
	code = code ?: watch_fd(d, rulebook__fd(d->rulebook));
	code = code ?: watch_fd(d, detectors__keys_fd(d->detectors));
	code = code ?: watch_fd(d, cpu_follow__fd(d->cpus));
	if (!code)
		code = d->base_watch = base_watch__open(d->base.path);
	code = code < 0 ? code : watch_fd(d, d->base_watch);
	return code ? err_set(err, code, "epoll: %s", strerror(-code)) : 0;
}

/* Sessions open an fd per event and CPU. */
static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/* Another recorder has the socket that every application knows. */
static void say_app_socket(const struct daemon *d)
{
	struct app_stats st;

	detectors__app_stats(d->detectors, &st);
	if (st.path && !st.common)
		log_info("messages of applications are taken at %s; %s is not ours", st.path,
			 LOCATION_APP);
}

/* What the recorder before has left, where it was killed. */
static void recover(struct daemon *d)
{
	struct recovery_report done;
	int code = recovery__run(&d->base, &done);

	if (code)
		log_warn("%s: what an earlier recorder left is not looked at: %s", d->base.path,
			 strerror(-code));
	if (done.finished + done.adopted)
		log_warn("%zu incidents that a killed recorder left without a manifest were "
			 "finished, %zu of them from their files alone",
			 done.finished + done.adopted, done.adopted);
	if (done.removed)
		log_info("the rest of %zu incidents that were cut off is removed", done.removed);
	if (done.failed)
		log_error("%zu incidents without a manifest could not be finished or removed",
			  done.failed);
}

static int bring_up(struct daemon *d, struct ruleset *rs, struct plan *plan, struct err *err)
{
	int code;

	/* each thread would keep what it ever had; the real-time ones must still find one free */
	mallopt(M_ARENA_MAX, ARENAS_MAX);
	raise_fd_limit();
	code = rights__keep_recorder(); /* now: each thread has capabilities of its own */
	if (code)
		err_set(err, code, "cannot give up the privileges that are not needed: %s",
			strerror(-code));
	d->signals = open_signals();
	if (!code && d->signals < 0)
		code = err_set(err, -errno, "signalfd: %s", strerror(errno));
	code = code ?: base_dir__open(&d->base, d->opts->base, err);
	if (!code)
		recover(d);
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
		detectors__set_app_common(d->detectors, LOCATION_APP);
	rulebook__follow(d->rulebook);
	return 0;
}

/* For epoll_wait(), which takes an int: the loop may well wake up once a day. */
static int timeout_ms(uint64_t ns)
{
	const int day = 24 * 3600 * 1000;

	if (ns == UINT64_MAX)
		return -1;
	return ns / NSEC_PER_MSEC < (uint64_t)day ? (int)(ns / NSEC_PER_MSEC) + 1 : day;
}

/* Nobody can reach us any more, nor read what we log. */
static void on_base_event(struct daemon *d)
{
	char gone[PATH_MAX + 16];

	if (d->stop || !base_watch__lost(d->base_watch, d->base.path, gone, sizeof(gone)))
		return;
	log_error("%s was removed: recording ends, as no command can reach it", gone);
	base_watch__tell(gone);
	snprintf(d->stopped_by, sizeof(d->stopped_by), "as its base was removed");
	d->stop = true;
}

static void follow_cpus(struct daemon *d)
{
	if (!cpu_follow__process(d->cpus, d->sideband, d->horizon, d->detectors))
		return;
	rulebook__renew(d->rulebook);
	cpu_follow__log(d->cpus);
}

static void serve(struct daemon *d)
{
	struct epoll_event ev[8];
	uint64_t wait, step;

	while (!d->stop) {
		wait = recorder__collect(d->recorder, on_incident, d);
		step = state_keeper__step(d->keeper, d->recorder, d->detectors);
		wait = step < wait ? step : wait;
		step = rulebook__step(d->rulebook);
		follow_limits(d);
		wait = step < wait ? step : wait;
		step = held_log__step(d->held);
		wait = step < wait ? step : wait;
		step = detectors__step_keys(d->detectors);
		wait = step < wait ? step : wait;
		int n = epoll_wait(d->epoll, ev, ARRAY_SIZE(ev), timeout_ms(wait));

		for (int i = 0; i < n; i++) {
			if (ev[i].data.fd == d->signals)
				on_signal(d);
			else if (ev[i].data.fd == control__fd(d->control))
				control__process(d->control);
			else if (ev[i].data.fd == rulebook__fd(d->rulebook))
				rulebook__on_change(d->rulebook);
			else if (ev[i].data.fd == cpu_follow__fd(d->cpus))
				follow_cpus(d);
			else if (ev[i].data.fd == d->base_watch)
				on_base_event(d);
		}
	}
	/* first nothing fires any more, then what has fired is written */
	detectors__update(d->detectors, NULL, 0, NULL, NULL);
	recorder__sync(d->recorder);
	recorder__drain(d->recorder, on_incident, d);
	held_log__finish(d->held);
	state_keeper__save(d->keeper, d->recorder, d->detectors);
}

/* Also those who asked while what was under way was written. */
static void answer_stops(struct daemon *d)
{
	struct pollfd pfd = { .fd = d->control ? control__fd(d->control) : -1, .events = POLLIN };

	d->ended = true;
	for (int i = 0; i < CONTROL_CLIENTS_MAX && poll(&pfd, 1, 0) == 1; i++)
		control__process(d->control);
	for (size_t i = 0; i < d->n_stopping; i++)
		control_client__reply(d->stopping[i],
				      json_pack("{s:b, s:i}", "ok", 1, "pid", (int)getpid()));
}

static void tear_down(struct daemon *d, bool undo)
{
	if (d->control)
		location__withdraw(d->base.path);
	if (d->sideband)
		sideband__follow(d->sideband, NULL, NULL);
	rulebook__free(d->rulebook);
	retainer__free(d->retainer);
	held_log__free(d->held);
	recorder__free(d->recorder);
	if (d->opts->examiner) {
		examiner__follow(d->opts->examiner, NULL, NULL);
		examiner__cancel(d->opts->examiner); /* the side band may ask, and need not wait */
	}
	detectors__free(d->detectors);
	state_keeper__free(d->keeper);
	sideband__free(d->sideband);
	cpu_follow__free(d->cpus);
	horizon__free(d->horizon);
	answer_stops(d);
	control__free(d->control);
	tracing_parts__free(&d->tracing);
	host_info__free(d->host);
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
		 recorder__generation(d.recorder)->n_dumpers,
		 recorder__generation(d.recorder)->rules->n_rules, d.base.path);
	say_app_socket(&d);
	serve(&d);
	log_info("stopped %s", d.stopped_by);
	tear_down(&d, false);
	return 0;
}
