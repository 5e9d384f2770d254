// SPDX-License-Identifier: GPL-2.0-only
/*
 * From addresses to names: tables, kallsyms, perf-PID.map, this program, another build of it.
 * with: others
 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "perfdata/record.h"
#include "sideband/proc_scan.h"
#include "symbols/demangle.h"
#include "symbols/kernel_symbols.h"
#include "symbols/module.h"
#include "symbols/symbols.h"
#include "symbols/text_symbols.h"

static void add_symbol(struct symbol_table *t, uint64_t start, uint64_t size, const char *name,
		       enum symbol_rank rank)
{
	assert_int_equal(symbol_table__add(t, start, size, 0, name, strlen(name), rank), 0);
}

static void assert_symbol(const struct symbol_table *t, uint64_t addr, const char *name)
{
	const struct symbol *s = symbol_table__find(t, addr);

	if (!name)
		assert_null(s);
	else if (!s)
		fail_msg("nothing at 0x%lx instead of %s", (unsigned long)addr, name);
	else
		assert_string_equal(s->name, name);
}

static void test_table(void **state)
{
	struct symbol_table t = { 0 };

	add_symbol(&t, 0x300, 0x10, "third", SYMBOL_GLOBAL);
	add_symbol(&t, 0x100, 0x100, "outer", SYMBOL_GLOBAL);
	add_symbol(&t, 0x140, 0x10, "inner", SYMBOL_LOCAL);
	add_symbol(&t, 0x280, 0, "label", SYMBOL_LOCAL);
	assert_int_equal(symbol_table__finish(&t), 0);
	assert_symbol(&t, 0xff, NULL);
	assert_symbol(&t, 0x100, "outer");
	assert_symbol(&t, 0x145, "inner");
	assert_symbol(&t, 0x150, "outer"); /* after the function that it contains */
	assert_symbol(&t, 0x200, NULL);
	assert_symbol(&t, 0x2ff, "label");
	assert_symbol(&t, 0x30f, "third");
	assert_symbol(&t, 0x310, NULL);
	assert_symbol(&t, UINT64_MAX, NULL);
	symbol_table__free(&t);
}

/*
 * A table limited to some addresses gives the same answers for them as a complete one. (For aliases
 * of different size it may know more.)
 */
static void test_wanted(void **state)
{
	for (unsigned int seed = 1; seed <= 200; seed++) {
		struct symbol_table all = { 0 }, some = { 0 };
		uint64_t wanted[8];
		char name[32];
		size_t i;

		srand(seed);
		for (i = 0; i < ARRAY_SIZE(wanted); i++)
			wanted[i] = rand() % 0x400;
		assert_int_equal(symbol_table__want(&some, wanted, ARRAY_SIZE(wanted)), 0);
		for (i = 0; i < 100; i++) {
			uint64_t start = rand() % 0x400, size = start % 3 ? start * 7 % 64 : 0;
			enum symbol_rank rank = rand() % SYMBOL_KALLSYMS;
			size_t len = snprintf(name, sizeof(name), "s%zu", i);
			uint64_t limit = start % 2 ? 0 : start + start % 32;

			assert_int_equal(
				symbol_table__add(&all, start, size, limit, name, len, rank), 0);
			assert_int_equal(
				symbol_table__add(&some, start, size, limit, name, len, rank), 0);
		}
		assert_int_equal(symbol_table__finish(&all), 0);
		assert_int_equal(symbol_table__finish(&some), 0);
		assert_true(some.n <= 16 * ARRAY_SIZE(wanted));
		for (i = 0; i < ARRAY_SIZE(wanted); i++) {
			const struct symbol *s = symbol_table__find(&all, wanted[i]);

			assert_symbol(&some, wanted[i], s ? s->name : NULL);
		}
		symbol_table__free(&all);
		symbol_table__free(&some);
	}
}

static int count_chunk_lines(const struct buf *text, void *arg)
{
	size_t *n = arg;

	for (size_t i = 0; i < text->len; i++)
		n[text->data[i] == '\n']++;
	assert_true(text->data[text->len - 1] == '\n');
	return n[1] > 50000 ? -E2BIG : 0;
}

