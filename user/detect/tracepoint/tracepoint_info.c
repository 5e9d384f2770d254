// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/tracepoint/tracepoint_info.h"

/* The first match counts. */
static const struct {
	const char *target; /* a glob */
	const char *task;
	const char *pid;
} subjects[] = {
	{ "oom:mark_victim", "task", "pid" }, /* `pid` until 6.8, then `task` */
	{ "oom:oom_score_adj_update", "task" }, { "signal:signal_generate", "task" },
	{ "sched:sched_switch", "next" },	{ "sched:sched_waking", "p" },
	{ "sched:sched_wakeup*", "p" },		{ "sched:sched_migrate_task", "p" },
	{ "sched:sched_process_exit", "p" },	{ "sched:sched_process_exec", "p" },
	{ "sched:sched_process_free", "p" },	{ "sched:sched_wait_task", "p" },
	{ "sched:sched_process_hang", "tsk" },	{ "sched:sched_pi_setprio", "tsk" },
	{ "sched:sched_stat_*", "tsk" },	{ "task:task_newtask", "task" },
	{ "task:task_rename", "task" },		{ "cgroup:cgroup_*_task*", "task" },
};

/*
 * Tracepoints in interrupts. The interrupted task has nothing to do with them, so they have no
 * subject.
 */
static const char *const nobodys[] = {
	"irq:irq_*",
	"irq:softirq_*",
	"irq:tasklet_*",
	"irq_vectors:*",
	"timer:timer_*",
	"timer:hrtimer_*",
	"tcp:tcp_retransmit_*",
	"napi:*",
	"net:netif_rece*",
	"block:block_rq_complete",
	"nmi:*",
	"ipi:*",
};

/*
 * Short names for paths: the names of the same fields in the formats. A signal without siginfo has
 * `code` 0: SI_USER.
 */
static const struct {
	const char *target;
	const char *name;
	const char *path;
} paths[] = {
	{ "signal:*", "code", "info.si_code" },
	{ "signal:*", "errno", "info.si_errno" },
	{ "signal:signal_deliver", "sa_handler", "ka.sa.sa_handler" },
	{ "oom:mark_victim", "memcg", "task.cgroups.subsys[memory_cgrp_id].cgroup.kn.name" },
	{ "block:block_rq_*", "dev", "rq.q.disk.part0.bd_dev" },
	{ "block:block_rq_*", "sector", "rq.__sector" },
	{ "tcp:*", "saddr", "sk.__sk_common.skc_rcv_saddr" },
	{ "tcp:*", "daddr", "sk.__sk_common.skc_daddr" },
	{ "tcp:*", "saddr_v6", "sk.__sk_common.skc_v6_rcv_saddr" },
	{ "tcp:*", "daddr_v6", "sk.__sk_common.skc_v6_daddr" },
	{ "tcp:*", "sport", "sk.__sk_common.skc_num" },
	{ "tcp:*", "dport", "sk.__sk_common.skc_dport" },
	{ "tcp:*", "family", "sk.__sk_common.skc_family" },
};

static const struct {
	const char *target;
	const char *names[4]; /* NULL after the last one */
} shown[] = {
	{ "signal:signal_generate", { "sig", "code" } },
	{ "signal:signal_deliver", { "sig", "code" } },
	{ "oom:mark_victim", { "memcg" } },
	{ "tcp:tcp_retransmit_skb", { "saddr", "sport", "daddr", "dport" } },
};

const char *tracepoint_info__name(const char *target)
{
	const char *colon = strchr(target, ':');

	return colon ? colon + 1 : target;
}

static int find_arg(const struct btf_trace *t, const char *name)
{
	return name ? btf_trace__arg(t, name, strlen(name)) : -ENOENT;
}

struct tracepoint_subject tracepoint_info__subject(const char *target, const struct btf_trace *t)
{
	struct tracepoint_subject ret = { -1, -1, false };

	for (size_t i = 0; i < ARRAY_SIZE(nobodys); i++)
		ret.nobody |= !fnmatch(nobodys[i], target, 0);
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		int task, pid;

		if (fnmatch(subjects[i].target, target, 0))
			continue;
		task = find_arg(t, subjects[i].task);
		pid = find_arg(t, subjects[i].pid);
		if (task >= 0 && btf_trace__arg_points_to(t, task, "task_struct"))
			ret.task = task;
		else if (pid >= 0)
			ret.pid = pid;
		break;
	}
	return ret;
}

bool tracepoint_info__disturbed(const char *target)
{
	static const char *const systems[] = { "block:*", "scsi:*", "nvme:*", "writeback:*" };

	for (size_t i = 0; i < ARRAY_SIZE(systems); i++) {
		if (!fnmatch(systems[i], target, 0))
			return true;
	}
	return false;
}

/* Extract the first of @names that the arguments have. */
static void extract_first(const struct btf_trace *t, const char *const *names, size_t n,
			  enum btf_path_use use, struct frbpf_extract *ret)
{
	*ret = (struct frbpf_extract){ .kind = FRBPF_EXTRACT_NONE };
	for (size_t i = 0; i < n; i++) {
		struct btf_value v;
		struct span bad;
		struct err err;

		if (btf_trace__value(t, names[i], use, &v, &bad, &err))
			continue;
		*ret = v.where;
		btf_value__free(&v);
		return;
	}
}

void tracepoint_info__own(const struct btf_trace *t, struct frbpf_own_at *ret)
{
	static const char *const disks[] = {
		"rq.q.disk.part0.bd_dev",
		"req.q.disk.part0.bd_dev",
		"bio.bi_bdev.bd_disk.part0.bd_dev",
		"bh.b_bdev.bd_disk.part0.bd_dev",
		"cmd.device.request_queue.disk.part0.bd_dev",
		"inode.i_sb.s_bdev.bd_disk.part0.bd_dev",
		"mapping.host.i_sb.s_bdev.bd_disk.part0.bd_dev",
		"folio.mapping.host.i_sb.s_bdev.bd_disk.part0.bd_dev",
	};
	static const char *const bios[] = { "rq.bio", "req.bio", "bio" };
	static const char *const inodes[] = { "inode", "mapping.host", "folio.mapping.host" };

	extract_first(t, disks, ARRAY_SIZE(disks), BTF_PATH_OWN, &ret->disk);
	/* only BTF_PATH_KEY accepts pointers */
	extract_first(t, bios, ARRAY_SIZE(bios), BTF_PATH_KEY, &ret->bio);
	extract_first(t, inodes, ARRAY_SIZE(inodes), BTF_PATH_KEY, &ret->inode);
}

const char *tracepoint_info__path(const char *target, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!strcmp(paths[i].name, name) && !fnmatch(paths[i].target, target, 0))
			return paths[i].path;
	}
	return name;
}

const char *tracepoint_info__shown(const char *target, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		if (!strcmp(shown[i].target, target))
			return n < ARRAY_SIZE(shown[i].names) ? shown[i].names[n] : NULL;
	}
	return NULL;
}
