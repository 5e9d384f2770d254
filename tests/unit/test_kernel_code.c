// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads where the code of the running kernel is, and files that say so.
 * with: others
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "perfdata/record.h"
#include "sideband/kernel_code.h"

#include "kernel_map_name.h"
#include "temp_tree.h"

static void read_text(const char *text, struct kernel_state *k)
{
	char path[] = "/tmp/frbpf-kallsyms-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(kernel_images__read(path, k, NULL), 0);
	unlink(path);
}

/* "address+length type name", one per line, by address */
static char *describe(const struct kernel_state *k)
{
	const struct record_ksymbol *v[16], *swap;
	size_t n = 0, off, i, j, len = 0;
	const struct perf_event_header *h;
	static char text[2048];
	struct buf b = { 0 };

	assert_int_equal(kernel_state__emit(k, 5, &b), 0);
	for (off = 0; off < b.len; off += h->size) {
		h = (const void *)(b.data + off);
		assert_true(record__valid(h, b.len - off));
		assert_int_equal(h->type, PERF_RECORD_KSYMBOL);
		assert_true(n < 16);
		v[n++] = (const void *)h;
	}
	for (i = 0; i < n; i++)
		for (j = i + 1; j < n; j++)
			if (v[j]->addr < v[i]->addr) {
				swap = v[i];
				v[i] = v[j];
				v[j] = swap;
			}
	text[0] = '\0';
	for (i = 0; i < n; i++)
		len += snprintf(text + len, sizeof(text) - len, "%" PRIx64 "+%x %u %s\n",
				(uint64_t)v[i]->addr, v[i]->len, v[i]->ksym_type, v[i]->name);
	buf__free(&b);
	return text;
}

static void test_read(void **state)
{
	struct kernel_state k = { 0 };

	if (sysconf(_SC_PAGESIZE) != 4096)
		skip();
	read_text("ffffffff81000000 T _text\n"
		  "ffffffff81000100 t bpf_trampoline_enter\n" /* no module: the kernel's own text */
		  "ffffffffc0100000 t ext4_init\t[ext4]\n"
		  "ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
		  "ffffffffc0001cc0 t bpf_trampoline_6442450955\t[bpf]\n"
		  "ffffffffc00011cc t bpf_prog_a7ffe9a2ce0e99de_x\t[bpf]\n"
		  "ffffffffc0001c00 t bpf_trampoline_6442450944\t[bpf]\n"
		  "ffffffffc0001d00 t bpf_prog_6765ae14618521ce_y\t[bpf]\n"
		  "ffffffffc0025c00 t bpf_dispatcher_xdp\t[bpf]\n"
		  "ffffffffc0301000 t kprobe_insn_page\t[__builtin__kprobes]\n",
		  &k);
	assert_string_equal(describe(&k), "ffffffffc0001c00+c0 1 bpf_trampoline_6442450944\n"
					  "ffffffffc0001cc0+40 1 bpf_trampoline_6442450955\n"
					  "ffffffffc0025c00+1000 1 bpf_dispatcher_xdp\n"
					  "ffffffffc0201000+1000 2 ftrace_trampoline\n"
					  "ffffffffc0301000+1000 2 kprobe_insn_page\n");
	kernel_state__free(&k);
}

static void test_nothing_to_read(void **state)
{
	struct kernel_state k = { 0 };

	assert_int_equal(kernel_images__read("/nonexistent/kallsyms", &k, NULL), 0);
	read_text("", &k);
	/* hidden addresses, broken lines, two symbols at one address */
	read_text("0000000000000000 t bpf_trampoline_1\t[bpf]\n"
		  "ffffffffc0001c00 t \t[bpf]\n"
		  "ffffffffc0001c00\t[bpf]\n"
		  "ffffffffc0001c00 \t[bpf]\n"
		  "ffffffffc0001c00 t\t[bpf]\n"
		  "xyz t bpf_trampoline_1\t[bpf]\n"
		  "\t[bpf]\n"
		  "ffffffffc0001c00 t bpf_trampoline_1\t[bpf",
		  &k);
	assert_string_equal(describe(&k), "");
	read_text("ffffffffc0001c00 t one\t[bpf]\nffffffffc0001c00 t two\t[bpf]\n", &k);
	assert_non_null(strstr(describe(&k), "ffffffffc0001c00+1000 1 "));
	kernel_state__free(&k);
}