/* Each piece ends with the end of a line, and nothing is lost between pieces. */
static void test_text_chunks(void **state)
{
	int fd = memfd_create("text", 0);
	size_t n[2] = { 0, 0 };
	char line[64];
	int i;

	assert_true(fd >= 0);
	for (i = 0; i < 40000; i++) {
		int len = snprintf(line, sizeof(line), "%0*d\n", 1 + i % 60, i);

		assert_int_equal(write(fd, line, len), len);
		n[0] -= len - 1;
	}
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(text_chunks__each(fd, 4 << 20, count_chunk_lines, n), 0);
	assert_int_equal(n[0], 0);
	assert_int_equal(n[1], 40000);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(text_chunks__each(fd, 1000, count_chunk_lines, n), -EFBIG);
	n[1] = 0;
	lseek(fd, 0, SEEK_SET);
	n[1] = 50000;
	assert_int_equal(text_chunks__each(fd, 4 << 20, count_chunk_lines, n), -E2BIG);
	close(fd);
}

/* Of several names of one address, perf chooses the same one. */
static void test_aliases(void **state)
{
	struct symbol_table t = { 0 };

	add_symbol(&t, 1, 8, "weak_but_long", SYMBOL_WEAK);
	add_symbol(&t, 1, 8, "global", SYMBOL_GLOBAL);
	add_symbol(&t, 1, 0, "without_a_size", SYMBOL_GLOBAL);
	add_symbol(&t, 16, 8, "__internal", SYMBOL_GLOBAL);
	add_symbol(&t, 16, 8, "read", SYMBOL_GLOBAL);
	add_symbol(&t, 32, 8, "abc", SYMBOL_GLOBAL);
	add_symbol(&t, 32, 8, "abcd", SYMBOL_GLOBAL);
	assert_int_equal(symbol_table__finish(&t), 0);
	assert_symbol(&t, 1, "global");
	assert_symbol(&t, 16, "read");
	assert_symbol(&t, 32, "abcd");
	symbol_table__free(&t);
}

static void test_empty_table(void **state)
{
	struct symbol_table t = { 0 };

	assert_int_equal(symbol_table__finish(&t), 0);
	assert_symbol(&t, 0, NULL);
	symbol_table__free(&t);
}

static struct buf text(const char *s)
{
	struct buf b = { 0 };

	assert_int_equal(buf__add_str(&b, s), 0);
	return b;
}

static void test_kallsyms(void **state)
{
	struct buf b = text("0000000000000000 A fixed_percpu_data\n"
			    "ffffffff81000000 T _text\n"
			    "ffffffff81000000 T startup_64\n"
			    "ffffffff81001000 T memcpy\n"
			    "ffffffff81001000 T __pi_memcpy\n"
			    "ffffffff81002000 d some_data\n"
			    "ffffffff81003000 r read_only\n"
			    "ffffffffc0000000 t nft_do_chain\t[nf_tables]\n"
			    "ffffffffc0001000 t other\t[nf_tables_set]\n"
			    "garbage\n"
			    "12345678123456781 T too_long\n"
			    "ffffffff81008000 T _etext\n"
			    "ffffffff81009000 T last");
	struct symbol_table t = { 0 };
	struct kernel_text kernel = { 0 };

	assert_int_equal(text_symbols__kallsyms(&b, NULL, &t, &kernel), 0);
	assert_int_equal(symbol_table__finish(&t), 0);
	assert_int_equal(kernel.start, 0xffffffff81000000);
	assert_int_equal(kernel.end, 0xffffffff81008000);
	assert_symbol(&t, 0xffffffff81001fff, "__pi_memcpy");
	assert_symbol(&t, 0xffffffff81002001, "some_data");
	assert_symbol(&t, 0xffffffff81009fff, "last");
	assert_symbol(&t, 0xffffffff8100a000, NULL);
	assert_symbol(&t, 0xffffffffc0000000, NULL);
	symbol_table__free(&t);

	assert_int_equal(text_symbols__kallsyms(&b, "nf_tables", &t, &kernel), 0);
	assert_int_equal(symbol_table__finish(&t), 0);
	assert_symbol(&t, 0xffffffffc0000008, "nft_do_chain");
	assert_int_equal(t.n, 1);
	symbol_table__free(&t);
	buf__free(&b);
}

