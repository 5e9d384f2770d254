// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "common/call_filter.h"
#include "common/cleanup.h"
#include "common/opening_calls.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define CHANGES_FILES ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND))
#define NAMELESS      ((uint32_t)(O_TMPFILE | O_RDWR | O_CLOEXEC))

/* The most frequent calls first. A filter cannot see the flags of openat2(): they are in memory. */
static const int opening_calls[] = {
	SYS_openat2,	  SYS_fstat,	   SYS_newfstatat,    SYS_close,	SYS_recvmsg,
	SYS_sendmsg,	  SYS_fstatfs,	   SYS_pread64,	      SYS_readlinkat,	SYS_read,
	SYS_capget,	  SYS_capset,	   SYS_geteuid,	      SYS_getpid,	SYS_brk,
	SYS_mmap,	  SYS_munmap,	   SYS_mremap,	      SYS_madvise,	SYS_lseek,
	SYS_memfd_create, SYS_write,	   SYS_pwrite64,      SYS_statx,	SYS_fcntl,
	SYS_ftruncate, /* of a copy in memory: files are open for reading only */
	SYS_getrandom,	  SYS_futex,	   SYS_clock_gettime, SYS_rt_sigreturn, SYS_restart_syscall,
	SYS_exit_group,
#ifdef SYS_open
	SYS_stat,	  SYS_lstat,	   SYS_readlink,
#endif
#if IS_SANITIZED
	SYS_openat,	  SYS_sched_yield, SYS_gettid,	      SYS_sigaltstack,	SYS_rt_sigprocmask,
	SYS_mprotect,	  SYS_prctl,
#endif
};

int opening_calls__limit(void)
{
	struct call_filter f;
	int err;

	call_filter__begin(&f);
	call_filter__allow(&f, opening_calls, ARRAY_SIZE(opening_calls));
	call_filter__allow_if(&f, SYS_openat, 2, CHANGES_FILES, O_RDONLY);
	call_filter__allow_if(&f, SYS_openat, 2, ~0U, NAMELESS);
	call_filter__allow_if(&f, SYS_ioctl, 1, ~0U, (uint32_t)FS_IOC_GETVERSION);
	call_filter__allow_if(&f, SYS_prctl, 0, ~0U, PR_SET_VMA);
	err = call_filter__install(&f, SECCOMP_RET_TRAP);
	return err == -ENOSYS ? 0 : err;
}
