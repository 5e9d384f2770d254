// SPDX-License-Identifier: GPL-2.0-only
/* This program unwinds its own stack, and compares that with backtrace(3). */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <alloca.h>
#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "symbols/unwind.h"

#define FRAMES 64
#define STACK  (64 << 10)

struct caught {
	uint64_t regs[33]; /* by perf's numbers */
	uint64_t mask;
	char stack[STACK];
	uint64_t stack_size;
	void *wanted[FRAMES];
	int n_wanted;
};

static struct caught caught;

static void catch_registers(const ucontext_t *uc)
{
#if defined(__x86_64__)
	static const int from[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_RIP, -1,	-1,	 -1,
				    -1,	     -1,      -1,      -1,	REG_R8,	 REG_R9,
				    REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		if (from[i] < 0)
			continue;
		caught.mask |= 1ULL << i;
		caught.regs[n++] = uc->uc_mcontext.gregs[from[i]];
	}
#else
	caught.mask = (1ULL << 33) - 1;
	for (int i = 0; i < 31; i++)
		caught.regs[i] = uc->uc_mcontext.regs[i];
	caught.regs[31] = uc->uc_mcontext.sp;
	caught.regs[32] = uc->uc_mcontext.pc;
#endif
}

static uint64_t context_sp(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return uc->uc_mcontext.gregs[REG_RSP];
#else
	return uc->uc_mcontext.sp;
#endif
}

/* Bytes from @sp to the end of the stack. */
static uint64_t bytes_above(uint64_t sp)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &low, &size), 0);
	pthread_attr_destroy(&attr);
	return (uint64_t)(uintptr_t)low + size - sp;
}

static __attribute__((noinline, no_sanitize("address"))) void catch_here(void)
{
	ucontext_t uc;
	uint64_t sp;

	memset(&caught, 0, sizeof(caught));
	caught.n_wanted = backtrace(caught.wanted, FRAMES);
	assert_int_equal(getcontext(&uc), 0);
	catch_registers(&uc);
	sp = context_sp(&uc);
	caught.stack_size = bytes_above(sp);
	if (caught.stack_size > STACK)
		caught.stack_size = STACK;
	/* not memcpy(): AddressSanitizer poisons parts of a stack */
	for (uint64_t i = 0; i < caught.stack_size; i++)
		caught.stack[i] = ((const volatile char *)(uintptr_t)sp)[i];
}

static __attribute__((noinline)) int below_sort(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (!caught.n_wanted)
		catch_here();
	return 0;
}

/* Through a function of the C library, and one with a frame of variable size. */
static __attribute__((noinline)) int through_library(size_t n)
{
	int *v = alloca(n * sizeof(*v));

	memset(v, 0, n * sizeof(*v));
	caught.n_wanted = 0;
	qsort(v, n, sizeof(v[0]), below_sort);
	return v[n - 1];
}

static void read_own_maps(struct task_model *m)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[8192];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct task_map map = { .prot = PROT_READ | PROT_EXEC };
		uint64_t end;
		char prot[5];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &map.start,
			   &end, prot, &map.pgoff, &at) < 4 ||
		    prot[2] != 'x')
			continue;
		line[strcspn(line, "\n")] = '\0';
		map.len = end - map.start;
		map.name = line + at;
		map.name_len = strlen(map.name);
		if (map.name_len)
			assert_int_equal(task_model__add_map(m, getpid(), &map), 0);
	}
	fclose(f);
}

static size_t unwind_caught(const char *arch, uint64_t *ips, size_t max)
{
	const struct unwind_state state = { .arch = arch,
					    .regs = caught.regs,
					    .regs_mask = caught.mask,
					    .stack = caught.stack,
					    .stack_size = caught.stack_size };
	struct kernel_space kernel = { 0 };
	struct task_model *m;
	struct symbols *s;
	size_t n;

	assert_int_equal(symbols__new(&s), 0);
	assert_int_equal(task_model__new(&m), 0);
	read_own_maps(m);
	n = unwind__frames(s, m, &kernel, getpid(), &state, ips, max);
	task_model__free(m);
	symbols__free(s);
	return n;
}

static void test_own_stack(void **state)
{
	uint64_t ips[FRAMES];
	size_t n;
	int first;

	(void)state;
	through_library(100);
	assert_true(caught.n_wanted > 5);
	n = unwind_caught(NULL, ips, FRAMES);
	/* the first is another place in the same function; backtrace() may start with itself */
	for (first = 0; first < 3 && ips[1] + 1 != (uint64_t)(uintptr_t)caught.wanted[first];
	     first++)
		;
	assert_true(first < 3);
	for (int i = first; i < caught.n_wanted && (size_t)(i - first) + 1 < n; i++)
		assert_int_equal(ips[i - first + 1] + 1, (uint64_t)(uintptr_t)caught.wanted[i]);
	assert_true((int)n > caught.n_wanted - first);
	assert_int_equal(unwind_caught(NULL, ips, 3), 3);
}

/* The recorded stack ends within a frame. */
static void test_short_stack(void **state)
{
	uint64_t all[FRAMES], some[FRAMES];
	size_t n_all, n = 0, before;

	(void)state;
	through_library(100);
	n_all = unwind_caught(NULL, all, FRAMES);
	for (uint64_t size = 0; size <= 2048; size += 256) {
		caught.stack_size = size;
		before = n;
		n = unwind_caught(NULL, some, FRAMES);
		assert_true(n >= before && n >= 1 && n <= n_all);
		assert_memory_equal(some, all, n * sizeof(*some));
	}
}

static void test_nothing_to_go_by(void **state)
{
	uint64_t ips[FRAMES];

	(void)state;
	through_library(100);
	assert_int_equal(unwind_caught("s390x", ips, FRAMES), 0);
	caught.mask = 1; /* neither stack pointer nor program counter */
	assert_int_equal(unwind_caught(NULL, ips, FRAMES), 0);
	caught.mask = 0;
	assert_int_equal(unwind_caught(NULL, ips, FRAMES), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_short_stack),
		cmocka_unit_test(test_nothing_to_go_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
