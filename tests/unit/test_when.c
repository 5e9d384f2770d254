// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "rules/target.h"
#include "rules/when_probe.h"

#define UNTOUCHED 4711

static int parse(const char *text, struct when *ret, char *message, size_t size)
{
	struct source_text *src;
	struct diags d = { 0 };
	int err;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	err = when__parse(src, (struct span){ 0, strlen(text) }, &d, ret);
	assert_int_equal(err != 0, diags__failed(&d));
	message[0] = '\0';
	if (d.n)
		strncat(message, d.v[0].msg, size - 1);
	diags__free(&d);
	source_text__free(src);
	return err;
}

static bool when_has_key(const struct when *w, int nr)
{
	return w->keys[nr / 64] >> (nr % 64) & 1;
}

static int n_keys(const struct when *w)
{
	int n = 0;

	for (int i = 0; i < FRBPF_KEY_WORDS; i++)
		n += __builtin_popcountll(w->keys[i]);
	return n;
}

static void accepted(void **state)
{
	static const struct {
		const char *text;
		enum frbpf_source source;
		uint64_t threshold;
		int n_keys;
	} cases[] = {
		{ "runqlat > 20ms", FRBPF_SOURCE_RUNQLAT, 20000000, 0 },
		{ "runqlat>20ms", FRBPF_SOURCE_RUNQLAT, 20000000, 0 },
		{ " \t runqlat  >  1.5us ", FRBPF_SOURCE_RUNQLAT, 1500, 0 },
		{ "runqlat \\\n > \\\r\n 1ns", FRBPF_SOURCE_RUNQLAT, 1, 0 },
		{ "syscall:fsync > 50ms", FRBPF_SOURCE_SYSCALL, 50000000, 1 },
		{ "syscall:fsync,read>1s", FRBPF_SOURCE_SYSCALL, 1000000000, 2 },
		{ "syscall : fsync , read , write > 1s", FRBPF_SOURCE_SYSCALL, 1000000000, 3 },
		{ "syscall:fsync fails", FRBPF_SOURCE_SYSCALL, 0, 1 },
		{ "syscall:fsync,read fails (EIO)", FRBPF_SOURCE_SYSCALL, 0, 2 },
		{ "syscall:fsync fails(EIO , ENOSPC)", FRBPF_SOURCE_SYSCALL, 0, 1 },
		{ "blocked > 100ms", FRBPF_SOURCE_BLOCKED, 100000000, 0 },
		{ "offcpu > 1s", FRBPF_SOURCE_OFFCPU, 1000000000, 0 },
		{ "app:slow-request", FRBPF_SOURCE_APP, 0, 0 },
		{ "app:a.b_9 > 500ms", FRBPF_SOURCE_APP, 500000000, 0 },
		{ "psi:memory some > 150ms in 2s", FRBPF_SOURCE_PSI, 150000000, 0 },
		{ "psi:cpu full>1s in 10s of /a", FRBPF_SOURCE_PSI, 1000000000, 0 },
		{ "psi:irq full > 1us in 500ms", FRBPF_SOURCE_PSI, 1000, 0 },
		{ "blkio > 1ms", FRBPF_SOURCE_BLKIO, 1000000, 0 },
		{ "blkio.device>1ms", FRBPF_SOURCE_BLKIO_DEVICE, 1000000, 0 },
		{ "hardirq > 1ms", FRBPF_SOURCE_HARDIRQ, 1000000, 0 },
		{ "reclaim > 10ms", FRBPF_SOURCE_RECLAIM, 10000000, 0 },
		{ "connect > 1s", FRBPF_SOURCE_CONNECT, 1000000000, 0 },
		{ "connect fails", FRBPF_SOURCE_CONNECT, 0, 0 },
		{ "connect fails (ETIMEDOUT, ECONNREFUSED)", FRBPF_SOURCE_CONNECT, 0, 0 },
		{ "oom:mark_victim", FRBPF_SOURCE_TRACEPOINT, 0, 0 },
		{ " block : block_rq_issue ", FRBPF_SOURCE_TRACEPOINT, 0, 0 },
		{ "tracepoint:syscalls:sys_enter_read", FRBPF_SOURCE_TRACEPOINT, 0, 0 },
		{ "syscalls:sys_enter_read", FRBPF_SOURCE_TRACEPOINT, 0, 0 },
		{ "vsyscall:emulate_vsyscall", FRBPF_SOURCE_TRACEPOINT, 0, 0 },
		{ "spi:spi_message_start", FRBPF_SOURCE_TRACEPOINT, 0, 0 },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct when w;

		if (parse(cases[i].text, &w, message, sizeof(message)))
			fail_msg("'%s': %s", cases[i].text, message);
		assert_int_equal(w.source, cases[i].source);
		assert_int_equal(w.threshold, cases[i].threshold);
		assert_int_equal(n_keys(&w), cases[i].n_keys);
		if (cases[i].n_keys)
			assert_true(when_has_key(&w, __NR_fsync));
		assert_int_equal(w.hit, w.source == FRBPF_SOURCE_TRACEPOINT ||
						w.source == FRBPF_SOURCE_PSI ||
						(w.source == FRBPF_SOURCE_APP && !w.threshold));
		when__free(&w);
	}
}

