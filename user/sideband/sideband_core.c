// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "perfdata/record.h"
#include "sideband/proc_scan.h"
#include "sideband/sideband_core.h"

#define BPF_SHARE     4	   /* BPF programs may use 1 / BPF_SHARE of the memory */
#define CGROUPS_SPARE 4096 /* cgroups that may be gone before /proc is reread */

void sideband_core__lost(struct sideband *sb, uint64_t n)
{
	sb->stats.lost += n;
	sb->lost_any = true;
	pthread_cond_signal(&sb->helper_wake);
}

/*
 * Have the helper read a program. Open the program now, so that it stays loaded until it is read.
 */
static void want_bpf_info(struct sideband *sb, uint32_t id)
{
	if (!ARRAY_HAS_ROOM(sb->bpf_wanted, sb->n_bpf_wanted, sb->cap_bpf_wanted, 64))
		return; /* a slice will read it */
	sb->bpf_wanted[sb->n_bpf_wanted++] = (struct bpf_wanted){ id, bpf_info__pin(id) };
	pthread_cond_signal(&sb->helper_wake);
}

static void fold_record(const struct perf_event_header *rec, void *arg)
{
	const struct record_bpf_event *bpf = (const void *)rec;
	struct sideband *sb = arg;
	int err = task_model__apply(sb->base, rec);

	if (err == -E2BIG)
		sb->trim_due = true;
	else if (err)
		sideband_core__lost(sb, 1);
	if (rec->type == PERF_RECORD_BPF_EVENT && bpf->type == PERF_BPF_EVENT_PROG_UNLOAD)
		bpf_store__remove(sb->bpf, bpf->id);
	sb->stats.folded++;
}

void sideband_core__log(struct sideband *sb, const struct perf_event_header *rec)
{
	int err = sideband_log__append(sb->log, rec);

	if (err == -ESTALE && !sb->pins) {
		fold_record(rec, sb);
		err = 0;
	} else if (err == -ESTALE) {
		err = buf__add(&sb->late, rec, rec->size);
	}
	if (err)
		sideband_core__lost(sb, 1);
}

/* A child of kthreadd starts with kthreadd's name, and no COMM record follows: log one. */
static void name_kernel_thread(struct sideband *sb, const struct record_task *fork)
{
	const struct record_trailer t = {
		.pid = fork->pid,
		.tid = fork->tid,
		.time = record__time(&fork->header),
		.id = sb->ids[0],
	};
	char name[KERNEL_THREAD_COMM];
	struct buf comm = { 0 };

	if (fork->ppid != KERNEL_THREAD_MAKER || !kernel_thread__name(fork->tid, name))
		return;
	if (record__add_comm(&comm, 0, fork->pid, fork->tid, name, &t))
		sideband_core__lost(sb, 1);
	else
		sideband_core__log(sb, (const void *)comm.data);
	buf__free(&comm);
}

static void drained_record(const struct perf_event_header *rec, void *arg)
{
	struct sideband *sb = arg;

	sb->stats.records++;
	sb->stats.bytes += rec->size;
	if (rec->type == PERF_RECORD_MMAP2)
		sideband_core__want_file(sb, (const void *)rec);
	sideband_core__log(sb, rec);
	if (rec->type == PERF_RECORD_FORK)
		name_kernel_thread(sb, (const void *)rec);
}

/*
 * Files list only the events of the rings, so the record of a watch gets the id of a ring's event.
 */
static void watched_record(const struct perf_event_header *rec, void *arg)
{
	struct {
		struct record_bpf_event bpf;
		struct record_trailer t;
	} r;
	struct sideband *sb = arg;

	if (rec->type != PERF_RECORD_BPF_EVENT || rec->size != sizeof(r))
		return;
	memcpy(&r, rec, sizeof(r));
	r.t.id = sb->ids[0];
	if (r.bpf.type == PERF_BPF_EVENT_PROG_LOAD)
		want_bpf_info(sb, r.bpf.id);
	drained_record(&r.bpf.header, sb);
}

/* Memory */

static size_t memory_used(const struct sideband *sb)
{
	return sideband_log__bytes(sb->log) + task_model__bytes(sb->base) +
	       bpf_store__bytes(sb->bpf) + sb->late.cap;
}

static void fold_late(struct sideband *sb)
{
	const struct perf_event_header *rec;
	size_t off;

	for (off = 0; off < sb->late.len; off += rec->size) {
		rec = (const void *)(sb->late.data + off);
		fold_record(rec, sb);
	}
	buf__free(&sb->late);
}

void sideband_core__fold_oldest(struct sideband *sb)
{
	sideband_log__fold(sb->log, sideband_log__oldest_chunk_end(sb->log) + 1, fold_record, sb);
}

