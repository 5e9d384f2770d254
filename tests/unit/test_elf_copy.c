// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of ELF files: the requested parts are identical; truncated, changing or absurd files do no
 * harm.
 * with: others
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "examine/probe/elf_file.h"
#include "perfdata/build_id.h"
#include "symbols/elf_symbols.h"

#define ALL (ELF_COPY_NOTES | ELF_COPY_SYMBOLS | ELF_COPY_DEBUGDATA)

/* A library that is stripped, at the path where this process mapped it. */
static int open_libc(void)
{
	char line[512], *path = NULL;
	FILE *f = fopen("/proc/self/maps", "re");
	int fd = -1;

	assert_non_null(f);
	while (fd < 0 && fgets(line, sizeof(line), f)) {
		path = strchr(line, '/');
		if (!path || !strstr(path, "/libc.so"))
			continue;
		path[strcspn(path, "\n")] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	fclose(f);
	return fd;
}

static Elf_Data *data_of(Elf *elf, uint32_t type, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static void test_same(void **state)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_NOTE, SHT_DYNAMIC, SHT_STRTAB };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = -1;
	Elf *a, *b;

	elf_version(EV_CURRENT);
	assert_int_equal(elf_copy__make(fd, ALL, &copy), 0);
	a = elf_begin(fd, ELF_C_READ, NULL);
	b = elf_begin(copy, ELF_C_READ, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		GElf_Shdr ash, bsh;
		Elf_Data *ad = data_of(a, types[i], &ash), *bd = data_of(b, types[i], &bsh);

		assert_true(ad && bd);
		assert_int_equal(ad->d_size, bd->d_size);
		assert_memory_equal(ad->d_buf, bd->d_buf, ad->d_size);
	}
	elf_end(a);
	elf_end(b);
	close(copy);
	close(fd);
}

/* Code is not copied, so the copy needs less room than the file. */
static void test_holes(void **state)
{
	int fd = open_libc(), copy = -1;
	struct stat file, st;

	if (fd < 0)
		skip();
	assert_int_equal(elf_copy__make(fd, ELF_COPY_NOTES, &copy), 0);
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(fstat(copy, &st), 0);
	assert_int_equal(st.st_size, file.st_size);
	assert_true(st.st_blocks * 512 < file.st_size / 4);
	close(copy);
	close(fd);
}

static void check_header(const Elf64_Ehdr *h, const Elf64_Shdr *first, off_t size, int expected)
{
	int fd = memfd_create("absurd", MFD_CLOEXEC), copy = -1, r;

	assert_int_equal(pwrite(fd, h, sizeof(*h), 0), sizeof(*h));
	if (first)
		assert_int_equal(pwrite(fd, first, sizeof(*first), h->e_shoff), sizeof(*first));
	assert_int_equal(ftruncate(fd, size), 0);
	r = elf_copy__make(fd, ALL, &copy);
	assert_int_equal(r, expected);
	if (!r)
		close(copy);
	close(fd);
}

/* Sizes for which a library would allocate all memory. */
static void test_absurd(void **state)
{
	Elf64_Ehdr h = { .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_ehsize = sizeof(h),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Shdr first = { .sh_size = 1ULL << 31 };

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	check_header(&h, NULL, 4096, 0);
	h.e_shoff = 4096;
	check_header(&h, &first, 1LL << 35, -EFBIG); /* sections */
	first.sh_size = 2;
	check_header(&h, &first, 1LL << 35, 0);
	h.e_phnum = PN_XNUM;
	check_header(&h, &first, 1LL << 35, -EFBIG); /* segments */
	h.e_phnum = 0;
	h.e_shnum = 1;
	first = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_size = 1ULL << 34 };
	check_header(&h, &first, 1LL << 35, -EFBIG); /* symbols */
	first.sh_offset = UINT64_MAX - 5;
	check_header(&h, &first, 1LL << 35, 0);
	check_header(&h, NULL, ELF_COPY_FILE_MAX + 1, -EFBIG);
	h.e_ident[0] = 'X';
	check_header(&h, NULL, 4096, -ENOEXEC);
	check_header(&h, NULL, 3, -ENOEXEC);
}

/* ---- a file that changes while it is read ---- */

struct writer {
	int fd;
	char *image;
	size_t size;
	atomic_bool stop;
	atomic_uint rounds;
};

