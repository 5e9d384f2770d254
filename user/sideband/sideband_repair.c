// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "perfdata/record.h"
#include "sideband/proc_scan.h"
#include "sideband/sideband_repair.h"

struct sideband_repair {
	struct task_model *should; /* the state in /proc */
	uint64_t begin, end;	   /* ns, of the scan */
};

int sideband_repair__new(bool data, struct sideband_repair **ret)
{
	struct sideband_repair *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	err = task_model__new(&r->should);
	r->begin = now_ns();
	err = err ?: proc_scan__tasks(r->should, data, 1, NULL);
	r->end = now_ns();
	if (err) {
		sideband_repair__free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void sideband_repair__free(struct sideband_repair *r)
{
	if (!r)
		return;
	task_model__free(r->should);
	free(r);
}

uint64_t sideband_repair__time(const struct sideband_repair *r)
{
	return r->end;
}

size_t sideband_repair__model_bytes(const struct sideband_repair *r)
{
	return task_model__bytes(r->should);
}

struct compare {
	const struct sideband_repair *r;
	const struct task_model *base;
	struct task_model
		*is; /* each process as base and log have it for the time when /proc was read */
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
		return 0; /* forked during the scan, which missed it */
	return task_model__emit_repair(c->is, c->r->should, pid, c->r->begin, c->out);
}

int sideband_repair__compare(const struct sideband_repair *r, const struct task_model *base,
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