/*
 * Addresses in two functions of the running kernel, do_exit() and vfs_read(), from /proc/kallsyms.
 */
static bool kernel_addresses(uint64_t v[static 2])
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	char line[512], name[256];

	v[0] = v[1] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &addr, name) != 2 || !addr)
			continue;
		if (!strcmp(name, "do_exit"))
			v[0] = addr + 8;
		else if (!strcmp(name, "vfs_read"))
			v[1] = addr + 8;
	}
	return v[0] && v[1];
}

/* Names that were found once are known later, when /proc/kallsyms cannot be opened. */
static void test_running_kernel(void **state)
{
	uint64_t v[2], other;
	struct symbol_table t = { 0 };
	struct rlimit old, none;

	if (!kernel_addresses(v)) {
		print_message("kallsyms hides addresses here\n");
		skip();
	}
	assert_null(kernel_symbols__read_running(v, 2, &t));
	assert_symbol(&t, v[0], "do_exit");
	symbol_table__free(&t);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	other = v[0] + 1;
	const char *why = kernel_symbols__read_running(v, 2, &t);
	const char *why_other =
		kernel_symbols__read_running(&other, 1, &(struct symbol_table){ 0 });
	setrlimit(RLIMIT_NOFILE, &old);
	assert_null(why);
	assert_non_null(why_other);
	assert_symbol(&t, v[0], "do_exit");
	assert_symbol(&t, v[1], "vfs_read");
	symbol_table__free(&t);
}

static void test_perf_map(void **state)
{
	struct buf b = text("7f0000001000 40 LazyCompile:~main /srv/app.js:1\n"
			    "0x7f0000002000 0x10 hex prefix\n"
			    "7f0000003000 0 empty\n"
			    "7f0000004000 zz not a size\n"
			    "\n"
			    "7f0000005000 10");
	struct symbol_table t = { 0 };

	assert_int_equal(text_symbols__perf_map(&b, &t), 0);
	assert_int_equal(symbol_table__finish(&t), 0);
	assert_int_equal(t.n, 2);
	assert_symbol(&t, 0x7f000000103f, "LazyCompile:~main /srv/app.js:1");
	assert_symbol(&t, 0x7f0000001040, NULL);
	assert_symbol(&t, 0x7f000000200f, "hex prefix");
	symbol_table__free(&t);
	buf__free(&b);
}

static void test_kinds(void **state)
{
	assert_int_equal(module__user_kind("/usr/bin/true"), MODULE_FILE);
	assert_int_equal(module__user_kind("//anon"), MODULE_ANON);
	assert_int_equal(module__user_kind("[vdso]"), MODULE_VDSO);
	assert_int_equal(module__user_kind("[stack]"), MODULE_OTHER);
}

static void test_names(void **state)
{
	static const struct {
		enum module_kind kind;
		const char *path, *name;
	} cases[] = {
		{ MODULE_FILE, "/usr/bin/true", "true" },
		{ MODULE_FILE, "/srv/app (deleted)", "app" },
		{ MODULE_KERNEL, "[kernel.kallsyms]_text", "[kernel]" },
		{ MODULE_KERNEL_MODULE, "/lib/modules/6.1/kernel/net/nf-tables.ko.xz",
		  "[nf_tables]" },
		{ MODULE_KERNEL_MODULE, "[nf_tables]", "[nf_tables]" },
		{ MODULE_ANON, "//anon", "[jit]" },
		{ MODULE_OTHER, "[heap]", "[heap]" },
	};
	static const struct build_id none;
	struct module m;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(module__init(&m, cases[i].kind, cases[i].path, &none, 1), 0);
		assert_string_equal(m.name, cases[i].name);
		module__free(&m);
	}
}

