// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/call_filter.h"
#include "common/cleanup.h"

/* SMALL_IOCTL: the number of ioctl() in 32-bit programs, the same on both machines */
#if defined(__x86_64__)
#define OWN_ARCH   AUDIT_ARCH_X86_64
#define SMALL_ARCH AUDIT_ARCH_I386
#define X32_IOCTL  (0x40000000 | 514)
#elif defined(__aarch64__)
#define OWN_ARCH   AUDIT_ARCH_AARCH64
#define SMALL_ARCH AUDIT_ARCH_ARM
#define X32_IOCTL  SYS_ioctl
#endif
#define SMALL_IOCTL 54

#ifndef TIOCLINUX
#define TIOCLINUX 0x541c
#endif

#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define LOAD_NR	 LOAD(offsetof(struct seccomp_data, nr))

/* Both machines are little-endian: the low half of an argument comes first. */
#define LOAD_ARG(i) LOAD(offsetof(struct seccomp_data, args) + (i) * sizeof(uint64_t))

static void call_filter__add(struct call_filter *f, const struct sock_filter *v, size_t n)
{
	f->is_full |= f->n + n > CALL_FILTER_MAX;
	for (size_t i = 0; i < n && !f->is_full; i++)
		f->v[f->n++] = v[i];
}

void call_filter__begin(struct call_filter *f)
{
	const struct sock_filter head[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		LOAD_NR,
	};

	f->n = 0;
	f->is_full = false;
	call_filter__add(f, head, ARRAY_SIZE(head));
}

void call_filter__allow(struct call_filter *f, const int *nrs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sock_filter one[] = {
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nrs[i], 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};

		call_filter__add(f, one, ARRAY_SIZE(one));
	}
}

static void call_filter__add_if(struct call_filter *f, int nr, unsigned int arg, uint32_t mask,
				uint32_t value, uint32_t action)
{
	const struct sock_filter one[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 5),
		LOAD_ARG(arg),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		LOAD_NR,
	};

	call_filter__add(f, one, ARRAY_SIZE(one));
}

void call_filter__allow_if(struct call_filter *f, int nr, unsigned int arg, uint32_t mask,
			   uint32_t value)
{
	call_filter__add_if(f, nr, arg, mask, value, SECCOMP_RET_ALLOW);
}

void call_filter__refuse_if(struct call_filter *f, int nr, unsigned int arg, uint32_t mask,
			    uint32_t value, uint16_t err)
{
	call_filter__add_if(f, nr, arg, mask, value, SECCOMP_RET_ERRNO | err);
}

void call_filter__refuse(struct call_filter *f, int nr, uint16_t err)
{
	const struct sock_filter one[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
	};

	call_filter__add(f, one, ARRAY_SIZE(one));
}

void call_filter__begin_no_typing(struct call_filter *f)
{
	/* the last two numbers of a jump: instructions to skip if true, if false */
	const struct sock_filter v[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SMALL_ARCH, 0, 5),
		LOAD_NR,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SMALL_IOCTL, 4, 3),
		LOAD_NR,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, X32_IOCTL, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		LOAD_ARG(1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};

	*f = (struct call_filter){ 0 };
	call_filter__add(f, v, ARRAY_SIZE(v));
}

int call_filter__install(struct call_filter *f, uint32_t otherwise)
{
	const struct sock_filter last = BPF_STMT(BPF_RET | BPF_K, otherwise);
	struct sock_fprog prog = { .filter = f->v };
	long ret;

	call_filter__add(f, &last, 1);
	if (f->is_full)
		return -EOVERFLOW;
	prog.len = f->n;
	ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (ret > 0) /* the id of a thread that has another filter */
		return -ESRCH;
	if (!ret)
		return 0;
	return errno == EINVAL ? -ENOSYS : -errno; /* without CONFIG_SECCOMP_FILTER */
}