static void softirq_vectors(void **state)
{
	static const struct {
		const char *text;
		uint64_t keys;
	} cases[] = {
		{ "softirq:net_rx > 2ms", 1 << 3 },
		{ "softirq : hi , rcu,net_tx > 2ms", 1 << 0 | 1 << 9 | 1 << 2 },
		{ "softirq:* > 2ms", 0x3ff },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct when w;

		if (parse(cases[i].text, &w, message, sizeof(message)))
			fail_msg("'%s': %s", cases[i].text, message);
		assert_int_equal(w.source, FRBPF_SOURCE_SOFTIRQ);
		assert_int_equal(w.threshold, 2000000);
		assert_int_equal(w.keys[0], cases[i].keys);
	}
}

static void pending(void **state)
{
	static const char *const texts[] = { "pending(blocked) > 5s", " pending ( blocked )>5s ",
					     "pending(blocked ) > 5000ms" };
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct when w;

		if (parse(texts[i], &w, message, sizeof(message)))
			fail_msg("'%s': %s", texts[i], message);
		assert_int_equal(w.source, FRBPF_SOURCE_BLOCKED);
		assert_true(w.pending);
		assert_int_equal(w.threshold, 5000000000);
	}
}

static void absent(void **state)
{
	static const struct {
		const char *text;
		enum frbpf_source source;
		uint64_t threshold;
		bool hit, fails;
	} cases[] = {
		{ "absent(syscall:write) > 5s", FRBPF_SOURCE_SYSCALL, 0 },
		{ "absent( syscall:write > 1ms )>5s", FRBPF_SOURCE_SYSCALL, 1000000 },
		{ "absent(syscall:write fails (EIO)) > 5s", FRBPF_SOURCE_SYSCALL, .fails = true },
		{ "absent(sched:sched_switch) > 5s", FRBPF_SOURCE_TRACEPOINT, 0, .hit = true },
		{ "absent(app:beat) > 5s", FRBPF_SOURCE_APP, 0, .hit = true },
		{ "absent(uprobe:/bin/x:f(int)) > 5s", FRBPF_SOURCE_UPROBE, 0, .hit = true },
		{ "absent(a:b -> a:c by tid) > 5s", FRBPF_SOURCE_SPAN, 0 },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct when w;

		if (parse(cases[i].text, &w, message, sizeof(message)))
			fail_msg("'%s': %s", cases[i].text, message);
		assert_int_equal(w.source, cases[i].source);
		assert_int_equal(w.threshold, cases[i].threshold);
		assert_int_equal(w.silence, 5000000000);
		assert_int_equal(w.hit, cases[i].hit);
		assert_int_equal(w.fails, cases[i].fails);
		assert_false(w.pending);
		when__free(&w);
	}
}

static void percentiles(void **state)
{
	static const struct {
		const char *text;
		struct when_learn learn;
		uint64_t least; /* ns */
		uint64_t values;
	} cases[] = {
		{ "runqlat > p99 * 4", { 9900, 400 }, 0, 1000 },
		{ "runqlat>p99.9*1.25", { 9990, 125 }, 0, 10000 },
		{ "syscall:read > max( p50 * 1000 , 5ms )", { 5000, 100000 }, 5000000, 20 },
		{ "app:x > max(p99.99 * 1,1us)", { 9999, 100 }, 1000, 100000 },
		{ "a:b -> a:c by tid > p90 * 2", { 9000, 200 }, 0, 100 },
		{ "uprobe:/bin/x:f > p90 * 2", { 9000, 200 }, 0, 100 },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct when w;

		if (parse(cases[i].text, &w, message, sizeof(message)))
			fail_msg("'%s': %s", cases[i].text, message);
		assert_int_equal(w.learn.percentile, cases[i].learn.percentile);
		assert_int_equal(w.learn.factor, cases[i].learn.factor);
		assert_int_equal(w.learn.time, 600000000000);
		assert_int_equal(w.threshold, cases[i].least);
		assert_int_equal(when_learn__least(&w.learn), cases[i].values);
		assert_true(when__compares(&w));
		when__free(&w);
	}
}

