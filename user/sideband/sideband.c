// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/event_fd.h"
#include "common/realtime.h"
#include "sideband/build_id_probe.h"
#include "sideband/cgroup_scan.h"
#include "sideband/proc_scan.h"
#include "sideband/sideband_core.h"

#define MEMORY_DEFAULT	((size_t)64 << 20)
#define FOLLOW_INTERVAL 5000000000ULL /* ns; each call reads every ring a few times */
#define CHUNK_MAX	((size_t)256 << 10)
#define DRAIN_INTERVAL	1000 /* ms: the longest wait before a new file's build id is read */
#define NSEC_PER_MSEC	1000000ULL
#define STOP		UINT64_MAX
#define SCAN_READERS	4

static void init_locks(struct sideband *sb)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&sb->lock, &mutex);
	pthread_mutex_init(&sb->follow_lock, &mutex);
	pthread_mutexattr_destroy(&mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&sb->unpinned, &cond);
	pthread_cond_init(&sb->helper_wake, &cond);
	pthread_cond_init(&sb->started, &cond);
	pthread_cond_init(&sb->reread, &cond);
	pthread_condattr_destroy(&cond);
}

static void set_opts(struct sideband *sb, const struct sideband_opts *opts)
{
	sb->opts = *opts;
	if (!sb->opts.ring_bytes)
		sb->opts.ring_bytes = SIDEBAND_RING_BYTES;
	if (!sb->opts.memory)
		sb->opts.memory = MEMORY_DEFAULT;
	if (!sb->opts.follow_interval)
		sb->opts.follow_interval = FOLLOW_INTERVAL;
}

static int open_sideband_parts(struct sideband *sb, struct err *err)
{
	struct epoll_event stop = { .events = EPOLLIN, .data.u64 = STOP };
	size_t chunk = sb->opts.memory / 64;
	int code;

	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sb->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sb->epoll_fd < 0 || sb->stop_fd < 0 ||
	    epoll_ctl(sb->epoll_fd, EPOLL_CTL_ADD, sb->stop_fd, &stop) < 0)
		return err_set(err, -errno, "epoll: %s", strerror(errno));
	code = task_model__new(&sb->base);
	code = code ?: sideband_log__new(chunk < CHUNK_MAX ? chunk : CHUNK_MAX, &sb->log);
	code = code ?: bpf_store__new(&sb->bpf);
	code = code ?: map_build_ids__new(sb->opts.examiner, &sb->build_ids);
	return code ?: sideband_core__open_rings(sb, err);
}

int sideband__open(const struct sideband_opts *opts, struct err *err, struct sideband **ret)
{
	struct sideband *sb = calloc(1, sizeof(*sb));
	int code;

	if (!sb)
		return err_set(err, -ENOMEM, "out of memory");
	sb->epoll_fd = sb->stop_fd = -1;
	set_opts(sb, opts);
	init_locks(sb);
	kernel_modules__init(&sb->modules, NULL, NULL);
	sideband_ring__init_attr(&sb->attr, sb->opts.ring_bytes, build_id_probe__is_clean());
	code = open_sideband_parts(sb, err);
	if (code) {
		if (code == -ENOMEM)
			err_set(err, code, "out of memory for the side band");
		sideband__free(sb);
		return code;
	}
	*ret = sb;
	return 0;
}

void sideband__free(struct sideband *sb)
{
	size_t i;

	if (!sb)
		return;
	if (sb->running) {
		sideband__lock(sb);
		sb->stopping = true;
		pthread_cond_signal(&sb->helper_wake);
		sideband__unlock(sb);
		event_fd__notify(sb->stop_fd);
		pthread_join(sb->drainer, NULL);
		pthread_join(sb->helper, NULL);
	}
	sideband_core__close_rings(sb);
	for (i = 0; i < sb->n_bpf_wanted; i++)
		cleanup_close(&sb->bpf_wanted[i].fd);
	free(sb->ids);
	cleanup_close(&sb->epoll_fd);
	cleanup_close(&sb->stop_fd);
	task_model__free(sb->base);
	sideband_log__free(sb->log);
	bpf_store__free(sb->bpf);
	map_build_ids__free(sb->build_ids);
	kernel_maps__free(&sb->kernel);
	kernel_modules__free(&sb->modules);
	buf__free(&sb->late);
	free(sb->bpf_wanted);
	for (i = 0; i < sb->n_unidentified; i++)
		free(sb->unidentified[i].name);
	free(sb->unidentified);
	pthread_cond_destroy(&sb->unpinned);
	pthread_cond_destroy(&sb->helper_wake);
	pthread_cond_destroy(&sb->started);
	pthread_mutex_destroy(&sb->lock);
	pthread_mutex_destroy(&sb->follow_lock);
	free(sb);
}

