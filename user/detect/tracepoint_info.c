// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <string.h>

#include "common/cleanup.h"
#include "detect/tracepoint_info.h"

/* The first that fits counts. */
static const struct {
	const char *target; /* a glob */
	const char *task;
	const char *pid;
} subjects[] = {
	{ "oom:mark_victim", "task", "pid" }, /* the number until 6.8 */
	{ "oom:oom_score_adj_update", "task" }, { "signal:signal_generate", "task" },
	{ "sched:sched_switch", "next" },	{ "sched:sched_waking", "p" },
	{ "sched:sched_wakeup*", "p" },		{ "sched:sched_migrate_task", "p" },
	{ "sched:sched_process_exit", "p" },	{ "sched:sched_process_exec", "p" },
	{ "sched:sched_process_free", "p" },	{ "sched:sched_wait_task", "p" },
	{ "sched:sched_process_hang", "tsk" },	{ "sched:sched_pi_setprio", "tsk" },
	{ "sched:sched_stat_*", "tsk" },	{ "task:task_newtask", "task" },
	{ "task:task_rename", "task" },		{ "cgroup:cgroup_*_task*", "task" },
};

/* Names of their formats. A signal without siginfo has code 0: SI_USER. */
static const struct {
	const char *target;
	const char *name;
	const char *path;
} paths[] = {
	{ "signal:signal_generate", "code", "info.si_code" },
	{ "signal:signal_generate", "errno", "info.si_errno" },
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
	const char *name;
	const struct symbol *symbols;
} symbols[] = {
	{ "signal:*", "sig", symbols_signal },
	{ "*", "ret", symbols_errno },
	{ "*", "err", symbols_errno },
	{ "*", "error", symbols_errno },
};

static const struct {
	const char *target;
	const char *names[4];
} shown[] = {
	{ "signal:signal_generate", { "sig", "code" } },
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

void tracepoint_info__subject(const char *target, const struct btf_trace *t, int *ret_task,
			      int *ret_pid)
{
	*ret_task = *ret_pid = -1;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		int task, pid;

		if (fnmatch(subjects[i].target, target, 0))
			continue;
		task = find_arg(t, subjects[i].task);
		pid = find_arg(t, subjects[i].pid);
		if (task >= 0 && btf_trace__arg_points_to(t, task, "task_struct"))
			*ret_task = task;
		else if (pid >= 0)
			*ret_pid = pid;
		return;
	}
}

const char *tracepoint_info__path(const char *target, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!strcmp(paths[i].name, name) && !fnmatch(paths[i].target, target, 0))
			return paths[i].path;
	}
	return name;
}

const struct symbol *tracepoint_info__symbols(const char *target, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (!strcmp(symbols[i].name, name) && !fnmatch(symbols[i].target, target, 0))
			return symbols[i].symbols;
	}
	return NULL;
}

const char *tracepoint_info__shown(const char *target, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		if (!strcmp(shown[i].target, target))
			return n < ARRAY_SIZE(shown[i].names) ? shown[i].names[n] : NULL;
	}
	return NULL;
}