static void shares(void **state)
{
	static const struct {
		const char *text;
		uint64_t threshold;
		struct when_share share;
	} cases[] = {
		{ "softirq:net_rx > 50% in 1s", 500000000,
		  { 1000000000, FRBPF_PER_FIELD, FRBPF_FIELD_CPU } },
		{ "hardirq>0.01%in", 0 },
		{ "runqlat > 150.5% in 100ms", 150500000, { 100000000, FRBPF_PER_CGROUP } },
		{ "reclaim > 1000% in 10m per process", 6000000000000,
		  { 600000000000, FRBPF_PER_PROCESS } },
		{ "oncpu > 90% in 10ms per rule", 9000000, { 10000000, FRBPF_PER_RULE } },
		{ "blkio > 20% in 1s per dev", 200000000,
		  { 1000000000, FRBPF_PER_FIELD, (enum frbpf_field)FRBPF_BLKIO_DEV } },
		{ "runqlat > 50% in 1s of \"/a b/\"", 500000000,
		  { 1000000000, FRBPF_PER_RULE, .cgroup = "/a b" } },
		{ "runqlat > 50% in 1s per thread of /", 500000000,
		  { 1000000000, FRBPF_PER_THREAD } },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct when_share *want = &cases[i].share;
		struct when w;

		if (!cases[i].threshold) {
			assert_true(parse(cases[i].text, &w, message, sizeof(message)));
			continue;
		}
		if (parse(cases[i].text, &w, message, sizeof(message)))
			fail_msg("'%s': %s", cases[i].text, message);
		assert_int_equal(w.threshold, cases[i].threshold);
		assert_int_equal(w.share.time, want->time);
		assert_int_equal(w.share.per, want->per);
		if (want->per == FRBPF_PER_FIELD)
			assert_int_equal(w.share.field, want->field);
		assert_string_equal(w.share.cgroup ? w.share.cgroup : "",
				    want->cgroup ? want->cgroup : "");
		assert_int_equal(when__lasts(&w), want->time);
		when__free(&w);
	}
}

