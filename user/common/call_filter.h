/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of allowed system calls (seccomp). Building it allocates no memory and cannot fail;
 * installing it reports a list that is too long:
 *
 *	call_filter__begin(&f);
 *	call_filter__allow(&f, calls, n);
 *	call_filter__allow_if(&f, SYS_bpf, 0, ~0U, BPF_BTF_LOAD);
 *	err = call_filter__install(&f, SECCOMP_RET_KILL_PROCESS);
 */
#ifndef FRBPF_COMMON_CALL_FILTER_H
#define FRBPF_COMMON_CALL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The address sanitizer reserves terabytes of addresses, and makes calls of its own. */
#if defined(__has_feature)
#define IS_SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#define CALL_FILTER_MAX 1024

struct call_filter {
	size_t n;
	bool is_full;
	struct sock_filter v[CALL_FILTER_MAX];
};

void call_filter__begin(struct call_filter *f);
/*
 * Begin a list of refused calls instead, to be installed with SECCOMP_RET_ALLOW. It refuses with
 * EPERM to put input into a terminal as if it were typed there (TIOCSTI, TIOCLINUX), also to 32-bit
 * programs.
 */
void call_filter__begin_no_typing(struct call_filter *f);
/* Allow the calls @nrs. List the most frequent first: the kernel compares in this order. */
void call_filter__allow(struct call_filter *f, const int *nrs, size_t n);
/*
 * Allow call @nr if the low 32 bits of argument @arg, masked by @mask, equal @value. May be added
 * several times for one call.
 */
void call_filter__allow_if(struct call_filter *f, int nr, unsigned int arg, uint32_t mask,
			   uint32_t value);
/*
 * Under the condition of call_filter__allow_if(), call @nr fails with @err, silently. Add it before
 * any entry that allows the call.
 */
void call_filter__refuse_if(struct call_filter *f, int nr, unsigned int arg, uint32_t mask,
			    uint32_t value, uint16_t err);
/* Call @nr fails with @err, silently. */
void call_filter__refuse(struct call_filter *f, int nr, uint16_t err);
/*
 * Put the list in force for all threads, for good. Calls that it does not decide get @otherwise, a
 * SECCOMP_RET_ value. Needs no_new_privs or CAP_SYS_ADMIN. -ENOSYS: the kernel has no seccomp
 * filters; -EOVERFLOW: the list is too long.
 */
int call_filter__install(struct call_filter *f, uint32_t otherwise);

#endif
