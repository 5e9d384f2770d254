// SPDX-License-Identifier: GPL-2.0-only
/*
 * The targets of uprobe and usdt, on files made from this program. Needs no root.
 * with: others
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "detect/probe/probe_file.h"
#include "detect/probe/probe_target.h"
#include "examine/probe/func_exits.h"
#include "examine/probe/usdt_note.h"
#include "probe_reader_fixture.h"

static char dir[64];
static struct buf self; /* this program */

__attribute__((noinline, noclone, used)) int target_function(int x);
__attribute__((noinline, noclone, used)) int target_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

/* Jumps into another function, with or without a name. */
#if defined(__x86_64__)
#define GO_TO "jmp "
#else
#define GO_TO "b "
#endif
__asm__(".text\n"
	".type target_tail, %function\n"
	"target_tail: " GO_TO "target_function\n"
	".size target_tail, . - target_tail\n"
	".type target_tail_hidden, %function\n"
	"target_tail_hidden: " GO_TO "1f\n"
	".size target_tail_hidden, . - target_tail_hidden\n"
	"1: ret\n"
	".type target_endless, %function\n"
	"target_endless: " GO_TO "target_endless\n"
	".size target_endless, . - target_endless\n");

static int setup(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/frbpf-test.XXXXXX");
	return start_reader(state) || !mkdtemp(dir) ||
	       buf__read_file(&self, "/proc/self/exe", 512 << 20);
}

static int teardown(void **state)
{
	char command[128];

	stop_reader(state);
	buf__free(&self);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* A new file; the path is valid until the next call. */
static const char *file(const char *name, const void *data, size_t len)
{
	static char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	return path;
}

static int find_target(enum frbpf_source source, const char *path, const char *rest,
		       struct probe_target **ret, struct err *err)
{
	char target[PATH_MAX + 128];

	snprintf(target, sizeof(target), "%s:%s", path, rest);
	return probe_target__find(source, target, ret, err);
}

static void refused(enum frbpf_source source, const char *path, const char *rest,
		    const char *message)
{
	struct probe_target *t;
	struct err err = { "" };

	if (!find_target(source, path, rest, &t, &err))
		fail_msg("%s:%s: taken", path, rest);
	if (!strstr(err.msg, message))
		fail_msg("%s:%s: '%s', not '%s'", path, rest, err.msg, message);
}

static struct probe_target *found(enum frbpf_source source, const char *path, const char *rest)
{
	struct probe_target *t = NULL;
	struct err err;

	if (find_target(source, path, rest, &t, &err))
		fail_msg("%s:%s: %s", path, rest, err.msg);
	return t;
}

static void a_function(void **state)
{
	struct probe_target *t = found(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_function");
	const char *code = (const char *)target_function;

	assert_int_equal(t->n_places, 1);
	assert_int_equal(t->places[0].found.n_funcs, 1);
	assert_string_equal(t->places[0].found.funcs[0].name, "target_function");
	assert_false(t->latency);
	/* its instructions are there */
	assert_in_range(t->places[0].found.funcs[0].offset, 1, self.len - 5);
	assert_memory_equal(self.data + t->places[0].found.funcs[0].offset, code, 5);
	probe_target__free(t);
	t = found(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_function latency");
	assert_true(t->latency);
	assert_true(t->places[0].found.funcs[0].n_exits > 0);
	probe_target__free(t);
}

static void names(void **state)
{
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_functoin",
		"did you mean 'target_function'?");
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "q9", "has no function 'q9'");
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "_cmocka_run_group_tests",
		"which is in another file");
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_function+0x40000",
		"has no +0x40000");
	refused(FRBPF_SOURCE_USDT, "/proc/self/exe", "p:q", "has no static probes");
}

/*
 * A return probe would see these functions return, but no file proves that nothing throws through
 * them.
 */
