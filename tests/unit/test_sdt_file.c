// SPDX-License-Identifier: GPL-2.0-only
/* FRBPF_TRIGGER() in files: what is read of them, and what of those that are damaged. */
#include <elf.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "detect/app/app_files.h"
#include "detect/probe/sdt_arg.h"
#include "detect/probe/sdt_file.h"
#include "frbpf.h"

/* ---- arguments ---- */

static uint64_t in_reg(size_t reg)
{
	return FRBPF_SDT_REG | (uint64_t)reg << FRBPF_SDT_REG_SHIFT;
}

static uint64_t in_memory(size_t reg, int64_t disp)
{
	return FRBPF_SDT_MEM | (uint64_t)reg << FRBPF_SDT_REG_SHIFT |
	       (uint64_t)disp << FRBPF_SDT_DISP_SHIFT;
}

static uint64_t constant(uint64_t v)
{
	return FRBPF_SDT_CONST | v << FRBPF_SDT_CONST_SHIFT;
}

static uint64_t of_size(uint64_t log, bool is_signed)
{
	return log << FRBPF_SDT_SIZE_SHIFT | (is_signed ? FRBPF_SDT_SIGNED : 0);
}

static void test_args(void **state)
{
	const uint64_t max = UINT64_MAX >> FRBPF_SDT_CONST_SHIFT;
	const struct {
		const char *text;
		uint64_t cookie;
	} good[] = {
		{ "", FRBPF_SDT_NONE },
#if defined(__x86_64__)
		{ "8@%rax", of_size(3, false) | in_reg(offsetof(struct pt_regs, rax)) },
		{ "-4@%r13d 8@%rbx", of_size(2, true) | in_reg(offsetof(struct pt_regs, r13)) },
		{ "-1@%sil", of_size(0, true) | in_reg(offsetof(struct pt_regs, rsi)) },
		{ "8@-16(%rbp)",
		  of_size(3, false) | in_memory(offsetof(struct pt_regs, rbp), -16) },
		{ "2@(%rsp)", of_size(1, false) | in_memory(offsetof(struct pt_regs, rsp), 0) },
		{ "8@$812000000", constant(812000000) },
		{ "8@$0x10", constant(16) },
		{ "8@$-1", constant(max) },
		{ "8@$9223372036854775807", constant(max) },
#elif defined(__aarch64__)
		{ "8@x0", of_size(3, false) | in_reg(offsetof(struct user_pt_regs, regs)) },
		{ "-4@w30 8@x1",
		  of_size(2, true) | in_reg(offsetof(struct user_pt_regs, regs[30])) },
		{ "8@[sp, -16]",
		  of_size(3, false) | in_memory(offsetof(struct user_pt_regs, sp), -16) },
		{ "2@[x2]",
		  of_size(1, false) | in_memory(offsetof(struct user_pt_regs, regs[2]), 0) },
		{ "8@812000000", constant(812000000) },
		{ "8@#16", constant(16) },
		{ "8@-1", constant(max) },
#endif
	};
	uint64_t cookie;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (sdt_arg__parse(good[i].text, &cookie))
			fail_msg("%s is refused", good[i].text);
		if (good[i].text[0] && (good[i].cookie & 3) == FRBPF_SDT_CONST)
			assert_int_equal(cookie >> FRBPF_SDT_CONST_SHIFT,
					 good[i].cookie >> FRBPF_SDT_CONST_SHIFT);
		else if (cookie != good[i].cookie)
			fail_msg("%s: 0x%llx", good[i].text, (unsigned long long)cookie);
	}
}

static void test_bad_args(void **state)
{
	const char *const bad[] = {
		"8",
		"8@",
		"@%rax",
		"3@%rax",
		"16@%rax",
		"8@%xmm0",
		"8@%raxx",
		"8@%",
		"8@$",
		"8@$x",
		"8@var(%rip)",
		"8@4(%rax",
		"8@4294967296(%rax)",
		"8@(%rax,%rbx,8)",
		"8@%rax+1",
		"8@$99999999999999999999",
		"8@x31",
		"8@x100",
		"8@[x0, x1]",
		"8@[sp",
		"-@%rax",
	};
	uint64_t cookie;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cookie = 42;
		if (!sdt_arg__parse(bad[i], &cookie))
			fail_msg("%s is taken", bad[i]);
		assert_int_equal(cookie, 42);
	}
}