static const struct {
	const char *text;
	const char *message; /* part of the message */
} refusals[] = {
	{ "", "a source is expected" },
	{ "> 5ms", "a source is expected" },
	{ "runqlat", "threshold is missing" },
	{ "runqlat 20ms", "'>' is expected here, not '20ms'" },
	{ "runqlat >", "a duration is expected" },
	{ "runqlat > > 5ms", "bad duration" },
	{ "runqlat => 5ms", "'>' instead of '='" },
	{ "runqlat == 5ms", "'>' instead of '=='" },
	{ "runqlat >= 5ms", "'>' instead of '>='" },
	{ "runqlat != 5ms", "'>' instead of '!='" },
	{ "runqlat > 0", "larger than 0" },
	{ "runqlat > 0ms", "larger than 0" },
	{ "runqlat > 20", "a unit is missing" },
	{ "runqlat > 5sm", "unknown unit 'sm'" },
	{ "runqlat > 20ms 30ms", "nothing may follow" },
	{ "runqlat > p49.99 * 4", "from p50 to p99.99" },
	{ "runqlat > p99. * 4", "from p50 to p99.99" },
	{ "runqlat > p99.999 * 4", "from p50 to p99.99" },
	{ "runqlat > p99 * 1001", "from 1 to 1000" },
	{ "runqlat > p99 *", "from 1 to 1000" },
	{ "runqlat > max(p99 * 4, 0)", "larger than 0" },
	{ "runqlat > max(p99 * 4,)", "a duration is expected here" },
	{ "runqlat > max(p99 * 4, 5ms) 1", "nothing may follow" },
	{ "psi:cpu some > p99 * 4", "" },
	{ "runqlat: > 5ms", "takes nothing after ':'" },
	{ "runqlat + 5ms", "'>' is expected here, not '+'" },
	{ "runqlat, > 5ms", "'>' is expected here, not ','" },
	{ "runqlat (5ms)", "'>' is expected here, not '('" },
	{ "runqlat \xc3\xb6", "'>' is expected here, not '\xc3\xb6'" },
	{ "fsync > 5ms", "'fsync' is a system call, not a source: write syscall:fsync" },
	{ "runqueue > 5ms", "unknown source 'runqueue': `frbpf events` lists them" },
	{ "syscal:read > 5ms", "did you mean 'syscall'?" },
	{ "syscall > 5ms", "the system calls are missing" },
	{ "syscall: > 5ms", "the name of a system call is expected" },
	{ "syscall:read,,write > 5ms", "the name of a system call is expected" },
	{ "syscall:*,read > 5ms", "'>' is expected here, not ','" },
	{ "syscall:read,* > 5ms", "the name of a system call is expected" },
	{ "syscall:* > 5ms fails", "nothing may follow" },
	{ "syscall:openat fails > 5ms", "nothing may follow 'fails'" },
	{ "syscall:openat fails ()", "the name of an error is expected" },
	{ "syscall:openat fails (EMFILE", "',' or ')' is expected" },
	{ "syscall:openat fails (EMFILE,)", "the name of an error is expected" },
	{ "syscall:openat fails (EMFLIE)", "did you mean 'EMFILE'?" },
	{ "syscall:openat fails (24)", "write names such as EMFILE" },
	{ "syscall:openat fails (EIO, EIO)", "named twice" },
	{ "syscall:openat fials", "'>' is expected here, not 'fials'" },
	{ "syscall:exit_group fails", "never returns" },
	{ "runqlat fails", "only system calls and connect can fail" },
	{ "blocked:x > 5ms", "takes nothing after ':'" },
	{ "syscall:reda > 5ms", "did you mean 'read'?" },
	{ "syscall:read:write > 5ms", "'>' is expected here, not ':'" },
	{ "syscall:exit > 5ms", "never returns" },
	{ "hardirq:41 > 1ms", "takes nothing after ':'" },
	{ "softirq > 2ms", "the softirq is missing" },
	{ "softirq: > 2ms", "the name of a softirq is expected" },
	{ "softirq:net_rx,,rcu > 2ms", "the name of a softirq is expected" },
	{ "softirq:net_xr > 2ms", "did you mean 'net_rx'?" },
	{ "softirq:NET_RX > 2ms", "unknown softirq 'NET_RX'" },
	{ "softirq:net_rx,net_rx > 2ms", "'net_rx' is named twice" },
	{ "softirq:*,rcu > 2ms", "'>' is expected here, not ','" },
	{ "softirq:rcu,* > 2ms", "the name of a softirq is expected" },
	{ "softirq:rcu", "threshold is missing" },
	{ "softirq:rcu fails", "only system calls and connect can fail" },
	{ "reclaim:x > 2ms", "takes nothing after ':'" },
	{ "connect:x > 2ms", "takes nothing after ':'" },
	{ "connect fails (ECONNREFUSE)", "did you mean 'ECONNREFUSED'?" },
	{ "connect fails > 1s", "nothing may follow 'fails'" },
	{ "blkio.devices > 1s", "did you mean 'blkio.device'?" },
	{ "blkio:sda > 1s", "takes nothing after ':'" },
	{ "uprobe", "the program is missing: write uprobe:PATH:SYMBOL" },
	{ "uprobe > 5ms", "the program is missing: write uprobe:PATH:SYMBOL" },
	{ "uprobe:", "the path of a program or library is expected here" },
	{ "uprobe::main", "the path of a program or library is expected here" },
	{ "uprobe:libc", "':' and a name are expected here: write uprobe:PATH:SYMBOL" },
	{ "uprobe:libc > 5ms", "':' and a name are expected here" },
	{ "uprobe:./a.out:main", "a path must begin with '/'" },
	{ "uprobe:lib*:main", "a glob is compared with whole paths" },
	{ "uprobe:libc:", "the name of a function is expected here" },
	{ "uprobe:libc: > 5ms", "the name of a function is expected here" },
	{ "uprobe:libc:\"\" > 5ms", "the name of a function is expected here" },
	{ "uprobe:libc:\"f(int) > 5ms", "the closing '\"' is missing" },
	{ "uprobe:libc:mem*", "one function, not a glob" },
	{ "uprobe:libc:+0x10", "the name of a function is expected here" },
	{ "uprobe:libc:read+", "a number of bytes is expected after '+'" },
	{ "uprobe:libc:read+0x", "a number of bytes is expected after '+'" },
	{ "uprobe:libc:read+-4", "a number of bytes is expected after '+'" },
	{ "uprobe:libc:read+0x99999999999999999999", "a number of bytes is expected" },
	{ "uprobe:libc:read+4 > 5ms", "takes no offset" },
	{ "uprobe:libc:read fails", "only system calls and connect can fail" },
	{ "uprobe:libc:read > 0ms", "larger than 0" },
	{ "uprobe:libc:read > 5ms more", "nothing may follow the threshold" },
	{ "uprobe:libc:read < 5ms", "write '>' instead of '<'" },
	{ "usdt", "the program is missing: write usdt:PATH:PROVIDER:PROBE" },
	{ "usdt:/bin/sh:q", "the probe's name are expected here" },
	{ "usdt:/bin/sh:p:", "the name of a static probe is expected here" },
	{ "usdt:/bin/sh::q", "the provider of a static probe is expected here" },
	{ "usdt:/bin/sh:p:q > 5ms", "it has no threshold" },
	{ "usdt:/bin/sh:p:q twice", "nothing may follow the probe" },
	{ "app > 5ms", "the name of the message is missing" },
	{ "app: > 5ms", "the name of a message is expected" },
	{ "app:a/b > 5ms", "only letters, digits" },
	{ "app:x fails", "only system calls and connect can fail" },
	{ "app:x > 5", "a unit is missing" },
	{ "app:x:y", "'>' is expected here, not ':'" },
	{ "app:x1234567890123456789012345678901234567890123456789012345678901234", "at most 63" },
	{ "psi > 5ms", "the resource is missing" },
	{ "psi: some > 5ms in 2s", "cpu, memory, io or irq is expected" },
	{ "psi:memroy some > 5ms in 2s", "did you mean 'memory'?" },
	{ "psi:memory > 5ms in 2s", "'some' or 'full' is expected" },
	{ "psi:memory all > 5ms in 2s", "'some' or 'full' is expected here, not 'all'" },
	{ "psi:memory some", "'>', a stall and a window are expected" },
	{ "psi:memory some >= 5ms in 2s", "'>', a stall and a window are expected" },
	{ "psi:memory some > in 2s", "unit" },
	{ "psi:memory some > 5ms", "the window is missing: write > 5ms in 2s" },
	{ "psi:memory some > 5ms on 2s", "the window is missing" },
	{ "psi:memory some > 5ms in", "a time is expected after 'in'" },
	{ "psi:memory some > 5ms in 2", "a unit is missing" },
	{ "psi:memory some > 5ms in 499ms", "from 500ms to 10s" },
	{ "psi:memory some > 5ms in 11s", "from 500ms to 10s" },
	{ "psi:memory some > 999ns in 2s", "in microseconds" },
	{ "psi:memory some > 3s in 2s", "cannot be longer than the window" },
	{ "psi:memory some > 5ms in 2s /a", "only 'of' and a cgroup" },
	{ "psi:memory some > 5ms in 2s of", "a cgroup is a path" },
	{ "psi:memory some > 5ms in 2s of a/b", "a cgroup is a path" },
	{ "psi:memory some > 5ms in 2s of /a/../b", "a cgroup is a path" },
	{ "psi:irq some > 5ms in 2s", "has only 'full'" },
	{ "psi:cpu full > 5ms in 2s", "has no 'cpu full'" },
	{ "psi:cpu full > 5ms in 2s of /", "has no 'cpu full'" },
	{ "pending", "write pending(SOURCE) > 5s" },
	{ "pending(", "the ')' of this '(' is missing" },
	{ "pending()", "a source is expected" },
	{ "pending(runqlat", "the ')' of this '(' is missing" },
	{ "pending(runqlat)", "threshold is missing" },
	{ "pending(runqlat) > 0", "larger than 0" },
	{ "pending(runqlat) > 5s > 5s", "nothing may follow" },
	{ "pending(runqlat x) > 5s", "the threshold comes after the ')'" },
	{ "pending(syscall:openat fails) > 5s", "the threshold comes after the ')'" },
	{ "pending(pending(runqlat)) > 5s", "a source belongs in the parentheses" },
	{ "pending(hardirq) > 5s", "it takes runqlat, " },
	{ "pending(usdt:/bin/true:a:b) > 5s", "it takes runqlat, " },
	{ "pending((runqlat)) > 5s", "a source is expected" },
	{ "absent", "write absent(SOURCE) > 5s" },
	{ "absent()", "a source is expected" },
	{ "absent(runqlat)", "threshold is missing" },
	{ "absent(pending(runqlat)) > 5s", "a source belongs in the parentheses" },
	{ "absent(runqlat > ) > 5s", "a duration is expected" },
	{ "absent(psi:memory some > 150ms in 2s) > 5s", "absence cannot be watched" },
	{ "oom:", "the name of a tracepoint is expected" },
	{ "oom:mark_victim > 5ms", "a tracepoint takes no time" },
	{ "oom:mark_victim x", "nothing may follow a tracepoint" },
	{ "tracepoint > 5ms", "the tracepoint is missing" },
	{ "A -> B by tid > 5ms", "from one tracepoint to another" },
	{ "runqlat -> B by tid > 5ms", "from one tracepoint to another" },
};

