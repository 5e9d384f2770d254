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
#include "common/rights.h"
#include "record/privilege.h"

static const struct privilege all[] = {
	{ "CAP_PERFMON", CAP_PERFMON, "perf events and BPF programs that read the kernel", true },
	{ "CAP_BPF", CAP_BPF, "the rules' BPF programs", true },
	{ "CAP_IPC_LOCK", CAP_IPC_LOCK, "rings of more than kernel.perf_event_mlock_kb", false },
	{ "CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, "tracepoints: tracefs is closed to others",
	  false },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, "the maps of other users' processes", false },
	{ "CAP_SYSLOG", CAP_SYSLOG, "the names of kernel functions, with kernel.kptr_restrict",
	  false },
	{ "CAP_SYS_NICE", CAP_SYS_NICE, "freezing the rings in real time", false },
	{ "CAP_CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE,
	  "functions of programs whose file was replaced or removed", false },
};

static bool has_cap(cap_t caps, int cap)
{
	cap_flag_value_t v = CAP_CLEAR;

	if (rights__can_raise(cap))
		return true;
	return cap_get_flag(caps, cap, CAP_EFFECTIVE, &v) == 0 && v == CAP_SET;
}

/* As perf_mmap() decides (kernel/events/core.c). */
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
	case CAP_BPF: /* before Linux 5.8 parts of CAP_SYS_ADMIN, which still covers them */
		return !has_cap(caps, CAP_SYS_ADMIN);
	case CAP_IPC_LOCK:
		return !may_lock();
	case CAP_DAC_READ_SEARCH:
		return !tracefs_is_open();
	case CAP_CHECKPOINT_RESTORE: /* before Linux 5.9, CAP_SYS_ADMIN is needed instead */
		return CAP_IS_SUPPORTED(CAP_CHECKPOINT_RESTORE) || !has_cap(caps, CAP_SYS_ADMIN);
	}
	return true;
}

size_t privilege__missing(const struct privilege *ret[static PRIVILEGES_MAX])
{
	cap_t caps = cap_get_proc();
	size_t n = 0;

	for (size_t i = 0; caps && i < ARRAY_SIZE(all); i++) {
		if (!has_cap(caps, all[i].cap) && is_needed(&all[i], caps))
			ret[n++] = &all[i];
	}
	cap_free(caps);
	return n;
}

/* List the capabilities as "CAP_BPF (...), CAP_IPC_LOCK (...)". */
static int list_missing(struct buf *b, const struct privilege *const *v, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = buf__printf(b, "%s%s (%s)", i ? ", " : "", v[i]->name, v[i]->why);
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

int privilege__remedy(struct buf *b)
{
	char exe[PATH_MAX] = "frbpf";
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int err;

	if (len > 0)
		exe[len] = '\0';
	err = buf__add_str(b, "run it as root, or once:  sudo setcap ");
	err = err ?: list_lower(b);
	err = err ?: buf__printf(b, "+ep %s\nin a container:  ", exe);
	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++)
		err = buf__printf(b, "%s--cap-add %s", i ? " " : "", all[i].name + strlen("CAP_"));
	return err ? err
		   : buf__printf(
			     b,
			     "\n(whoever may execute it then watches the whole machine; first give "
			     "it a group:  sudo chgrp GROUP %s; sudo chmod 0750 %s)",
			     exe, exe);
}

int privilege__explain(const char *what, struct err *err)
{
	const struct privilege *v[PRIVILEGES_MAX];
	size_t n = privilege__missing(v);
	struct buf b = { 0 };
	int code = buf__printf(&b, "%s", what);

	if (n) {
		code = code ?: buf__add_str(&b, "\nmissing: ");
		code = code ?: list_missing(&b, v, n);
		code = code ?: buf__add_str(&b, "\n");
		code = code ?: privilege__remedy(&b);
	}
	err_set(err, -EPERM, "%s", code ? what : b.data);
	buf__free(&b);
	return -EPERM;
}

int privilege__check(struct err *ret_less, struct err *err)
{
	const struct privilege *v[PRIVILEGES_MAX];
	size_t n = privilege__missing(v);
	struct buf less = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (v[i]->must)
			return privilege__explain("not allowed to record", err);
	}
	if (n && !list_missing(&less, v, n))
		err_set(ret_less, 0, "%s", less.data);
	buf__free(&less);
	return 0;
}

long sysctl__kernel(const char *name, long missing)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[PATH_MAX];
	long n;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%ld", &n) != 1)
		return missing;
	return n;
}