const struct perf_event_attr *sideband__attr(const struct sideband *sb)
{
	return &sb->attr;
}

const uint64_t *sideband__ids(const struct sideband *sb, size_t *ret_n)
{
	*ret_n = sb->n_ids;
	return sb->ids;
}

/* Reading the machine's state */

static int scan_bpf(struct sideband *sb, struct kernel_state *kernel)
{
	struct bpf_info *info;
	uint32_t id = 0;
	int err = 0;
	size_t i;

	while (!err && !bpf_info__next(&id)) {
		err = bpf_info__read(id, &info);
		if (err) { /* gone meanwhile, or we may not read it */
			err = err == -ENOMEM ? err : 0;
			continue;
		}
		for (i = 0; i < info->n_symbols && !err; i++)
			err = kernel_state__add_symbol(
				kernel, info->symbols[i].addr, info->symbols[i].len,
				PERF_RECORD_KSYMBOL_TYPE_BPF, info->symbols[i].name);
		err = err ?: kernel_state__add_bpf_prog(kernel, id, info->tag);
		sideband__lock(sb);
		err = err ?: bpf_store__add(sb->bpf, info);
		sideband__unlock(sb);
		bpf_info__free(info);
	}
	return err;
}

int sideband_core__scan_kernel(struct sideband *sb, struct kernel_state *k,
			       struct kernel_maps *text)
{
	int err = scan_bpf(sb, k);

	err = err ?: kernel_images__read(NULL, k, text);
	return err ?: cgroup_scan__tree(k);
}

static void forget_record(const struct perf_event_header *rec, void *arg)
{
}

int sideband__scan(struct sideband *sb, struct err *err)
{
	uint64_t start = now_ns();
	int code;

	code = proc_scan__tasks(sb->base, false, SCAN_READERS, err);
	if (code)
		return code;
	code = sideband_core__scan_kernel(sb, task_model__edit_kernel(sb->base), &sb->kernel);
	if (code)
		return err_set(err, code, "cannot read the state of the machine: %s",
			       strerror(-code));
	sideband_core__drain(sb);
	sideband__lock(sb);
	/* forget records from before the scan: it includes their effects */
	sideband_log__fold(sb->log, start, forget_record, NULL);
	sb->scanned = true;
	sb->complete_from = sb->repaired = now_ns();
	sb->scanned_bytes = task_model__bytes(sb->base);
	sb->scanned_cgroups = kernel_state__n_cgroups(task_model__kernel(sb->base));
	sb->identify_due = true;
	sideband_core__fold_to_limit(sb);
	sideband__unlock(sb);
	return 0;
}

/* Threads */

static void wait_for_helper_work(struct sideband *sb, uint64_t delay)
{
	uint64_t until = now_ns() + delay;
	struct timespec ts = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };

	if (delay == UINT64_MAX)
		pthread_cond_wait(&sb->helper_wake, &sb->lock);
	else
		pthread_cond_timedwait(&sb->helper_wake, &sb->lock, &ts);
}

static void fetch_wanted(struct sideband *sb)
{
	struct bpf_wanted wanted = sb->bpf_wanted[--sb->n_bpf_wanted];

	sideband__unlock(sb);
	sideband_core__fetch_bpf(sb, wanted.id);
	cleanup_close(&wanted.fd);
	sideband__lock(sb);
}

static void identify_files(struct sideband *sb)
{
	bool base = sb->identify_due;

	sb->identify_due = false;
	sideband__unlock(sb);
	sideband_core__identify_wanted(sb);
	if (base)
		sideband_core__identify(sb);
	map_build_ids__rest(sb->build_ids);
	sideband__lock(sb);
}