static void refused(void **state)
{
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct when w = { .threshold = UNTOUCHED };

		if (parse(refusals[i].text, &w, message, sizeof(message)) != -EINVAL ||
		    !strstr(message, refusals[i].message) || w.threshold != UNTOUCHED)
			fail_msg("'%s': '%s'", refusals[i].text, message);
	}
}

static const struct {
	const char *text, *target;
	enum frbpf_source source;
	bool hit;
	struct when_probe parts;
} probe_cases[] = {
	{ "uprobe:/bin/sh:main",
	  "/bin/sh:main",
	  FRBPF_SOURCE_UPROBE,
	  true,
	  { "/bin/sh", NULL, "main", 0, false } },
	{ "uprobe:libc:fopen > 5ms",
	  "libc:fopen latency",
	  FRBPF_SOURCE_UPROBE,
	  false,
	  { "libc", NULL, "fopen", 0, true } },
	{ "uprobe:libc:fopen>5ms",
	  "libc:fopen latency",
	  FRBPF_SOURCE_UPROBE,
	  false,
	  { "libc", NULL, "fopen", 0, true } },
	{ "uprobe:/a b/c:f", NULL },
	{ "uprobe:/opt/*/bin/x:f+16",
	  "/opt/*/bin/x:f+0x10",
	  FRBPF_SOURCE_UPROBE,
	  true,
	  { "/opt/*/bin/x", NULL, "f", 16, false } },
	{ "uprobe:/x:ns::f > 1s",
	  "/x:ns::f latency",
	  FRBPF_SOURCE_UPROBE,
	  false,
	  { "/x", NULL, "ns::f", 0, true } },
	{ "uprobe:/x:\"ns::f(int, g<int>*)\" > 1s",
	  "/x:ns::f(int, g<int>*) latency",
	  FRBPF_SOURCE_UPROBE,
	  false,
	  { "/x", NULL, "ns::f(int, g<int>*)", 0, true } },
	{ "uprobe:/x:\"operator+(a, b)\"",
	  "/x:operator+(a, b)",
	  FRBPF_SOURCE_UPROBE,
	  true,
	  { "/x", NULL, "operator+(a, b)", 0, false } },
	{ "uprobe:/x:\"f(int)\"+0x1c",
	  "/x:f(int)+0x1c",
	  FRBPF_SOURCE_UPROBE,
	  true,
	  { "/x", NULL, "f(int)", 28, false } },
	{ "usdt:/bin/x:p:q",
	  "/bin/x:p:q",
	  FRBPF_SOURCE_USDT,
	  true,
	  { "/bin/x", "p", "q", 0, false } },
	{ "usdt:*:p:q", "*:p:q", FRBPF_SOURCE_USDT, true, { "*", "p", "q", 0, false } },
};