static void test_this_kernel(void **state)
{
	struct kernel_state images = { 0 };
	struct kernel_maps k = { 0 };
	const struct record_mmap *r;
	struct buf out = { 0 };

	assert_int_equal(kernel_images__read(NULL, &images, &k), 0);
	if (!k.n) {
		print_message("kallsyms hides addresses here\n");
		skip();
	}
	assert_int_equal(kernel_maps__emit(&k, 5, &out), 0);
	r = (const void *)out.data;
	assert_int_equal(r->header.misc, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(r->pid, UINT32_MAX);
	assert_int_equal(r->tid, 0);
	assert_int_equal(r->pgoff, r->start);
	assert_true(r->len > 1 << 20);
	assert_string_equal(r->filename, kernel_map_name());
	buf__free(&out);
	kernel_state__free(&images);
	kernel_maps__free(&k);
}

static void check_text(const char *text, uint64_t start, uint64_t len, const char *name)
{
	char path[] = "/tmp/frbpf-kallsyms-XXXXXX";
	struct kernel_state images = { 0 };
	struct kernel_maps k = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(kernel_images__read(path, &images, &k), 0);
	unlink(path);
	assert_int_equal(k.n, name ? 1 : 0);
	if (name) {
		assert_int_equal(k.v[0].start, start);
		assert_int_equal(k.v[0].pgoff, start);
		assert_int_equal(k.v[0].len, len);
		assert_string_equal(k.v[0].name, name);
	}
	kernel_state__free(&images);
	kernel_maps__free(&k);
}

static void test_text(void **state)
{
	check_text(
		"ffff800008000000 T _text\nffff800008010000 T _stext\nffff800009000000 T _etext\n"
		"ffff80000a000000 T _etext_x\nffffffffc0100000 t _text\t[ext4]\n",
		0xffff800008000000, 0x1000000, "[kernel.kallsyms]_text");
	check_text("ffff800008010000 T _stext\nffff800009000000 T _etext\n", 0xffff800008010000,
		   0xff0000, "[kernel.kallsyms]_stext");
	/* hidden, or truncated */
	check_text("0000000000000000 T _text\n0000000000000000 T _etext\n", 0, 0, NULL);
	check_text("ffff800008000000 T _text\n", 0, 0, NULL);
	check_text("ffff800009000000 T _text\nffff800008000000 T _etext\n", 0, 0, NULL);
}

/*
 * The list is parsed again only if it changed. A module that is gone stays until its addresses are
 * reused.
 */
static void test_modules(void **state)
{
	static const char two[] = "nf_tables 400 1 xt_a,xt_b, Live 0xffffffffc0100000\n"
				  "ext4 8192 2 - Live 0xffffffffc0200000 (E)\n"
				  "hidden 8192 2 - Live 0x0000000000000000\n";
	char dir[] = "/tmp/frbpf-modules.XXXXXX", list[64], dep[64];
	struct kernel_modules m;
	struct kernel_maps k = { 0 };

	assert_non_null(mkdtemp(dir));
	snprintf(list, sizeof(list), "%s/modules", dir);
	snprintf(dep, sizeof(dep), "%s/modules.dep", dir);
	kernel_modules__init(&m, list, dir);
	assert_int_equal(kernel_modules__current(&m, &k), 0); /* a kernel without modules */
	assert_int_equal(k.n, 0);
	write_text_file(list, two);
	write_text_file(dep, "kernel/net/nf-tables.ko.xz: kernel/a.ko\nkernel/a.ko:\n");
	assert_int_equal(kernel_modules__current(&m, &k), 0);
	assert_int_equal(k.n, 2);
	assert_true(k.v[0].start == 0xffffffffc0100000 && k.v[0].len == 400 && !k.v[0].pgoff);
	assert_string_equal(k.v[0].name + strlen(dir), "/kernel/net/nf-tables.ko.xz");
	assert_string_equal(k.v[1].name, "[ext4]");
	kernel_maps__free(&k);
	/* the same list: the files are not read again */
	write_text_file(dep, "");
	assert_int_equal(kernel_modules__current(&m, &k), 0);
	assert_string_equal(k.v[0].name + strlen(dir), "/kernel/net/nf-tables.ko.xz");
	kernel_maps__free(&k);
	/* ext4 is gone, its addresses are free; then xfs gets them */
	write_text_file(list, "nf_tables 400 1 - Live 0xffffffffc0100000\n");
	assert_int_equal(kernel_modules__current(&m, &k), 0);
	assert_int_equal(k.n, 2);
	kernel_maps__free(&k);
	write_text_file(list, "xfs 16 1 - Live 0xffffffffc0201ff0\n");
	assert_int_equal(kernel_modules__current(&m, &k), 0);
	assert_int_equal(k.n, 2);
	assert_string_equal(k.v[0].name, "[xfs]");
	assert_string_equal(k.v[1].name, "[nf_tables]");
	kernel_maps__free(&k);
	kernel_modules__free(&m);
	unlink(list);
	unlink(dep);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),	    cmocka_unit_test(test_nothing_to_read),
		cmocka_unit_test(test_this_kernel), cmocka_unit_test(test_text),
		cmocka_unit_test(test_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
