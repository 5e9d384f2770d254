// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "detect/probe/own_machine.h"
#include "detect/probe/sdt_arg.h"
#include "detect/probe/sdt_file.h"
#include "detect/probe/usdt_note.h"

/* More than any program has. */
#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 128
#define NAMES_MAX    (256U << 10) /* bytes */
#define NOTES_MAX    (1U << 20)

struct file {
	int fd;
	const char *provider;
	int (*fn)(const struct sdt_place *p, void *arg);
	void *arg;
	Elf64_Ehdr head;
	Elf64_Phdr *segments; /* owned; NULL until they are needed */
	uint64_t base;	      /* of section .stapsdt.base; 0: it has none */
};

static int read_at(const struct file *f, void *buf, size_t size, uint64_t at)
{
	ssize_t n = at > INT64_MAX - size ? 0 : pread(f->fd, buf, size, at);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EINVAL;
}

/* @size bytes with a NUL behind them. */
static int read_new(const struct file *f, size_t size, uint64_t at, void **ret)
{
	char *p = malloc(size + 1);
	int r = p ? read_at(f, p, size, at) : -ENOMEM;

	if (r) {
		free(p);
		return r;
	}
	p[size] = '\0';
	*ret = p;
	return 0;
}

static int read_head(struct file *f)
{
	const Elf64_Ehdr *h = &f->head;

	if (read_at(f, &f->head, sizeof(f->head), 0) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != OWN_MACHINE ||
	    (h->e_type != ET_EXEC && h->e_type != ET_DYN))
		return -ENOEXEC;
	if (h->e_shnum && (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum > SECTIONS_MAX ||
			   h->e_shstrndx >= h->e_shnum))
		return -EINVAL;
	if (h->e_phnum > SEGMENTS_MAX || (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr)))
		return -EINVAL;
	return 0;
}

/* Where in the file the code at @addr is. */
static bool find_offset(const struct file *f, uint64_t addr, uint64_t *ret)
{
	for (int i = 0; i < f->head.e_phnum; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || addr < p->p_vaddr ||
		    addr - p->p_vaddr >= p->p_filesz || p->p_offset > INT64_MAX - p->p_filesz ||
		    p->p_filesz > INT64_MAX)
			continue;
		*ret = addr - p->p_vaddr + p->p_offset;
		return true;
	}
	return false;
}

static int look_at_probe(const struct elf_usdt *probe, void *arg)
{
	struct sdt_place place = { .name = probe->name };
	struct file *f = arg;
	uint64_t addr = probe->addr;
	int r;

	if (strcmp(probe->provider, f->provider) != 0)
		return 0;
	if (f->base) /* it may have been moved since */
		addr += f->base - probe->base;
	if (!f->segments) {
		r = read_new(f, f->head.e_phnum * sizeof(*f->segments), f->head.e_phoff,
			     (void **)&f->segments);
		if (r)
			return r;
	}
	if (!find_offset(f, addr, &place.offset) || sdt_arg__parse(probe->args, &place.arg))
		return 0;
	return f->fn(&place, f->arg);
}

/* Is the section called that? */
static bool has_name(const Elf64_Shdr *sh, const char *names, size_t size, const char *name)
{
	return sh->sh_name < size && !strcmp(names + sh->sh_name, name);
}

static int look_at_notes(struct file *f, const Elf64_Shdr *sh)
{
	_cleanup_free_ void *notes = NULL;
	int r;

	if (sh->sh_size > NOTES_MAX)
		return -EINVAL;
	r = read_new(f, sh->sh_size, sh->sh_offset, &notes);
	return r ? r : usdt_notes__each(notes, sh->sh_size, look_at_probe, f);
}

static int look_at_sections(struct file *f, const Elf64_Shdr *sections)
{
	const Elf64_Shdr *end = sections + f->head.e_shnum, *sh;
	size_t size = sections[f->head.e_shstrndx].sh_size;
	_cleanup_free_ void *names = NULL;
	int r;

	if (size > NAMES_MAX)
		return -EINVAL;
	r = read_new(f, size, sections[f->head.e_shstrndx].sh_offset, &names);
	for (sh = sections; sh < end && !r; sh++) {
		if (has_name(sh, names, size, ".stapsdt.base"))
			f->base = sh->sh_addr;
	}
	for (sh = sections; sh < end && !r; sh++) {
		if (sh->sh_type == SHT_NOTE && has_name(sh, names, size, ".note.stapsdt"))
			return look_at_notes(f, sh); /* there is one */
	}
	return r;
}

int sdt_file__each(int fd, const char *provider, int (*fn)(const struct sdt_place *p, void *arg),
		   void *arg)
{
	struct file f = { .fd = fd, .provider = provider, .fn = fn, .arg = arg };
	_cleanup_free_ void *sections = NULL;
	int r = read_head(&f);

	if (r || !f.head.e_shnum)
		return r;
	r = read_new(&f, f.head.e_shnum * sizeof(Elf64_Shdr), f.head.e_shoff, &sections);
	if (!r)
		r = look_at_sections(&f, sections);
	free(f.segments);
	return r;
}