static void probes(void **state)
{
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(probe_cases); i++) {
		struct when_probe p;
		struct when w;

		if (parse(probe_cases[i].text, &w, message, sizeof(message))) {
			if (probe_cases[i].target)
				fail_msg("'%s': %s", probe_cases[i].text, message);
			continue;
		}
		assert_int_equal(w.source, probe_cases[i].source);
		assert_string_equal(w.target, probe_cases[i].target);
		assert_int_equal(w.hit, probe_cases[i].hit);
		assert_int_equal(when_probe__split(w.source, w.target, &p), 0);
		assert_string_equal(p.path, probe_cases[i].parts.path);
		assert_string_equal(p.symbol, probe_cases[i].parts.symbol);
		assert_string_equal(p.provider ?: "", probe_cases[i].parts.provider ?: "");
		assert_int_equal(p.offset, probe_cases[i].parts.offset);
		assert_int_equal(p.latency, probe_cases[i].parts.latency);
		when_probe__free(&p);
		when__free(&w);
	}
}

static void probe_spans(void **state)
{
	static const struct {
		const char *text, *target; /* NULL: the message of an error */
		uint64_t threshold;
		bool pending;
		const char *message;
	} cases[] = {
		{ "usdt:/x:p:a -> usdt:/x:p:b by tid > 5ms",
		  "usdt:/x:p:a -> usdt:/x:p:b by tid", 5000000 },
		{ "uprobe:/x:f->uprobe:libc:g by tid,arg0=arg7>1s",
		  "uprobe:/x:f -> uprobe:libc:g by tid, arg0=arg7", 1000000000 },
		{ "uprobe:/x:\"f(int, g<int>*)\"+16 -> usdt:y:p:q by pid , arg3 > 1us",
		  "uprobe:/x:f(int, g<int>*)+0x10 -> usdt:y:p:q by pid, arg3", 1000 },
		{ "pending(usdt:/x:p:a -> uprobe:/x:f by arg0) > 5s",
		  "usdt:/x:p:a -> uprobe:/x:f by arg0", 5000000000, true },
		{ "uprobe:/x:f -> sched:sched_switch by tid > 1s", .message = "must end in one" },
		{ "sched:sched_switch -> uprobe:/x:f by tid > 1s", .message = "at a tracepoint" },
		{ "uprobe:/x:f -> uprobe:/x:f by tid > 1s", .message = "same place" },
		{ "uprobe:/x:\"f -> g\" -> uprobe:/x:h by tid > 1s", .message = "part of a name" },
		{ "uprobe:/x:f -> uprobe:/x:g by cpu > 1s", .message = "arg0 to arg7" },
		{ "uprobe:/x:f -> uprobe:/x:g by arg8 > 1s", .message = "arg0 to arg7" },
		{ "uprobe:/x:f -> uprobe:/x:g by tid nested > 1s", .message = "can be nested" },
		{ "uprobe:/x:f -> uprobe:/x:g by tid", .message = "a threshold is missing" },
		{ "uprobe:/x:f -> uprobe:/x:g > 1s", .message = "'by' and the keys" },
		{ "uprobe:/x:f -> usdt:/x:g by tid > 1s", .message = "usdt:PATH:PROVIDER:PROBE" },
		{ "usdt:/x:p:a -> ", .message = "must end in one" },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *again = NULL;
		struct probe_span_target t;
		struct when w;

		if (parse(cases[i].text, &w, message, sizeof(message))) {
			if (!cases[i].message || !strstr(message, cases[i].message))
				fail_msg("'%s': %s", cases[i].text, message);
			continue;
		}
		assert_null(cases[i].message);
		assert_int_equal(w.source, FRBPF_SOURCE_PROBE_SPAN);
		assert_string_equal(w.target, cases[i].target);
		assert_int_equal(w.threshold, cases[i].threshold);
		assert_int_equal(w.pending, cases[i].pending);
		assert_false(w.hit);
		assert_int_equal(probe_span_target__parse(w.target, &t), 0);
		again = probe_span_target__format(&t);
		assert_string_equal(again, w.target);
		probe_span_target__free(&t);
		when__free(&w);
	}
}