/* This process, as it is now. */
struct self {
	struct task_model *tasks;
	struct kernel_space kernel;
	struct symbols *symbols;
};

static int setup_self(void **state)
{
	struct self *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(task_model__new(&s->tasks), 0);
	assert_int_equal(symbols__new(&s->symbols), 0);
	assert_int_equal(proc_scan__process(s->tasks, getpid()), 0);
	*state = s;
	return 0;
}

static int teardown_self(void **state)
{
	struct self *s = *state;

	symbols__free(s->symbols);
	task_model__free(s->tasks);
	kernel_space__free(&s->kernel);
	free(s);
	return 0;
}

static __attribute__((noinline, used)) int a_function_to_be_found(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static struct location resolve(struct self *s, uint64_t addr, bool kernel)
{
	struct location l;

	assert_int_equal(
		symbols__resolve(s->symbols, s->tasks, &s->kernel, getpid(), addr, kernel, &l), 0);
	return l;
}

static void test_own_function(void **state)
{
	struct location l = resolve(*state, (uintptr_t)a_function_to_be_found + 1, false);

	assert_string_equal(l.module, "test_symbols");
	assert_string_equal(l.symbol, "a_function_to_be_found");
	assert_int_equal(l.symbol_offset, 1);
	assert_false(l.kernel);
}

/* A library whose symbols may come from a debug file with another layout. */
static void test_library_function(void **state)
{
	struct location l = resolve(*state, (uintptr_t)gnu_get_libc_version, false);

	assert_non_null(strstr(l.module, "libc"));
	assert_non_null(l.symbol);
	assert_non_null(strstr(l.symbol, "gnu_get_libc_version"));
	assert_int_equal(l.symbol_offset, 0);
}

static void test_no_map(void **state)
{
	struct location l = resolve(*state, 8, false);

	assert_string_equal(l.module, "[unknown]");
	assert_null(l.path);
	assert_null(l.symbol);
	assert_int_equal(l.offset, 8);
}

/* Addresses that were announced before need only limited tables, and get the same names. */
static void test_expected(void **state)
{
	struct self *s = *state;
	uint64_t known = (uintptr_t)a_function_to_be_found + 1, other = (uintptr_t)test_no_map;
	struct symbols *few;
	struct location l;

	assert_int_equal(symbols__new(&few), 0);
	assert_int_equal(symbols__expect(few, s->tasks, &s->kernel, getpid(), known, false), 0);
	assert_int_equal(symbols__resolve(few, s->tasks, &s->kernel, getpid(), known, false, &l),
			 0);
	assert_string_equal(l.symbol, "a_function_to_be_found");
	assert_int_equal(l.symbol_offset, 1);
	/* an address that was not announced gets no wrong name */
	assert_int_equal(symbols__resolve(few, s->tasks, &s->kernel, getpid(), other, false, &l),
			 0);
	if (l.symbol)
		assert_string_equal(l.symbol, resolve(s, other, false).symbol);
	symbols__free(few);
}

/* The file at the path is not the mapped one. */
static void test_other_build(void **state)
{
	struct self *s = *state;
	const struct map *m =
		task_model__find_map(s->tasks, getpid(), (uintptr_t)a_function_to_be_found);
	struct task_map other = { .file.build_id = { 20, { 1, 2, 3 } } };
	struct location l;

	assert_non_null(m);
	other.start = m->start;
	other.len = m->end - m->start;
	other.pgoff = m->pgoff;
	other.name = m->file->name;
	other.name_len = strlen(other.name);
	assert_int_equal(task_model__add_map(s->tasks, getpid(), &other), 0);
	l = resolve(s, (uintptr_t)a_function_to_be_found, false);
	assert_string_equal(l.module, "test_symbols");
	assert_null(l.symbol);
	assert_int_equal(l.offset, (uintptr_t)a_function_to_be_found - other.start + other.pgoff);
}

static void test_vdso(void **state)
{
	struct self *s = *state;
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
	const struct map *m = task_model__find_map(s->tasks, getpid(), vdso);
	struct build_id kernel;
	const struct symbol *symbol;
	struct module module;

	if (!m || build_id__read_kernel(&kernel))
		skip();
	assert_int_equal(module__init(&module, MODULE_VDSO, "[vdso]", &kernel, getpid()), 0);
	for (uint64_t addr = m->start; addr < m->end; addr += 16) {
		uint64_t offset;

		symbol = module__find(&module, m, addr, &offset);
		if (symbol && strstr(symbol->name, "clock_gettime"))
			break;
	}
	assert_non_null(symbol);
	assert_null(module.why_not);
	module__free(&module);
}

/*
 * The map of the kernel's text ends before its init code; the name of a program comes from its
 * record.
 */
static void test_kernel_space(void **state)
{
	struct self *s = *state;
	const struct record_trailer t = { 0 };
	struct buf b = { 0 };
	const struct perf_event_header *h;
	struct location l;

	assert_int_equal(record__add_mmap(&b, PERF_RECORD_MISC_KERNEL, UINT32_MAX, 0, 0x1000000,
					  0x1000, 0x1000000, "[kernel.kallsyms]_text", &t),
			 0);
	assert_int_equal(record__add_ksymbol(&b, 0x2000000, 0x100, 1, 0, "bpf_prog_1234_f", &t), 0);
	/* its end, and its placeholder: samples of it may still come */
	assert_int_equal(record__add_ksymbol(&b, 0x2000000, 0x100, 1,
					     PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
					     "bpf_prog_1234_f", &t),
			 0);
	assert_int_equal(record__add_ksymbol(&b, 0x2000000, 0x200, 1, 0, RECORD_KSYMBOL_NONE, &t),
			 0);
	for (size_t off = 0; off < b.len; off += h->size) {
		h = (const void *)(b.data + off);
		assert_int_equal(kernel_space__apply(&s->kernel, h), 0);
	}
	l = resolve(s, 0x2000010, true);
	assert_string_equal(l.module, "[bpf]");
	assert_string_equal(l.symbol, "bpf_prog_1234_f");
	assert_int_equal(l.symbol_offset, 0x10);
	assert_string_equal(resolve(s, 0x1000008, true).module, "[kernel]");
	assert_string_equal(resolve(s, 0x1800000, true).module, "[kernel]");
	assert_string_equal(resolve(s, 0xfff000, true).module, "[unknown]");
	buf__free(&b);
}

static void test_demangle(void **state)
{
	static const struct {
		const char *symbol, *name;
	} cases[] = {
		{ "_ZNK4llvm10BasicBlock13getTerminatorEv", "llvm::BasicBlock::getTerminator" },
		{ "_ZN12_GLOBAL__N_13runEi", "(anonymous namespace)::run" },
		{ "_ZN1AclEii", "A::operator()" },
	};
	char *name = demangle("_ZN1A1fEv");

	assert_null(demangle("main"));
	assert_null(demangle("_Zgarbage"));
	if (!name) /* no libstdc++ */
		skip();
	free(name);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		name = demangle(cases[i].symbol);
		assert_non_null(name);
		assert_string_equal(name, cases[i].name);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_text_chunks),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_empty_table),
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_running_kernel),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test_setup_teardown(test_own_function, setup_self, teardown_self),
		cmocka_unit_test_setup_teardown(test_library_function, setup_self, teardown_self),
		cmocka_unit_test_setup_teardown(test_expected, setup_self, teardown_self),
		cmocka_unit_test_setup_teardown(test_no_map, setup_self, teardown_self),
		cmocka_unit_test_setup_teardown(test_other_build, setup_self, teardown_self),
		cmocka_unit_test_setup_teardown(test_vdso, setup_self, teardown_self),
		cmocka_unit_test_setup_teardown(test_kernel_space, setup_self, teardown_self),
	};

	return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