static void check_arg(const struct frbpf_usdt_arg *a, enum frbpf_sdt_kind kind, size_t reg,
		      int64_t value, int cut, bool is_signed)
{
	assert_int_equal(a->kind, kind);
	assert_int_equal(a->reg, reg);
	assert_int_equal(a->value, value);
	assert_int_equal(a->cut, cut);
	assert_int_equal(a->is_signed, is_signed);
}

static void test_all_args(void **state)
{
	struct frbpf_usdt_place place;
	const char *bad = NULL;

#if defined(__x86_64__)
	const size_t first = offsetof(struct pt_regs, rdi), sp = offsetof(struct pt_regs, rsp);
	const char *text = " -4@%edi 8@-24(%rsp)  1@$200 -2@$-9";
	const char *const many = "1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 nonsense";
	const char *const unknown = "8@%rax 4@counter(%rip) 8@%rbx";
#else
	const size_t first = offsetof(struct user_pt_regs, regs),
		     sp = offsetof(struct user_pt_regs, sp);
	const char *text = " -4@x0 8@[sp, -24]  1@200 -2@-9";
	const char *const many = "1@1 1@2 1@3 1@4 1@5 1@6 1@7 1@8 nonsense";
	const char *const unknown = "8@x1 4@[x0, x1] 8@x2";
#endif

	assert_int_equal(sdt_args__parse(text, &place, &bad), 0);
	check_arg(&place.arg[0], FRBPF_SDT_REG, first, 0, 32, true);
	check_arg(&place.arg[1], FRBPF_SDT_MEM, sp, -24, 0, false);
	check_arg(&place.arg[2], FRBPF_SDT_CONST, 0, 200, 56, false);
	check_arg(&place.arg[3], FRBPF_SDT_CONST, 0, -9, 48, true);
	check_arg(&place.arg[4], FRBPF_SDT_NONE, 0, 0, 0, false);
	assert_int_equal(place.n_args, 4);
	assert_int_equal(sdt_args__parse(unknown, &place, &bad), -EINVAL);
	assert_ptr_equal(bad, strstr(unknown, "4@"));
	check_arg(&place.arg[3], FRBPF_SDT_CONST, 0, -9, 48, true); /* untouched */
	assert_int_equal(sdt_args__parse("", &place, &bad), 0);
	check_arg(&place.arg[0], FRBPF_SDT_NONE, 0, 0, 0, false);
	assert_int_equal(place.n_args, 0);
	/* more than there is room for */
	assert_int_equal(sdt_args__parse(many, &place, &bad), 0);
	check_arg(&place.arg[7], FRBPF_SDT_CONST, 0, 8, 56, false);
	assert_int_equal(place.n_args, FRBPF_MAX_ARGS);
}

/* ---- files ---- */

/* A program of a header, one segment, and notes. */
struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4]; /* none, names, base, notes */
	char names[48];
	char notes[4096];
};

#define CODE_ADDR 0x401000
#define CODE_AT	  0x1000

static void add_note(struct image *m, const char *provider, const char *name, const char *args,
		     uint64_t addr, uint64_t base)
{
	Elf64_Shdr *sh = &m->sections[3];
	char *p = m->notes + sh->sh_size, *desc = p + 20;
	uint32_t head[3] = { 8, 0, 3 };
	uint64_t words[3] = { addr, base, 0 };
	char *at = desc + sizeof(words);

	at = stpcpy(at, provider) + 1;
	at = stpcpy(at, name) + 1;
	at = stpcpy(at, args) + 1;
	head[1] = at - desc;
	memcpy(p, head, sizeof(head));
	memcpy(p + sizeof(head), "stapsdt", 8);
	memcpy(desc, words, sizeof(words));
	sh->sh_size += 20 + ((head[1] + 3) & ~3U);
	assert_true(sh->sh_size <= sizeof(m->notes));
}