static void several_names_several_errors(void **state)
{
	static const char text[] = "syscall:reda,read,wriet > 5mz";
	struct source_text *src;
	struct diags d = { 0 };
	struct when w;

	assert_int_equal(source_text__from_string("f", text, &src), 0);
	assert_int_equal(when__parse(src, (struct span){ 0, strlen(text) }, &d, &w), -EINVAL);
	assert_int_equal(d.n_errors, 3);
	assert_int_equal(d.v[1].span.off, 18);
	assert_int_equal(d.v[1].span.len, 5);
	diags__free(&d);
	source_text__free(src);
}

static void syscall_table(void **state)
{
	size_t n = 0;

	assert_int_equal(syscall__number("read", 4), __NR_read);
	assert_int_equal(syscall__number("readv", 4), __NR_read);
	assert_int_equal(syscall__number("futex_waitv", 11), __NR_futex_waitv);
	assert_int_equal(syscall__number("futex_wait", 10), 455);
	assert_int_equal(syscall__number("cachestat", 9), 451);
	assert_int_equal(syscall__number("", 0), -ENOENT);
	assert_int_equal(syscall__number("rea", 3), -ENOENT);
	assert_int_equal(syscall__number("reads", 5), -ENOENT);
	assert_string_equal(syscall__name(__NR_fsync), "fsync");
	assert_null(syscall__name(-1));
	assert_null(syscall__name(FRBPF_KEY_MAX));

	for (; syscall_names[n]; n++) {
		const char *name = syscall_names[n];
		int nr = syscall__number(name, strlen(name));

		assert_true(!n || strcmp(syscall_names[n - 1], name) < 0);
		assert_in_range(nr, 0, FRBPF_KEY_MAX - 1);
		assert_string_equal(syscall__name(nr), name);
	}
	assert_true(n > 300);
}

