// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/rights.h"
#include "examine/sandbox.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1 /* it reserves terabytes of addresses, and maps its own memory */
#else
#define IS_SANITIZED 0
#endif

#define CPU_MAX	      20	    /* s, in its whole life */
#define DATA_MAX      (512UL << 20) /* bytes of its own memory */
#define ADDRESSES_MAX (4UL << 30)

int sandbox__opener(void)
{
	/* of the last two one: to follow /proc/PID/map_files, before Linux 5.9 the other */
	static const int keep[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE };
	static const int old[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN };

	return CAP_IS_SUPPORTED(CAP_CHECKPOINT_RESTORE) ? rights__keep(keep, ARRAY_SIZE(keep))
							: rights__keep(old, ARRAY_SIZE(old));
}

#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* In the order of how often they are called. */
static struct sock_filter parser_calls[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(pread64),
	ALLOW(pwrite64),
	ALLOW(read),
	ALLOW(brk),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
	ALLOW(lseek),
	ALLOW(close),
	ALLOW(fstat),
	ALLOW(newfstatat),
	ALLOW(fcntl),
	ALLOW(ftruncate),
	ALLOW(memfd_create),
	ALLOW(recvmsg),
	ALLOW(sendto),
	ALLOW(clock_gettime),
	ALLOW(getrandom),
	ALLOW(futex),
	ALLOW(rt_sigreturn),
	ALLOW(restart_syscall),
	ALLOW(sysinfo), /* qsort() asks how much memory there is */
	ALLOW(exit_group),
#if IS_SANITIZED
	ALLOW(write),
	ALLOW(sched_yield),
	ALLOW(getpid),
	ALLOW(gettid),
	ALLOW(sigaltstack),
	ALLOW(rt_sigprocmask),
	ALLOW(mprotect),
	ALLOW(prctl),
#endif
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static int filter_calls(void)
{
	const struct sock_fprog prog = { ARRAY_SIZE(parser_calls), parser_calls };

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0))
		return 0;
	return errno == EINVAL ? 0 : -errno; /* a kernel without CONFIG_SECCOMP_FILTER */
}

static int limit(int resource, rlim_t max)
{
	const struct rlimit rl = { max, max };

	return setrlimit(resource, &rl) ? -errno : 0;
}

int sandbox__parser(void)
{
	int ret = limit(RLIMIT_CPU, CPU_MAX) ?: limit(RLIMIT_CORE, 0);

	if (!IS_SANITIZED)
		ret = ret ?: limit(RLIMIT_DATA, DATA_MAX) ?: limit(RLIMIT_AS, ADDRESSES_MAX);
	ret = ret ?: rights__keep(NULL, 0);
	return ret ?: filter_calls();
}
