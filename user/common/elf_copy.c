// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"

#define CHUNK	  (64 << 10)
#define NOTES_MAX (1 << 20) /* of one segment */
#define NAMES_MAX (16 << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

/* Everything is parsed from the copy, which nobody else can change. */
struct copy {
	int from, to;
	uint64_t size; /* of the file */
	uint64_t left; /* bytes that may still be copied */
	unsigned int what;
	bool is64;
	uint64_t shoff, phoff;
	uint32_t shnum, phnum, names_at;
	char *names; /* owned; of sections, followed by a NUL; NULL: none */
	uint64_t names_size;
	char chunk[CHUNK];
};

struct section {
	uint32_t name, type;
	uint64_t offset, size;
};

/* Copy a range of the file. Bytes beyond the end of the file become a hole. */
static int copy_range(struct copy *c, uint64_t offset, uint64_t size)
{
	if (offset >= c->size)
		return 0;
	if (size > c->size - offset)
		size = c->size - offset;
	if (size > c->left)
		return -EFBIG;
	c->left -= size;
	while (size) {
		ssize_t n = pread(c->from, c->chunk, size < CHUNK ? size : CHUNK, offset);

		if (n < 0)
			return -errno;
		if (!n) /* cut short */
			return 0;
		if (pwrite(c->to, c->chunk, n, offset) != n)
			return errno ? -errno : -EIO;
		offset += n;
		size -= n;
	}
	return 0;
}

static bool read_copied_bytes(const struct copy *c, void *buf, size_t size, uint64_t offset)
{
	return offset <= c->size && pread(c->to, buf, size, offset) == (ssize_t)size;
}

static size_t section_size(const struct copy *c)
{
	return c->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
}