static void all_calls(void **state)
{
	struct when w = { 0 };
	char message[256];

	assert_int_equal(parse("syscall:* > 1s", &w, message, sizeof(message)), 0);
	assert_true(w.all_calls && !w.fails);
	assert_true(when_has_key(&w, __NR_read) && when_has_key(&w, __NR_fsync));
	assert_false(when_has_key(&w, __NR_ppoll) || when_has_key(&w, __NR_futex) ||
		     when_has_key(&w, __NR_exit_group) || when_has_key(&w, __NR_clock_nanosleep));
	assert_true(n_keys(&w) > 250);
	assert_int_equal(parse("syscall:* fails (ENOMEM)", &w, message, sizeof(message)), 0);
	assert_true(w.all_calls && w.fails && !w.any_errno);
	assert_true(when_has_key(&w, __NR_futex));
	assert_false(when_has_key(&w, __NR_exit_group));
	assert_true(w.errnos[0] == 1ULL << ENOMEM && !w.errnos[1] && !w.errnos[2]);
	assert_int_equal(parse("syscall:read fails", &w, message, sizeof(message)), 0);
	assert_true(w.fails && w.any_errno && !w.all_calls);
}

/* Targets with one meaning get one spelling, so that rules with equal targets share programs. */
static void targets(void **state)
{
	static const char *const cases[][2] = {
		{ "app: slow  > 5ms", "slow" },
		{ "psi:memory  some > 1500us in 2s", "memory some > 1500us in 2000000us" },
		{ "psi:memory some>1.5ms in 2s of \"/\"", "memory some > 1500us in 2000000us" },
		{ "psi:io full > 1s in 10s of /a/b/", "io full > 1000000us in 10000000us of /a/b" },
		{ "psi:io full > 1s in 10s of \"/a b\"",
		  "io full > 1000000us in 10000000us of /a b" },
	};
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct when w = { 0 };

		if (parse(cases[i][0], &w, message, sizeof(message)))
			fail_msg("'%s': %s", cases[i][0], message);
		assert_string_equal(w.target, cases[i][1]);
		assert_int_equal(w.hit, w.source == FRBPF_SOURCE_PSI);
		when__free(&w);
	}
}

static void source_names(void **state)
{
	assert_string_equal(when__source_name(FRBPF_SOURCE_BLOCKED), "blocked");
	assert_string_equal(when__source_name(FRBPF_SOURCE_OFFCPU), "offcpu");
	assert_string_equal(when__source_name(FRBPF_SOURCE_RUNQLAT), "runqlat");
	assert_string_equal(when__source_name(FRBPF_SOURCE_SYSCALL), "syscall");
	assert_null(when__source_name(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(shares),
		cmocka_unit_test(refused),
		cmocka_unit_test(probes),
		cmocka_unit_test(probe_spans),
		cmocka_unit_test(several_names_several_errors),
		cmocka_unit_test(syscall_table),
		cmocka_unit_test(all_calls),
		cmocka_unit_test(targets),
		cmocka_unit_test(accepted),
		cmocka_unit_test(softirq_vectors),
		cmocka_unit_test(pending),
		cmocka_unit_test(absent),
		cmocka_unit_test(refused),
		cmocka_unit_test(several_names_several_errors),
		cmocka_unit_test(syscall_table),
		cmocka_unit_test(all_calls),
		cmocka_unit_test(source_names),
	};

	return cmocka_run_group_tests_name("when", tests, NULL, NULL);
}