static void *helper_main(void *arg)
{
	struct sideband *sb = arg;
	uint64_t delay;
	bool data;

	pthread_setname_np(pthread_self(), "frbpf-scan");
	sideband__lock(sb);
	while (!sb->stopping) {
		if (sb->n_bpf_wanted) {
			fetch_wanted(sb);
			continue;
		}
		if (sb->n_unidentified || sb->identify_due) {
			identify_files(sb);
			continue;
		}
		/* in parts: the drainer needs the lock in between */
		if (sideband_core__may_fold_oldest(sb)) {
			sideband_core__fold_oldest(sb);
			sideband__unlock(sb);
			sideband__lock(sb);
			continue;
		}
		delay = sideband_core__repair_delay(sb);
		if (delay) {
			wait_for_helper_work(sb, delay);
			continue;
		}
		data = sb->attr.mmap_data;
		sideband__unlock(sb);
		sideband_core__repair(sb,
				      data); /* if it fails, it is tried again after the interval */
		sideband__lock(sb);
		sb->repaired = now_ns();
		sb->read_data |= data;
		pthread_cond_broadcast(&sb->reread);
	}
	pthread_cond_broadcast(&sb->reread);
	sideband__unlock(sb);
	return NULL;
}

static void tick_drainer(struct sideband *sb)
{
	uint64_t now = now_ns();

	if (!sb->tick || now - sb->ticked < DRAIN_INTERVAL * NSEC_PER_MSEC)
		return;
	sb->ticked = now;
	sb->tick(sb->tick_arg);
}

int sideband__record_data(struct sideband *sb, struct err *err)
{
	int code = 0;

	sideband_core__drain(sb);
	sideband__lock(sb);
	if (!sb->attr.mmap_data) {
		code = sideband_core__reopen_with_data(sb, err);
		sb->repaired = 0; /* repair without delay */
		sideband_core__lost(sb, 0);
	}
	while (!code && sb->running && !sb->stopping && !sb->read_data)
		pthread_cond_wait(&sb->reread, &sb->lock);
	sideband__unlock(sb);
	return code;
}

void sideband__on_tick(struct sideband *sb, void (*fn)(void *arg), void *arg)
{
	sb->tick = fn;
	sb->tick_arg = arg;
}

static void *drainer_main(void *arg)
{
	struct sideband *sb = arg;
	struct epoll_event ev[16];
	bool stop = false, drain;
	int n, i;

	pthread_setname_np(pthread_self(), "frbpf-sideband");
	sideband__lock(sb);
	sb->stats.realtime = thread__set_class(THREAD_REALTIME, sb->opts.rt_priority);
	sb->stats.tid = gettid();
	pthread_cond_signal(&sb->started);
	sideband__unlock(sb);
	while (!stop) {
		n = epoll_wait(sb->epoll_fd, ev, ARRAY_SIZE(ev), DRAIN_INTERVAL);
		drain = n == 0;
		for (i = 0; i < n; i++) {
			if (ev[i].data.u64 == STOP)
				stop = true;
			else
				sideband_core__on_ring(sb, &ev[i], &drain);
		}
		if (drain || stop) /* drains all rings, so the log is nearly in time order */
			sideband_core__drain(sb);
		sideband_core__follow(sb);
		tick_drainer(sb);
	}
	return NULL;
}

int sideband__start(struct sideband *sb, struct err *err)
{
	int code = pthread_create(&sb->helper, NULL, helper_main, sb);

	if (code)
		return err_set(err, -code, "cannot start a thread for the side band: %s",
			       strerror(code));
	code = pthread_create(&sb->drainer, NULL, drainer_main, sb);
	if (code) {
		sideband__lock(sb);
		sb->stopping = true;
		pthread_cond_signal(&sb->helper_wake);
		sideband__unlock(sb);
		pthread_join(sb->helper, NULL);
		return err_set(err, -code, "cannot start a thread for the side band: %s",
			       strerror(code));
	}
	sb->running = true;
	sideband__lock(sb);
	while (!sb->stats.tid)
		pthread_cond_wait(&sb->started, &sb->lock);
	sideband__unlock(sb);
	return 0;
}