static size_t segment_size(const struct copy *c)
{
	return c->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

static bool read_section_header(const struct copy *c, uint32_t i, struct section *ret)
{
	uint64_t at = c->shoff + (uint64_t)i * section_size(c);
	Elf64_Shdr s;
	Elf32_Shdr n;

	if (c->is64 ? !read_copied_bytes(c, &s, sizeof(s), at)
		    : !read_copied_bytes(c, &n, sizeof(n), at))
		return false;
	if (c->is64)
		*ret = (struct section){ s.sh_name, s.sh_type, s.sh_offset, s.sh_size };
	else
		*ret = (struct section){ n.sh_name, n.sh_type, n.sh_offset, n.sh_size };
	return true;
}

/* -ENOEXEC: not an ELF file. Of a file with another byte order, only the header is copied. */
static int copy_elf_header(struct copy *c)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} h = { 0 };
	int err = copy_range(c, 0, sizeof(h));

	if (err)
		return err;
	if (pread(c->to, &h, sizeof(h), 0) < EI_NIDENT || memcmp(h.ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	c->is64 = h.ident[EI_CLASS] == ELFCLASS64;
	if (h.ident[EI_DATA] != OWN_ORDER)
		return 0;
	c->shoff = c->is64 ? h.wide.e_shoff : h.narrow.e_shoff;
	c->phoff = c->is64 ? h.wide.e_phoff : h.narrow.e_phoff;
	c->shnum = c->is64 ? h.wide.e_shnum : h.narrow.e_shnum;
	c->phnum = c->is64 ? h.wide.e_phnum : h.narrow.e_phnum;
	c->names_at = c->is64 ? h.wide.e_shstrndx : h.narrow.e_shstrndx;
	/* more segments than this field can count: no real file has so many */
	return c->phnum == PN_XNUM ? -EFBIG : 0;
}

/* If the number of sections does not fit into the header, the size of the first section has it. */
static int copy_section_headers(struct copy *c)
{
	Elf64_Shdr first;
	Elf32_Shdr narrow;
	int err = 0;

	if (!c->shoff || c->shoff > c->size)
		return 0;
	if (!c->shnum || c->names_at == SHN_XINDEX) {
		err = copy_range(c, c->shoff, section_size(c));
		if (err)
			return err;
		if (!c->is64 && read_copied_bytes(c, &narrow, sizeof(narrow), c->shoff)) {
			first.sh_size = narrow.sh_size;
			first.sh_link = narrow.sh_link;
		} else if (!c->is64 || !read_copied_bytes(c, &first, sizeof(first), c->shoff)) {
			return 0;
		}
		if (!c->shnum && first.sh_size > ELF_COPY_SECTIONS)
			return -EFBIG;
		c->shnum = c->shnum ?: first.sh_size;
		if (c->names_at == SHN_XINDEX)
			c->names_at = first.sh_link;
		/* the first one was copied already */
		return c->shnum < 2 ? 0
				    : copy_range(c, c->shoff + section_size(c),
						 (uint64_t)(c->shnum - 1) * section_size(c));
	}
	return copy_range(c, c->shoff, (uint64_t)c->shnum * section_size(c));
}

static int copy_names(struct copy *c)
{
	struct section s;
	int err;

	if (c->names_at >= c->shnum || !read_section_header(c, c->names_at, &s) ||
	    s.type == SHT_NOBITS || !s.size || s.offset > c->size)
		return 0;
	if (s.size > NAMES_MAX)
		return -EFBIG;
	err = copy_range(c, s.offset, s.size);
	if (err)
		return err;
	c->names = malloc(s.size + 1);
	if (!c->names)
		return -ENOMEM;
	if (read_copied_bytes(c, c->names, s.size, s.offset))
		c->names_size = s.size;
	c->names[c->names_size] = '\0';
	return 0;
}

static bool section_is_wanted(const struct copy *c, const struct section *s)
{
	const char *name = s->name < c->names_size ? c->names + s->name : "";

	/* its type is SHT_X86_64_UNWIND on x86-64, PROGBITS elsewhere: go by the name */
	if (s->type != SHT_NOBITS && !strncmp(name, ".eh_frame", strlen(".eh_frame")))
		return c->what & ELF_COPY_UNWIND;
	switch (s->type) {
	case SHT_NOTE:
		return c->what & ELF_COPY_NOTES;
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_STRTAB:
	case SHT_SYMTAB_SHNDX:
	case SHT_DYNAMIC:
		return c->what & ELF_COPY_SYMBOLS;
	case SHT_RELA:
		return c->what & ELF_COPY_SYMBOLS && !strcmp(name, ".rela.plt");
	case SHT_PROGBITS:
		if (!strcmp(name, ".gnu_debugdata"))
			return c->what & ELF_COPY_DEBUGDATA;
		return c->what & ELF_COPY_SYMBOLS &&
		       (!strncmp(name, ".plt", 4) || !strcmp(name, ".gnu_debuglink"));
	}
	return false;
}

static int copy_sections(struct copy *c)
{
	struct section s;
	int err = 0;

	for (uint32_t i = 0; i < c->shnum && !err && read_section_header(c, i, &s); i++) {
		if (i != c->names_at && section_is_wanted(c, &s))
			err = copy_range(c, s.offset, s.size);
	}
	return err;
}

static int copy_segments(struct copy *c)
{
	int err = copy_range(c, c->phoff, (uint64_t)c->phnum * segment_size(c));

	for (uint32_t i = 0; i < c->phnum && !err && c->what & ELF_COPY_NOTES; i++) {
		uint64_t at = c->phoff + (uint64_t)i * segment_size(c);
		Elf64_Phdr p;
		Elf32_Phdr n;

		if (c->is64 ? !read_copied_bytes(c, &p, sizeof(p), at)
			    : !read_copied_bytes(c, &n, sizeof(n), at))
			break;
		if (!c->is64) {
			p.p_type = n.p_type;
			p.p_offset = n.p_offset;
			p.p_filesz = n.p_filesz;
		}
		if (p.p_type == PT_NOTE && p.p_filesz <= NOTES_MAX)
			err = copy_range(c, p.p_offset, p.p_filesz);
	}
	return err;
}

static int copy_elf_file(struct copy *c)
{
	return copy_elf_header(c) ?: copy_segments(c) ?: copy_section_headers(c) ?: copy_names(c) ?:
								       copy_sections(c);
}

int elf_copy__make(int fd, unsigned int what, int *ret)
{
	_cleanup_close_ int to = -1;
	struct copy *c;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if (st.st_size > ELF_COPY_FILE_MAX)
		return -EFBIG;
	to = memfd_create("elf", MFD_CLOEXEC);
	if (to < 0 || ftruncate(to, st.st_size))
		return -errno;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->from = fd;
	c->to = to;
	c->what = what;
	c->size = st.st_size;
	c->left = ELF_COPY_MAX;
	err = copy_elf_file(c);
	free(c->names);
	free(c);
	if (!err)
		*ret = TAKE_FD(to);
	return err;
}