void sideband_core__fold_to_limit(struct sideband *sb)
{
	if (!sb->scanned)
		return;
	if (sb->pins) {
		sb->fold_due = memory_used(sb) > sb->opts.memory;
		return;
	}
	fold_late(sb);
	while (memory_used(sb) > sb->opts.memory && sideband_log__n_chunks(sb->log) > 1)
		sideband_core__fold_oldest(sb);
	if (memory_used(sb) > sb->opts.memory)
		task_model__forget_exited(sb->base);
	if (memory_used(sb) > sb->opts.memory &&
	    task_model__bytes(sb->base) > 2 * sb->scanned_bytes)
		sb->trim_due = true;
	if (kernel_state__n_cgroups(task_model__kernel(sb->base)) >
	    2 * sb->scanned_cgroups + CGROUPS_SPARE)
		sb->trim_due = true;
	if (sb->trim_due)
		pthread_cond_signal(&sb->helper_wake);
}

bool sideband_core__may_fold_oldest(const struct sideband *sb)
{
	return sb->scanned && !sb->pins && sideband_log__n_chunks(sb->log) > 1 &&
	       sideband_log__oldest_chunk_end(sb->log) < sb->fold_before;
}

void sideband_core__follow(struct sideband *sb)
{
	uint64_t now = now_ns(), before = 0;

	if (now - sb->followed < sb->opts.follow_interval)
		return;
	sb->followed = now;
	pthread_mutex_lock(&sb->follow_lock);
	if (sb->needed_from)
		before = sb->needed_from(sb->needed_arg);
	pthread_mutex_unlock(&sb->follow_lock);
	sideband__lock(sb);
	sb->fold_before = before;
	if (sideband_core__may_fold_oldest(sb))
		pthread_cond_signal(&sb->helper_wake);
	sideband__unlock(sb);
}

void sideband__follow(struct sideband *sb, uint64_t (*fn)(void *arg), void *arg)
{
	pthread_mutex_lock(&sb->follow_lock);
	sb->needed_from = fn;
	sb->needed_arg = arg;
	pthread_mutex_unlock(&sb->follow_lock);
}

void sideband_core__watch(struct sideband *sb)
{
	uint64_t n_lost = 0;
	size_t i;

	sideband__lock(sb);
	for (i = 0; i < sb->n_watches; i++)
		n_lost += sideband_ring__drain(&sb->watches[i], watched_record, sb);
	if (n_lost)
		sideband_core__lost(sb, n_lost);
	sideband__unlock(sb);
}

void sideband_core__drain(struct sideband *sb)
{
	uint64_t n_lost;
	size_t i;

	sideband_core__watch(sb);
	for (i = 0; i < __atomic_load_n(&sb->n_rings, __ATOMIC_ACQUIRE); i++) {
		sideband__lock(sb);
		n_lost = sideband_ring__drain(&sb->rings[i], drained_record, sb);
		if (n_lost)
			sideband_core__lost(sb, n_lost);
		sideband__unlock(sb);
	}
	sideband__lock(sb);
	sideband_core__fold_to_limit(sb);
	sideband__unlock(sb);
}

int sideband_core__pin(struct sideband *sb, struct sideband_log_view *ret)
{
	int err;

	sideband__lock(sb);
	while (sb->fold_due && sb->pins)
		pthread_cond_wait(&sb->unpinned, &sb->lock);
	err = sideband_log__view(sb->log, ret);
	if (!err)
		sb->pins++;
	sideband__unlock(sb);
	return err;
}

void sideband_core__unpin(struct sideband *sb, struct sideband_log_view *view)
{
	sideband_log_view__free(view);
	sideband__lock(sb);
	if (--sb->pins == 0) {
		sb->fold_due = false;
		sideband_core__fold_to_limit(sb);
		pthread_cond_broadcast(&sb->unpinned);
	}
	sideband__unlock(sb);
}

void sideband_core__fetch_bpf(struct sideband *sb, uint32_t id)
{
	struct bpf_info *info;

	bool has;

	sideband__lock(sb);
	has = bpf_store__has(sb->bpf, id);
	sideband__unlock(sb);
	if (has || bpf_info__read(id, &info))
		return;
	sideband__lock(sb);
	if (bpf_store__bytes(sb->bpf) < sb->opts.memory / BPF_SHARE)
		bpf_store__add(sb->bpf, info);
	sideband__unlock(sb);
	bpf_info__free(info);
}

void sideband__stats(struct sideband *sb, struct sideband_stats *ret)
{
	sideband__lock(sb);
	*ret = sb->stats;
	ret->needed_from = sb->fold_before;
	for (size_t i = 0; i < sb->n_rings; i++)
		ret->ring_bytes += sb->rings[i].ring.size;
	for (size_t i = 0; i < sb->n_watches; i++)
		ret->ring_bytes += sb->watches[i].ring.size;
	ret->log_bytes = sideband_log__bytes(sb->log) + sb->late.cap;
	ret->model_bytes = task_model__bytes(sb->base) + bpf_store__bytes(sb->bpf);
	sideband__unlock(sb);
}
