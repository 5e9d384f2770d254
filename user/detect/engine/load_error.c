// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/engine/load_error.h"

#define KERNEL_BTF	 "/sys/kernel/btf/vmlinux"
#define VERIFIER_BEGIN	 "-- BEGIN PROG LOAD LOG --\n"
#define VERIFIER_END	 "-- END PROG LOAD LOG --"
#define VERIFIER_SUMMARY "\nprocessed " /* last line: "processed N insns (limit ...) ..." */
#define VERIFIER_LINES	 4

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* include/linux/errno.h, not in uapi: from the JIT compiler */
#endif

/* libbpf has one print callback per process; the messages belong to the thread that loads. */
static __thread struct load_log *current_log;

/* Keep the last lines of a verifier log: they name the instruction and what is wrong with it. */
static void keep_verifier_tail(struct load_log *log, char *text)
{
	char *end = strstr(text, VERIFIER_END), *summary = NULL, *p;
	int lines = 0;

	if (end)
		*end = '\0';
	for (p = text; (p = strstr(p, VERIFIER_SUMMARY)); p++)
		summary = p;
	end = summary ? summary : text + strlen(text);
	while (end > text && end[-1] == '\n')
		end--;
	*end = '\0';
	for (p = end; p > text; p--) {
		if (p[-1] == '\n' && ++lines == VERIFIER_LINES)
			break;
		if (end - p + 1 == (ptrdiff_t)sizeof(log->verifier) - 1)
			break;
	}
	snprintf(log->verifier, sizeof(log->verifier), "%s", p);
}

static void keep_cause(struct load_log *log, const char *text)
{
	if (!strncmp(text, "libbpf: ", 8))
		text += 8;
	snprintf(log->cause, sizeof(log->cause), "%.*s", (int)strcspn(text, "\n"), text);
}

__attribute__((format(printf, 2, 0))) static int
capture_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	struct load_log *log = current_log;
	_cleanup_free_ char *text = NULL;
	char *verifier;

	if (!log || level != LIBBPF_WARN)
		return 0;
	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL;
		return 0;
	}
	verifier = strstr(text, VERIFIER_BEGIN);
	if (verifier)
		keep_verifier_tail(log, verifier + strlen(VERIFIER_BEGIN));
	else if (!log->cause[0])
		keep_cause(log, text);
	return 0;
}

void load_log__begin(struct load_log *log)
{
	memset(log, 0, sizeof(*log));
	current_log = log;
	libbpf_set_print(capture_log);
}

void load_log__end(void)
{
	current_log = NULL;
}

int load_error__check_kernel(struct err *err)
{
	if (!access(KERNEL_BTF, F_OK))
		return 0;
	return err_set(err, -EOPNOTSUPP,
		       "this kernel has no type information (no " KERNEL_BTF
		       "): rules need one built with CONFIG_DEBUG_INFO_BTF=y");
}

/*
 * Is the kernel too old? Of what every source needs, task_struct::__state is the most recent (see
 * bpf/compat.bpf.h). Kernels without it fail at different things: task storage maps, types,
 * instructions.
 */
static bool btf_too_old(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *task;
	bool old = false;
	int id;

	id = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	if (id > 0) {
		task = btf__type_by_id(btf, id);
		old = true;
		for (int i = 0; old && i < btf_vlen(task); i++)
			old = strcmp(btf__name_by_offset(btf, btf_members(task)[i].name_off),
				     "__state") != 0;
	}
	btf__free(btf);
	return old;
}

int load_error__explain(struct err *err, int code, const struct load_log *log)
{
	static const char no_btf_id[] = "failed to find kernel BTF type ID of '";
	struct utsname un = { 0 };
	const char *p;

	if (btf_too_old() && !uname(&un))
		return err_set(err, code,
			       "this kernel (%s) is too old: rules need Linux 5.14 or later",
			       un.release);
	if (code == -ENOTSUPP)
		return err_set(err, code,
			       "the kernel cannot compile the program for this processor (on arm64 "
			       "its atomic instructions need Linux 5.18 or later)");
	if (log->verifier[0])
		return err_set(err, code, "the kernel's verifier refused the program (%s):\n%s",
			       strerror(-code), log->verifier);
	if (code == -EPERM || code == -EACCES)
		return err_set(err, code,
			       "not allowed to load BPF programs: this needs root, or the "
			       "capabilities CAP_BPF and CAP_PERFMON; uprobe and usdt rules "
			       "also need CAP_SYS_ADMIN");
	if (code == -EPIPE)
		return err_set(
			err, code,
			"frbpf-admin, the process that opens probes, has died: restart frbpf");
	if (code == -ENOSYS)
		return err_set(err, code, "this kernel has no BPF: it needs CONFIG_BPF_SYSCALL=y");
	p = strstr(log->cause, no_btf_id);
	if (p) {
		p += strlen(no_btf_id);
		return err_set(err, code,
			       "this kernel has no tracepoint '%.*s' (it needs CONFIG_FTRACE, and "
			       "CONFIG_FTRACE_SYSCALLS for system calls)",
			       (int)strcspn(p, "'"), p);
	}
	return err_set(err, code, "%s%s%s", strerror(-code), log->cause[0] ? ": " : "", log->cause);
}
