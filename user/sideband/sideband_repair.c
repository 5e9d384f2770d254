// SPDX-License-Identifier: GPL-2.0-only
/*
 * After a loss: compares /proc with base and log, and logs records of the differences. Later
 * windows are then complete; earlier ones stay as they are.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "perfdata/record.h"
#include "sideband/proc_scan.h"
#include "sideband/sideband_core.h"

#define REPAIR_INTERVAL 1000000000ULL  /* ns between two scans of /proc because of losses */
#define TRIM_INTERVAL	30000000000ULL /* ns between two scans to save memory */

struct proc_state {
	struct task_model *should; /* the state in /proc */
	uint64_t begin, end;	   /* ns, of the scan */
};

/* @data: read also maps that are not executable. The caller frees @ret, even after a failure. */
static int proc_state__read(struct proc_state *ret, bool data)
{
	int err = task_model__new(&ret->should);

	ret->begin = now_ns();
	err = err ?: proc_scan__tasks(ret->should, data, 1, NULL);
	ret->end = now_ns();
	return err;
}

struct compare {
	const struct proc_state *r;
	const struct task_model *base;
	struct task_model
		*is; /* each process, from base and log, as of the time when /proc was read */
	struct buf *out;
};

static int copy_process(uint32_t pid, void *arg)
{
	struct compare *c = arg;

	return task_model__copy_process(c->is, c->base, pid);
}

static int replay_log(const struct compare *c, const struct sideband_log_view *log)
{
	struct sideband_ref *refs;
	uint64_t since;
	uint32_t pid;
	size_t n, i;
	int err = sideband_log_view__sorted(log, 0, UINT64_MAX, &refs, &n);

	if (err)
		return err;
	for (i = 0; i < n && err != -ENOMEM; i++) {
		if (!task_model__subject(refs[i].rec, &pid))
			continue;
		if (task_model__since(c->r->should, pid, &since) && refs[i].time >= since)
			continue; /* newer than the state that /proc had */
		err = task_model__apply(c->is, refs[i].rec);
	}
	free(refs);
	return err == -ENOMEM ? err : 0;
}

static int repair_living(uint32_t pid, void *arg)
{
	struct compare *c = arg;

	return task_model__emit_repair(c->is, c->r->should, pid, 0, c->out);
}

static int repair_gone(uint32_t pid, void *arg)
{
	struct compare *c = arg;
	uint64_t since;

	if (task_model__since(c->r->should, pid, &since))
		return 0;
	if (task_model__since(c->is, pid, &since) && since >= c->r->begin)
		return 0; /* it was forked during the scan, which missed it: it may live */
	return task_model__emit_repair(c->is, c->r->should, pid, c->r->begin, c->out);
}

/*
 * Append to @out the records that turn @base and @log into the state in /proc. @log must have all
 * records until /proc was read. -ENOMEM.
 */
static int proc_state__compare(const struct proc_state *r, const struct task_model *base,
			       const struct sideband_log_view *log, struct buf *out)
{
	struct compare c = { .r = r, .base = base, .out = out };
	int err = task_model__new(&c.is);

	err = err ?: task_model__each_process(base, copy_process, &c);
	err = err ?: replay_log(&c, log);
	err = err ?: task_model__each_process(r->should, repair_living, &c);
	err = err ?: task_model__each_process(c.is, repair_gone, &c);
	task_model__free(c.is);
	return err;
}

/* Repair the state that belongs to no process: log @found, forget gone cgroups. Under the lock. */
static int repair_kernel_state(struct sideband *sb, const struct kernel_state *found, uint64_t time)
{
	struct kernel_state *base = task_model__edit_kernel(sb->base);
	const struct perf_event_header *rec;
	struct buf records = { 0 };
	size_t off;
	int err = kernel_state__emit(found, time, &records);

	for (off = 0; !err && off < records.len; off += rec->size) {
		rec = (const void *)(records.data + off);
		sideband_core__log(sb, rec);
	}
	buf__free(&records);
	if (!sb->pins)
		kernel_state__forget_cgroups(base, found);
	sb->scanned_cgroups = kernel_state__n_cgroups(found);
	return err;
}

int sideband_core__repair(struct sideband *sb, bool data)
{
	const struct perf_event_header *rec;
	struct kernel_state kernel = { 0 };
	struct sideband_log_view view;
	struct proc_state proc = { 0 };
	struct buf records = { 0 };
	uint64_t lost_before;
	size_t off;
	int err;

	sideband_core__drain(sb);
	sideband__lock(sb);
	lost_before = sb->stats.lost;
	sideband__unlock(sb);
	err = proc_state__read(&proc, data);
	if (err) {
		task_model__free(proc.should);
		return err;
	}
	err = sideband_core__scan_kernel(sb, &kernel, NULL);
	sideband_core__drain(sb); /* so that the log has everything that the scan could see */
	err = err ?: sideband_core__pin(sb, &view);
	if (!err) {
		err = proc_state__compare(&proc, sb->base, &view, &records);
		sideband_core__unpin(sb, &view);
	}
	sideband__lock(sb);
	for (off = 0; !err && off < records.len; off += rec->size) {
		rec = (const void *)(records.data + off);
		sideband_core__log(sb, rec);
	}
	err = err ?: repair_kernel_state(sb, &kernel, proc.end);
	if (!err) {
		sb->complete_from = proc.end;
		sb->scanned_bytes = task_model__bytes(proc.should);
		sb->lost_any = sb->stats.lost != lost_before;
		sb->trim_due = false;
		sb->identify_due = true;
		sb->stats.rescans++;
	}
	sideband__unlock(sb);
	buf__free(&records);
	kernel_state__free(&kernel);
	task_model__free(proc.should);
	return err;
}

uint64_t sideband_core__repair_delay(const struct sideband *sb)
{
	uint64_t due, now = now_ns();

	if (!sb->lost_any && !sb->trim_due)
		return UINT64_MAX;
	due = sb->repaired + (sb->lost_any ? REPAIR_INTERVAL : TRIM_INTERVAL);
	return due > now ? due - now : 0;
}