static struct image *new_image(void)
{
	struct image *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	memcpy(m->head.e_ident, ELFMAG, SELFMAG);
	m->head.e_ident[EI_CLASS] = ELFCLASS64;
	m->head.e_type = ET_EXEC;
#if defined(__x86_64__)
	m->head.e_machine = EM_X86_64;
#else
	m->head.e_machine = EM_AARCH64;
#endif
	m->head.e_phoff = offsetof(struct image, segment);
	m->head.e_phentsize = sizeof(Elf64_Phdr);
	m->head.e_phnum = 1;
	m->head.e_shoff = offsetof(struct image, sections);
	m->head.e_shentsize = sizeof(Elf64_Shdr);
	m->head.e_shnum = ARRAY_SIZE(m->sections);
	m->head.e_shstrndx = 1;
	m->segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = PF_X | PF_R,
				   .p_offset = CODE_AT,
				   .p_vaddr = CODE_ADDR,
				   .p_filesz = 0x1000 };
	memcpy(m->names, "\0.note.stapsdt\0.stapsdt.base", 28);
	m->sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_size = 29,
				       .sh_offset = offsetof(struct image, names) };
	m->sections[2] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_name = 15, .sh_addr = 0x5000 };
	m->sections[3] = (Elf64_Shdr){ .sh_type = SHT_NOTE,
				       .sh_name = 1,
				       .sh_offset = offsetof(struct image, notes) };
	return m;
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

struct found {
	int n;
	char names[8][64];
	uint64_t offsets[8];
};

static int keep(const struct sdt_place *p, void *arg)
{
	struct found *f = arg;

	assert_true(f->n < 8);
	strcpy(f->names[f->n], p->name);
	f->offsets[f->n++] = p->offset;
	return 0;
}

static int look(const void *data, size_t size, struct found *ret)
{
	_cleanup_close_ int fd = file_of(data, size);

	memset(ret, 0, sizeof(*ret));
	return sdt_file__each(fd, "frbpf", keep, ret);
}

static void test_places(void **state)
{
	struct image *m = new_image();
	struct found f;

	add_note(m, "frbpf", "first", "", CODE_ADDR + 0x10, 0x5000);
	add_note(m, "libc", "other", "", CODE_ADDR + 0x11, 0x5000);
	add_note(m, "frbpf", "moved", "", CODE_ADDR + 0x20 - 0x1000, 0x4000);
	add_note(m, "frbpf", "nowhere", "", 0x10, 0x5000);
	add_note(m, "frbpf", "behind", "", CODE_ADDR + 0x1000, 0x5000);
	add_note(m, "frbpf", "unknown", "8@nonsense", CODE_ADDR, 0x5000);
	add_note(m, "frbpf", "first", "", CODE_ADDR + 0xfff, 0x5000);
	assert_int_equal(look(m, sizeof(*m), &f), 0);
	assert_int_equal(f.n, 3);
	assert_string_equal(f.names[0], "first");
	assert_int_equal(f.offsets[0], CODE_AT + 0x10);
	assert_string_equal(f.names[1], "moved");
	assert_int_equal(f.offsets[1], CODE_AT + 0x20);
	assert_int_equal(f.offsets[2], CODE_AT + 0xfff);
	free(m);
}

/* Each of these with the bytes of @v_ put over @member_ is refused or has no places. */
#define BREAK(member_, v_)                                                                         \
	do {                                                                                       \
		struct image *m_ = new_image();                                                    \
		struct found f_;                                                                   \
		add_note(m_, "frbpf", "first", "", CODE_ADDR, 0x5000);                             \
		m_->member_ = (v_);                                                                \
		look(m_, sizeof(*m_), &f_);                                                        \
		assert_int_equal(f_.n, 0);                                                         \
		free(m_);                                                                          \
	} while (0)