static void without_return(void **state)
{
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_tail latency",
		"it ends in a jump to another function; name that one, 'target_function'");
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_tail_hidden latency",
		"which has no name here");
	refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_endless latency",
		"it never returns. Without a threshold");
	probe_target__free(found(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_tail"));
}

static void offsets(void **state)
{
	struct probe_target *a, *b;
	struct insn insn;
	char rest[64];

	assert_int_equal(insn__decode(OWN_MACHINE, (const uint8_t *)target_function, 15, &insn), 0);
	snprintf(rest, sizeof(rest), "target_function+0x%x", insn.len);
	a = found(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_function");
	b = found(FRBPF_SOURCE_UPROBE, "/proc/self/exe", rest);
	assert_int_equal(b->places[0].found.funcs[0].offset - a->places[0].found.funcs[0].offset,
			 insn.len);
	probe_target__free(a);
	probe_target__free(b);
	if (insn.len > 1)
		refused(FRBPF_SOURCE_UPROBE, "/proc/self/exe", "target_function+0x1",
			"no instruction of 'target_function' begins at +0x1");
}

static void files(void **state)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)self.data;
	uint16_t machine = eh->e_machine, type = eh->e_type;

	refused(FRBPF_SOURCE_UPROBE, file("text", "hello world", 11), "f", "is not an ELF file");
	refused(FRBPF_SOURCE_UPROBE, file("script", "#!/bin/sh\n", 10), "f", "is a script");
	refused(FRBPF_SOURCE_UPROBE, file("empty", "", 0), "f", "is not an ELF file");
	refused(FRBPF_SOURCE_UPROBE, file("short", self.data, 40), "f", "short");
	refused(FRBPF_SOURCE_UPROBE, dir, "f", "is not a file");
	refused(FRBPF_SOURCE_UPROBE, "/no/such/file", "f", "no such file, and no");
	refused(FRBPF_SOURCE_UPROBE, "/no/such/*/file", "f", "no running process");
	refused(FRBPF_SOURCE_UPROBE, "frbpf-no-such", "f", "no library or program 'frbpf-no-such'");
	eh->e_machine = EM_S390;
	refused(FRBPF_SOURCE_UPROBE, file("other", self.data, self.len), "target_function",
		"is for s390, this machine is");
	eh->e_machine = machine;
	eh->e_type = ET_CORE;
	refused(FRBPF_SOURCE_UPROBE, file("core", self.data, self.len), "target_function",
		"neither a program nor a shared library");
	eh->e_type = type;
}

/* Give a section another name. */
static void rename_section(const char *from, const char *to)
{
	char *name = NULL, *next = self.data;

	/* the last match: names of sections are at the end, and this text is a constant, too */
	while ((next = memmem(next, self.data + self.len - next, from, strlen(from) + 1)))
		name = next++;
	assert_non_null(name);
	assert_true(strlen(to) <= strlen(from));
	memset(name, 0, strlen(from));
	memcpy(name, to, strlen(to));
}

static void go(void **state)
{
	struct probe_target *t;
	const char *path;

	_cleanup_free_ char *kept = malloc(self.len);

	assert_non_null(kept);
	memcpy(kept, self.data, self.len);
	rename_section(".note.gnu.build-id", ".note.go.buildid");
	path = file("go", self.data, self.len);
	refused(FRBPF_SOURCE_UPROBE, path, "target_function latency", "is a Go program");
	/* the real reason: debug symbols would not help */
	refused(FRBPF_SOURCE_UPROBE, path, "no_such_function latency", "is a Go program");
	t = found(FRBPF_SOURCE_UPROBE, path, "target_function");
	probe_target__free(t);
	memcpy(self.data, kept, self.len);
}

/* Without its table of sections. */
static void stripped(void **state)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)self.data, kept = *eh;

	eh->e_shoff = eh->e_shnum = eh->e_shstrndx = 0;
	refused(FRBPF_SOURCE_UPROBE, file("bare", self.data, self.len), "target_function",
		"stripped");
	*eh = kept;
}

/* Whatever the file contains, it is refused. */
static void damaged(void **state)
{
	unsigned int seed = 1;

	for (int round = 0; round < 200; round++) {
		_cleanup_free_ char *copy = malloc(self.len);
		struct probe_target *t;
		struct err err = { "" };
		const Elf64_Ehdr *eh = (const Elf64_Ehdr *)self.data;

		assert_non_null(copy);
		memcpy(copy, self.data, self.len);
		for (int i = 0; i < 20; i++) {
			size_t at = rand_r(&seed) % 2 ? (size_t)eh->e_shoff + rand_r(&seed) % 2048
						      : 16 + (size_t)rand_r(&seed) % 1024;

			if (at < self.len)
				copy[at] = rand_r(&seed);
		}
		if (!find_target(FRBPF_SOURCE_UPROBE, file("damaged", copy, self.len),
				 "target_function latency", &t, &err))
			probe_target__free(t);
		else
			assert_true(err.msg[0]);
	}
}

static void libraries(void **state)
{
	struct probe_target *a = found(FRBPF_SOURCE_UPROBE, "libc", "usleep"), *b;
	struct stat st;

	assert_int_equal(stat(a->places[0].name, &st), 0);
	assert_int_equal(st.st_ino, a->places[0].st.st_ino);
#ifdef __GLIBC__
	b = found(FRBPF_SOURCE_UPROBE, "libc.so.6", "usleep");
	assert_int_equal(a->places[0].st.st_ino, b->places[0].st.st_ino);
	probe_target__free(b);
	refused(FRBPF_SOURCE_UPROBE, "libc", "strlen", "is chosen when a program starts (IFUNC)");
#else
	(void)b;
#endif
	/* a file by its path, which this process has mapped */
	b = found(FRBPF_SOURCE_UPROBE, a->places[0].name, "usleep");
	probe_target__free(b);
	probe_target__free(a);
}