/* Truncates the file, restores it, writes garbage into it. */
static void *keep_writing(void *arg)
{
	struct writer *w = arg;
	unsigned int n;

	while (!atomic_load(&w->stop)) {
		n = atomic_fetch_add(&w->rounds, 1);
		if (ftruncate(w->fd, n % 5 ? (off_t)(w->size / (n % 7 + 2)) : 64) ||
		    pwrite(w->fd, w->image, w->size, 0) != (ssize_t)w->size)
			return (void *)1;
		if (n % 3 == 0 && pwrite(w->fd, w->image + w->size / 2, 4096,
					 n * 4096ULL % (w->size - 4096)) != 4096)
			return (void *)1;
	}
	return NULL;
}

static int count(const struct elf_function *s, void *arg)
{
	size_t *n = arg;

	*n += s->name[0] != '\0';
	return 0;
}

static int count_usdt(const struct elf_usdt *p, void *arg)
{
	size_t *n = arg;

	*n += p->name[0] != '\0';
	return 0;
}

/* Read the file by all readers of symbols. Returns whether elf_file__open() succeeded. */
static bool read_symbols(const char *path, int fd, size_t *n)
{
	struct elf_symbols symbols = { .wanted = NULL };
	struct elf_file *f = NULL;
	struct build_id id;
	struct err err;

	build_id__read_fd(fd, &id);
	if (!elf_symbols__read(fd, &symbols))
		elf_symbols__free(&symbols);
	if (elf_file__open(fd, path, true, &f, &err))
		return false;
	elf_file__each_function(f, count, n);
	elf_file__each_usdt(f, count_usdt, n);
	elf_file__free(f);
	return true;
}

struct cut {
	int fd;
	size_t n, at; /* at: the function at which the file is cut */
};

static int count_and_cut(const struct elf_function *s, void *arg)
{
	struct cut *c = arg;

	if (c->n++ == c->at)
		assert_int_equal(ftruncate(c->fd, 100), 0);
	return 0;
}

/* Truncated between open and the last symbol: all symbols come from the copy. */
static void test_cut_meanwhile(void **state)
{
	int libc = open_libc();
	struct cut c = { .at = SIZE_MAX };
	struct elf_file *f;
	size_t whole = 0;
	struct stat st;
	struct err err;
	char path[64];
	char *image;

	if (libc < 0)
		skip();
	assert_int_equal(fstat(libc, &st), 0);
	image = malloc(st.st_size);
	assert_non_null(image);
	assert_int_equal(pread(libc, image, st.st_size, 0), st.st_size);
	c.fd = memfd_create("victim", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", c.fd);
	for (int i = 0; i <= 10; i++) {
		assert_int_equal(pwrite(c.fd, image, st.st_size, 0), st.st_size);
		assert_int_equal(elf_file__open(c.fd, path, true, &f, &err), 0);
		c.at = i ? (i - 1) * whole / 9 : SIZE_MAX;
		c.n = 0;
		assert_int_equal(elf_file__each_function(f, count_and_cut, &c), 0);
		elf_file__free(f);
		if (!i)
			whole = c.n;
		assert_int_equal(c.n, whole);
	}
	assert_true(whole > 1000);
	free(image);
	close(c.fd);
	close(libc);
}

static void test_written_to_meanwhile(void **state)
{
	struct writer w = { .fd = memfd_create("victim", MFD_CLOEXEC) };
	int libc = open_libc();
	unsigned int opened = 0;
	pthread_t thread;
	struct stat st;
	char path[64];
	void *failed;
	size_t n = 0;

	if (libc < 0)
		skip();
	assert_int_equal(fstat(libc, &st), 0);
	w.size = st.st_size;
	w.image = malloc(w.size);
	assert_non_null(w.image);
	assert_int_equal(pread(libc, w.image, w.size, 0), w.size);
	assert_int_equal(pwrite(w.fd, w.image, w.size, 0), w.size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", w.fd);
	assert_true(read_symbols(path, w.fd, &n));
	assert_true(n > 1000);
	assert_int_equal(pthread_create(&thread, NULL, keep_writing, &w), 0);
	/* until the reader and the writer have each run 200 times */
	for (int i = 0; i < 200 || atomic_load(&w.rounds) < 200; i++)
		opened += read_symbols(path, w.fd, &n);
	atomic_store(&w.stop, true);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	print_message("opened %u times, %u changes\n", opened, atomic_load(&w.rounds));
	free(w.image);
	close(w.fd);
	close(libc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_cut_meanwhile),
		cmocka_unit_test(test_written_to_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
