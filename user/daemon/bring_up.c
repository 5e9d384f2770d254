// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "admin/admin.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/tracefs.h"
#include "daemon/active_set.h"
#include "daemon/bring_up.h"
#include "daemon/cpu_follow.h"
#include "dump/base/manifest.h"
#include "dump/rings/horizon.h"
#include "examine/examiner.h"
#include "examine/keeper.h"
#include "perfdata/writer.h"
#include "sideband/sideband.h"

/*
 * Read the parts of TRACING_DATA in tracefs other than formats, once, when the daemon starts. 0 or
 * negative errno with a message in @err; free @ret in both cases.
 */
static int read_tracing_parts(struct tracefs *t, struct perfdata_tracing *ret, struct err *err)
{
	const struct {
		const char *path;
		struct buf *to;
	} parts[] = {
		{ "events/header_page", &ret->header_page },
		{ "events/header_event", &ret->header_event },
		{ "printk_formats", &ret->printk_formats },
		{ "saved_cmdlines", &ret->saved_cmdlines },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int code = tracefs__read(t, parts[i].path, parts[i].to);

		if (code)
			return err_set(err, code, "cannot read %s of tracefs: %s", parts[i].path,
				       strerror(-code));
	}
	return 0;
}

static void free_tracing_parts(struct perfdata_tracing *parts)
{
	buf__free(&parts->header_page);
	buf__free(&parts->header_event);
	buf__free(&parts->printk_formats);
	buf__free(&parts->saved_cmdlines);
}

#define RT_PRIORITY_TRIGGER  50
#define RT_PRIORITY_SIDEBAND (RT_PRIORITY_TRIGGER - 1)
#define TRIGGER_ON_ITS_WAY   (2 * NSEC_PER_SEC) /* from kernel to trigger thread, at most */

/* Sessions open a descriptor per event and CPU, or thread. */
static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/* Under p->own.lock. */
static void own_processes__pass_on(struct bring_up *p)
{
	pid_t all[KEEPER_PROCESSES_MAX + 1 + EXPLAINER_PIDS];
	size_t n = p->own.n_examiner;

	_Static_assert(ARRAY_SIZE(all) <= FRBPF_MAX_HELPERS, "room for all");
	memcpy(all, p->own.examiner, n * sizeof(*all));
	all[n] = admin__pid();
	n += all[n] > 0;
	for (size_t i = 0; i < EXPLAINER_PIDS; i++) {
		all[n] = p->own.explainer[i];
		n += all[n] > 0;
	}
	detectors__own_helpers(p->detectors, all, n);
}

static void own_examiner(const pid_t *pids, size_t n, void *arg)
{
	struct bring_up *p = arg;

	pthread_mutex_lock(&p->own.lock);
	p->own.n_examiner = n < KEEPER_PROCESSES_MAX ? n : KEEPER_PROCESSES_MAX;
	memcpy(p->own.examiner, pids, p->own.n_examiner * sizeof(*pids));
	own_processes__pass_on(p);
	pthread_mutex_unlock(&p->own.lock);
}

void bring_up__own_explainer(struct bring_up *p, const pid_t pids[static EXPLAINER_PIDS])
{
	pthread_mutex_lock(&p->own.lock);
	memcpy(p->own.explainer, pids, sizeof(p->own.explainer));
	own_processes__pass_on(p);
	pthread_mutex_unlock(&p->own.lock);
}

/* Time, ns, from which dumps may still need names; 0: unknown. Called in the side band's thread. */
static uint64_t names_needed_since(void *arg)
{
	struct bring_up *p = arg;
	/* Measure the rings before counting incidents: later freezes reach no further back. */
	uint64_t from = horizon__measure(p->horizon), back, now = now_ns();
	struct recorder_stats stats;

	recorder__stats(p->recorder, &stats);
	if (stats.writing)
		return 0;
	back = recorder__longest_pre(p->recorder) + TRIGGER_ON_ITS_WAY;
	if (now < back)
		return 0;
	return from < now - back ? from : now - back;
}

static int bring_up__open_sideband(struct bring_up *p, const struct daemon_conf *conf,
				   struct err *err)
{
	struct sideband_opts opts = {
		.memory = conf->sideband_memory,
		.all = conf->sideband_all,
		.rt_priority = RT_PRIORITY_SIDEBAND,
		.examiner = p->opts.examiner,
	};
	int code = cpu_follow__open(err, &p->cpus);