/*
 * A program is found although a library directory has a directory of its name. The mounts are
 * private.
 */
static int find_beside_directory(void)
{
	char program[PATH_MAX];
	struct probe_target *t;
	struct err err = { "" };

	if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("frbpf-test", "/usr/local/lib", "tmpfs", 0, NULL) ||
	    mkdir("/usr/local/lib/frbpf-namesake", 0755))
		return 1;
	snprintf(program, sizeof(program), "%s", file("frbpf-namesake", self.data, self.len));
	if (setenv("PATH", dir, 1) ||
	    find_target(FRBPF_SOURCE_UPROBE, "frbpf-namesake", "target_function", &t, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 2;
	}
	return strcmp(t->places[0].name, program) ? 3 : 0;
}

static void directories(void **state)
{
	int status;
	pid_t child;

	if (geteuid())
		skip();
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(find_beside_directory());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void running_processes(void **state)
{
	char glob[PATH_MAX + 8] = "", *base;
	struct probe_target *t;

	assert_true(readlink("/proc/self/exe", glob, PATH_MAX - 1) > 0);
	base = strrchr(glob, '/') + 1;
	memmove(base + 3, base + 1, strlen(base));
	memmove(base, (char[]){ '[', base[0], ']' }, 3);
	t = found(FRBPF_SOURCE_UPROBE, glob, "target_function");
	assert_int_equal(t->n_places, 1);
	probe_target__free(t);
}

static void replaced_files(void **state)
{
	char path[128], other[128], target[256];
	struct probe_target *t;

	snprintf(path, sizeof(path), "%s", file("program", self.data, self.len));
	snprintf(target, sizeof(target), "%s:target_function", path);
	t = found(FRBPF_SOURCE_UPROBE, path, "target_function");
	assert_true(probe_target__is_current(t, FRBPF_SOURCE_UPROBE, target));
	snprintf(other, sizeof(other), "%s", file("program.new", self.data, self.len));
	assert_int_equal(rename(other, path), 0);
	assert_false(probe_target__is_current(t, FRBPF_SOURCE_UPROBE, target));
	assert_int_equal(unlink(path), 0); /* there is no better file */
	assert_true(probe_target__is_current(t, FRBPF_SOURCE_UPROBE, target));
	probe_target__free(t);
}

static int count_note(const struct elf_usdt *p, void *arg)
{
	assert_string_equal(p->provider, "p");
	assert_string_equal(p->name, "q");
	++*(int *)arg;
	return 0;
}

static void notes(void **state)
{
	struct __attribute__((packed)) {
		uint32_t name, desc, type;
		char owner[8];
		uint64_t addr[3];
		char texts[12];
	} v[2] = { { 8, 33, 3, "stapsdt", { 1, 2, 3 }, "p\0q\0-4@%eax" },
		   { 8, 33, 3, "stapsdt", { 1, 2, 3 }, "p\0q\0" } };
	int n = 0;

	v[0].desc = 24 + 12;
	v[1].desc = 24 + 5;
	assert_int_equal(usdt_notes__each(v, sizeof(v), count_note, &n), 0);
	assert_int_equal(n, 2);
	for (size_t len = 0; len < sizeof(v); len++) /* what is cut off is skipped */
		usdt_notes__each(v, len, count_note, &n);
	v[0].name = 0xffffffff;
	n = 0;
	assert_int_equal(usdt_notes__each(v, sizeof(v), count_note, &n), 0);
	assert_int_equal(n, 0);
}

static int count_library(const char *name, const char *path, void *arg)
{
	++*(int *)arg;
	return path[0] != '/';
}

static void linker_cache(void **state)
{
	struct buf cache = { 0 };
	int n = 0;

	assert_int_equal(ld_cache__each("nothing", 7, count_library, &n), -EINVAL);
	if (buf__read_file(&cache, "/etc/ld.so.cache", 64 << 20))
		skip();
	assert_int_equal(ld_cache__each(cache.data, cache.len, count_library, &n), 0);
	assert_true(n > 0);
	assert_int_equal(ld_cache__each(cache.data, 60, count_library, &n), -EINVAL);
	buf__free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function),
		cmocka_unit_test(names),
		cmocka_unit_test(without_return),
		cmocka_unit_test(offsets),
		cmocka_unit_test(files),
		cmocka_unit_test(go),
		cmocka_unit_test(stripped),
		cmocka_unit_test(damaged),
		cmocka_unit_test(libraries),
		cmocka_unit_test(directories),
		cmocka_unit_test(running_processes),
		cmocka_unit_test(replaced_files),
		cmocka_unit_test(notes),
		cmocka_unit_test(linker_cache),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
