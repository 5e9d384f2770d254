// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "record/sysctl.h"
#include "run/privilege.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static const struct privilege all[] = {
	{ "CAP_PERFMON", CAP_PERFMON, "perf events and BPF programs that read the kernel", true },
	{ "CAP_BPF", CAP_BPF, "the rules' BPF programs", true },
	{ "CAP_IPC_LOCK", CAP_IPC_LOCK, "rings larger than kernel.perf_event_mlock_kb", true },
	{ "CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, "tracepoints: tracefs is closed to others",
	  false },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, "the maps of other users' processes", false },
	{ "CAP_SYSLOG", CAP_SYSLOG, "the names of kernel functions, with kernel.kptr_restrict",
	  false },
	{ "CAP_SYS_NICE", CAP_SYS_NICE, "freezing the rings in real time", false },
};

static bool has(cap_t caps, int cap)
{
	cap_flag_value_t v = CAP_CLEAR;

	return cap_get_flag(caps, cap, CAP_EFFECTIVE, &v) == 0 && v == CAP_SET;
}

/* As perf_mmap() decides it (kernel/events/core.c). */
static bool may_lock(void)
{
	struct rlimit rl;

	return sysctl__kernel("perf_event_paranoid", 2) < 0 ||
	       (getrlimit(RLIMIT_MEMLOCK, &rl) == 0 && rl.rlim_cur == RLIM_INFINITY);
}

static bool tracefs_is_open(void)
{
	static const char *const paths[] = { "/sys/kernel/tracing/events",
					     "/sys/kernel/debug/tracing/events" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (faccessat(AT_FDCWD, paths[i], R_OK | X_OK, AT_EACCESS) == 0)
			return true;
	}
	return false;
}

static bool is_needed(const struct privilege *p, cap_t caps)
{
	switch (p->cap) {
	case CAP_PERFMON:
	case CAP_BPF: /* they were one capability before 5.8, which still holds all of them */
		return !has(caps, CAP_SYS_ADMIN);
	case CAP_IPC_LOCK:
		return !may_lock();
	case CAP_DAC_READ_SEARCH:
		return !tracefs_is_open();
	}
	return true;
}

size_t privilege__missing(const struct privilege *ret[static PRIVILEGES_MAX])
{
	cap_t caps = cap_get_proc();
	size_t n = 0;

	for (size_t i = 0; caps && i < ARRAY_SIZE(all); i++) {
		if (!has(caps, all[i].cap) && is_needed(&all[i], caps))
			ret[n++] = &all[i];
	}
	cap_free(caps);
	return n;
}

/* "CAP_BPF (...), CAP_IPC_LOCK (...)" */
static int list_missing(struct buf *b, const struct privilege *const *v, size_t n, bool must)
{
	bool first = true;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		if (v[i]->must != must)
			continue;
		err = buf__printf(b, "%s%s (%s)", first ? "" : ", ", v[i]->name, v[i]->why);
		first = false;
	}
	return err;
}

static int list_lower(struct buf *b)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++) {
		err = buf__add_str(b, i ? "," : "");
		for (const char *c = all[i].name; *c && !err; c++)
			err = buf__printf(b, "%c", *c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
	}
	return err;
}

static int explain(const struct privilege *const *v, size_t n, struct err *err)
{
	struct buf missing = { 0 }, caps = { 0 };
	char exe[PATH_MAX] = "frbpf";
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (len > 0)
		exe[len] = '\0';
	if (list_missing(&missing, v, n, true) || list_lower(&caps))
		err_set(err, -ENOMEM, "out of memory");
	else
		err_set(err, -EPERM,
			"not allowed to record: missing %s\n"
			"run it as root, or once:  sudo setcap %s+ep %s\n"
			"in a container:  --cap-add PERFMON --cap-add BPF --cap-add IPC_LOCK "
			"--cap-add "
			"DAC_READ_SEARCH --cap-add SYS_PTRACE --cap-add SYSLOG --cap-add SYS_NICE",
			missing.data, caps.data, exe);
	buf__free(&missing);
	buf__free(&caps);
	return -EPERM;
}

int privilege__check(struct err *ret_less, struct err *err)
{
	const struct privilege *v[PRIVILEGES_MAX];
	size_t n = privilege__missing(v), must = 0;
	struct buf less = { 0 };

	for (size_t i = 0; i < n; i++)
		must += v[i]->must;
	if (must)
		return explain(v, n, err);
	if (n && !list_missing(&less, v, n, false))
		err_set(ret_less, 0, "%s", less.data);
	buf__free(&less);
	return 0;
}
