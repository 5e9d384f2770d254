// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/capability.h>
#include <sys/syscall.h>

#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/landlock.h"
#include "common/limit.h"
#include "common/opening.h"
#include "common/rights.h"
#include "examine/sandbox.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#define CPU_MAX	      20	    /* s of CPU time, in total */
#define DATA_MAX      (512UL << 20) /* bytes of private memory */
#define ADDRESSES_MAX (4UL << 30)

int sandbox__keeper(void)
{
	/* the third is for /proc/PID/map_files; before Linux 5.9 that needed CAP_SYS_ADMIN */
	static const int keep[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE };
	static const int old[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN };

	return CAP_IS_SUPPORTED(CAP_CHECKPOINT_RESTORE) ? rights__keep(keep, ARRAY_SIZE(keep))
							: rights__keep(old, ARRAY_SIZE(old));
}

int sandbox__opener(void)
{
	return sandbox__keeper() ?: opening_calls__limit();
}

/* The most frequent calls first. qsort() asks how much memory there is, by sysinfo(). */
static const int parser_calls[] = {
	SYS_pread64,	  SYS_pwrite64,	       SYS_read,	 SYS_brk,
	SYS_mmap,	  SYS_munmap,	       SYS_mremap,	 SYS_madvise,
	SYS_lseek,	  SYS_close,	       SYS_fstat,	 SYS_newfstatat,
	SYS_fcntl,	  SYS_ftruncate,       SYS_memfd_create, SYS_recvmsg,
	SYS_sendto,	  SYS_clock_gettime,   SYS_getrandom,	 SYS_futex,
	SYS_rt_sigreturn, SYS_restart_syscall, SYS_sysinfo,	 SYS_exit_group,
#if IS_SANITIZED
	SYS_write,	  SYS_sched_yield,     SYS_getpid,	 SYS_gettid,
	SYS_sigaltstack,  SYS_rt_sigprocmask,  SYS_mprotect,	 SYS_prctl,
#endif
};

static int filter_parser_calls(void)
{
	struct call_filter f;
	int err;

	call_filter__begin(&f);
	call_filter__allow(&f, parser_calls, ARRAY_SIZE(parser_calls));
	err = call_filter__install(&f, SECCOMP_RET_KILL_PROCESS);
	return err == -ENOSYS ? 0 : err;
}

int sandbox__parser(void)
{
	int err = limit__set(RLIMIT_CPU, CPU_MAX) ?: limit__set(RLIMIT_CORE, 0);

	if (!IS_SANITIZED)
		err = err ?: limit__set(RLIMIT_DATA, DATA_MAX)
				     ?: limit__set(RLIMIT_AS, ADDRESSES_MAX);
	err = err ?: rights__keep(NULL, 0);
	return err ?: landlock__no_files() ?: filter_parser_calls();
}