	code = code ?: sideband__open(&opts, err, &p->sideband);
	if (!code)
		cpu_follow__begin(p->cpus, p->sideband);
	code = code ?: sideband__scan(p->sideband, err);
	return code ?: sideband__start(p->sideband, err);
}

static int bring_up__open_detectors(struct bring_up *p, struct err *err)
{
	int code = detectors__open(err, &p->detectors);

	if (code)
		return code;
	detectors__set_app_path(p->detectors, p->opts.app_path, p->opts.app_dir_fd);
	detectors__own_base(p->detectors, p->opts.base->fd);
	own_examiner((pid_t[]){ 0 }, 0, p);
	if (p->opts.examiner)
		examiner__follow(p->opts.examiner, own_examiner, p);
	return 0;
}

static int bring_up__open_recorder(struct bring_up *p, struct err *err)
{
	struct recorder_opts opts = {
		.detectors = p->detectors,
		.rt_priority = RT_PRIORITY_TRIGGER,
		.examiner = p->opts.examiner,
	};
	int code = recorder__new(&opts, err, &p->recorder);

	if (code)
		return code;
	if (horizon__new(&p->horizon))
		return err_set(err, -ENOMEM, "out of memory");
	p->suppressed = suppressed_log__new(p->opts.base, p->recorder, p->detectors);
	p->followed = followed_log__new(p->opts.base, p->recorder, p->detectors);
	return p->suppressed && p->followed ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int bring_up__open(const struct bring_up_opts *opts, const struct daemon_conf *conf,
		   struct err *err, struct bring_up *ret)
{
	struct bring_up *p = ret;
	int code;

	*p = (struct bring_up){ .opts = *opts, .own.lock = PTHREAD_MUTEX_INITIALIZER };
	disk_room__init(&p->room);
	raise_fd_limit();
	code = host_info__collect(err, &p->host);
	if (!code && opts->tracefs)
		code = read_tracing_parts(opts->tracefs, &p->tracing, err);
	code = code ?: bring_up__open_sideband(p, conf, err);
	code = code ?: bring_up__open_detectors(p, err);
	code = code ?: bring_up__open_recorder(p, err);
	if (code)
		return code;
	p->dump_env = (struct dump_env){
		.base = opts->base,
		.room = &p->room,
		.sideband = p->sideband,
		.host = p->host,
		.tracing = &p->tracing,
		.program = opts->program,
		.horizon = p->horizon,
		.before_write = recorder__wait_saved,
		.before_write_arg = p->recorder,
	};
	sideband__follow(p->sideband, names_needed_since, p);
	return 0;
}

void bring_up__free(struct bring_up *p)
{
	if (p->sideband)
		sideband__follow(p->sideband, NULL, NULL);
	suppressed_log__free(p->suppressed);
	recorder__free(p->recorder);
	followed_log__free(p->followed);
	if (p->opts.examiner) {
		examiner__follow(p->opts.examiner, NULL, NULL);
		examiner__cancel(p->opts.examiner); /* else the side band waits for answers */
	}
	detectors__free(p->detectors);
	sideband__free(p->sideband);
	cpu_follow__free(p->cpus);
	horizon__free(p->horizon);
	free_tracing_parts(&p->tracing);
	host_info__free(p->host);
	*p = (struct bring_up){ 0 };
}

int bring_up__cpus_fd(const struct bring_up *p)
{
	return cpu_follow__fd(p->cpus);
}

void bring_up__follow_cpus(struct bring_up *p)
{
	struct err err = { 0 };

	if (!cpu_follow__process(p->cpus, p->horizon, recorder__active_set(p->recorder)))
		return;
	if (recorder__renew(p->recorder, &err))
		log_error("rules may miss events on new CPUs: %s", err.msg);
	cpu_follow__log(p->cpus);
}

void bring_up__name_incident(struct bring_up *p, struct incident *inc)
{
	char name[INCIDENT_NAME_SIZE];

	if (inc->name[0])
		return;
	base_dir__reserve_name(p->opts.base, inc->freeze.frozen + inc->realtime_offset, name);
	recorder__set_name(p->recorder, inc, name);
}

int bring_up__save_incident(struct bring_up *p, struct incident *inc)
{
	struct err err = { 0 };
	int code = manifest__write(p->opts.base, inc, host_info__hostname(p->host), &err);

	if (code)
		log_error("%s", err.msg);
	suppressed_log__incident(p->suppressed, inc);
	followed_log__incident(p->followed, inc);
	detectors__tidy(p->detectors);
	return code;
}