static void test_damaged(void **state)
{
	struct image *m = new_image();
	struct found f;

	add_note(m, "frbpf", "first", "", CODE_ADDR, 0x5000);
	assert_int_equal(look(m, sizeof(*m), &f), 0);
	assert_int_equal(f.n, 1);
	for (size_t size = 0; size < offsetof(struct image, notes); size++) {
		look(m, size, &f);
		assert_int_equal(f.n, 0);
	}
	free(m);
	BREAK(head.e_shnum, 0);
	BREAK(head.e_shnum, 0xffff);
	BREAK(head.e_shentsize, 1);
	BREAK(head.e_shstrndx, 4);
	BREAK(head.e_shoff, UINT64_MAX - 8);
	BREAK(head.e_shoff, INT64_MAX);
	BREAK(head.e_phnum, 0xffff);
	BREAK(head.e_phoff, UINT64_MAX - 8);
	BREAK(head.e_machine, EM_386);
	BREAK(head.e_ident[EI_CLASS], ELFCLASS32);
	BREAK(sections[1].sh_size, UINT64_MAX);
	BREAK(sections[1].sh_size, 3);
	BREAK(sections[1].sh_offset, UINT64_MAX);
	BREAK(sections[3].sh_size, UINT64_MAX);
	BREAK(sections[3].sh_size, 1U << 30);
	BREAK(sections[3].sh_offset, UINT64_MAX - 16);
	BREAK(sections[3].sh_name, 0xffffff);
	BREAK(sections[3].sh_type, SHT_PROGBITS);
	BREAK(segment.p_flags, PF_R);
	BREAK(segment.p_offset, UINT64_MAX - 16);
	BREAK(segment.p_filesz, UINT64_MAX);
}

/* ---- many files ---- */

static struct app_file *app_file(ino_t ino, uid_t uid, int n_places)
{
	struct stat st = { .st_dev = 1, .st_ino = ino, .st_uid = uid };
	struct image *m = new_image();
	struct app_file *f = NULL;

	for (int i = 0; i < n_places; i++)
		add_note(m, "frbpf", "name", "", CODE_ADDR + i, 0x5000);
	assert_int_equal(app_file__read(file_of(m, sizeof(*m)), &st, "/no/such/file", &f), 0);
	free(m);
	return f;
}

static void test_nobody_takes_all(void **state)
{
	struct app_files *fs = app_files__new();
	struct app_file *f;
	size_t places;
	ino_t ino = 1;

	assert_non_null(fs);
	assert_null(app_file(1, 0, 0));
	f = app_file(1, 1000, 2 * APP_PLACES_ONE);
	assert_int_equal(f->n_places, APP_PLACES_ONE);
	app_file__free(f);
	for (; ino <= APP_FILES_MAX / 2; ino++)
		assert_int_equal(app_files__add(fs, app_file(ino, 1000, 1)), 0);
	f = app_file(ino, 1000, 1);
	assert_int_equal(app_files__add(fs, f), -ENOSPC);
	app_file__free(f);
	for (; ino <= APP_FILES_MAX; ino++)
		assert_int_equal(app_files__add(fs, app_file(ino, 0, 1)), 0);
	f = app_file(ino, 0, 1);
	assert_int_equal(app_files__add(fs, f), -ENOSPC);
	app_file__free(f);
	assert_int_equal(app_files__n(fs, &places), APP_FILES_MAX);
	assert_int_equal(places, APP_FILES_MAX);
	f = app_files__find(fs, &(struct stat){ .st_dev = 1, .st_ino = 3 });
	assert_non_null(f);
	assert_false(app_file__is_there(f));
	app_files__take(fs, f);
	app_file__free(f);
	assert_int_equal(app_files__n(fs, &places), APP_FILES_MAX - 1);
	app_files__free(fs);
}

static void test_what_was_written_to_is_read_again(void **state)
{
	struct app_files *fs = app_files__new();
	struct stat st = { .st_dev = 1, .st_ino = 7, .st_ctim = { 5, 6 } };

	assert_false(app_files__is_ignored(fs, &st));
	app_files__ignore(fs, &st);
	assert_true(app_files__is_ignored(fs, &st));
	st.st_ctim.tv_nsec++;
	assert_false(app_files__is_ignored(fs, &st));
	app_files__free(fs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_args),
		cmocka_unit_test(test_bad_args),
		cmocka_unit_test(test_all_args),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_nobody_takes_all),
		cmocka_unit_test(test_what_was_written_to_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
