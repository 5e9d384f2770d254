// SPDX-License-Identifier: GPL-2.0-only
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "common/foreign.h"
#include "detect/probe/elf_file.h"
#include "detect/probe/own_machine.h"
#include "detect/probe/usdt_note.h"

/* Read from the file itself. */
struct code {
	struct code *next;
	unsigned char bytes[];
};

#define CODE_MAX (16 << 20) /* bytes of one function */

struct elf_file {
	char *name;
	int fd;
	int copy; /* see common/elf_copy.h */
	Elf *elf;
	struct code *codes; /* owned, with all that follow */
	bool go, stripped;
	uint64_t sdt_base; /* address of section .stapsdt.base; 0: it has none */
};

static const char *machine_name(int machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_386:
		return "32-bit x86";
	case EM_AARCH64:
		return "arm64";
	case EM_ARM:
		return "32-bit ARM";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "PowerPC";
	case EM_S390:
		return "s390";
	}
	return "another kind of machine";
}

static int check_header(const struct elf_file *f, struct err *err)
{
	GElf_Ehdr eh;

	if (!gelf_getehdr(f->elf, &eh))
		return err_set(err, -EINVAL, "%s: its ELF header is damaged", f->name);
	if (eh.e_machine != OWN_MACHINE)
		return err_set(err, -EINVAL, "%s is for %s, this machine is %s", f->name,
			       machine_name(eh.e_machine), machine_name(OWN_MACHINE));
	if (gelf_getclass(f->elf) != ELFCLASS64)
		return err_set(err, -EINVAL, "%s is a 32-bit program: only 64-bit ones are watched",
			       f->name);
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return err_set(err, -EINVAL, "%s is neither a program nor a shared library",
			       f->name);
	return 0;
}

static void look_at_sections(struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(f->elf, &names))
		return;
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(f->elf, names, sh.sh_name);
		if (name &&
		    (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab") ||
		     !strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid")))
			f->go = true;
		if (name && !strcmp(name, ".stapsdt.base"))
			f->sdt_base = sh.sh_addr;
		if (sh.sh_type == SHT_SYMTAB)
			f->stripped = false;
	}
}

static int not_elf(const struct elf_file *f, struct err *err)
{
	char start[2] = "";

	if (pread(f->fd, start, sizeof(start), 0) == sizeof(start) && !memcmp(start, "#!", 2))
		return err_set(err, -ENOEXEC,
			       "%s is a script: name the program that runs it (its first line)",
			       f->name);
	return err_set(err, -ENOEXEC, "%s is not an ELF file", f->name);
}

/* What is compressed may become very large: that of strangers is left out. */
static unsigned int wanted_of(const struct stat *st)
{
	bool ours =
		(!st->st_uid || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));

	return ELF_COPY_SYMBOLS | ELF_COPY_NOTES | (ours ? ELF_COPY_DEBUGDATA : 0);
}

static int open_elf(struct elf_file *f, const char *path, const struct stat *expected,
		    struct err *err)
{
	struct stat st;
	int r;

	/* a rule's path may be a link; @expected is what it led to */
	f->fd = foreign__open_path(path, FOREIGN_TRUSTED, expected);
	if (f->fd == -ENXIO)
		return err_set(err, -EINVAL, "%s is not a file", f->name);
	if (f->fd == -ESTALE)
		return err_set(err, f->fd, "%s is another file now: load the rules again", f->name);
	r = f->fd < 0 ? f->fd : fstat(f->fd, &st) ? -errno : 0;
	if (r)
		return err_set(err, r, "%s: %s", f->name, strerror(-r));
	r = elf_copy__make(f->fd, wanted_of(&st), &f->copy);
	if (r == -ENOEXEC)
		return not_elf(f, err);
	if (r == -EFBIG)
		return err_set(
			err, r,
			"%s: its symbols are larger than %lld MB, or its headers are damaged",
			f->name, ELF_COPY_MAX >> 20);
	if (r)
		return err_set(err, r, "%s: %s", f->name, strerror(-r));
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->copy, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return not_elf(f, err);
	return check_header(f, err);
}

int elf_file__open(const char *path, const char *name, const struct stat *expected,
		   struct elf_file **ret, struct err *err)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->fd = f->copy = -1;
	f->stripped = true;
	f->name = strdup(name);
	r = f->name ? open_elf(f, path, expected, err) : err_set(err, -ENOMEM, "out of memory");
	if (r) {
		elf_file__free(f);
		return r;
	}
	look_at_sections(f);
	*ret = f;
	return 0;
}

void elf_file__free(struct elf_file *f)
{
	if (!f)
		return;
	if (f->elf)
		elf_end(f->elf);
	if (f->copy >= 0)
		close(f->copy);
	if (f->fd >= 0)
		close(f->fd);
	while (f->codes) {
		struct code *next = f->codes->next;

		free(f->codes);
		f->codes = next;
	}
	free(f->name);
	free(f);
}

const char *elf_file__name(const struct elf_file *f)
{
	return f->name;
}

int elf_file__fd(const struct elf_file *f)
{
	return f->fd;
}

int elf_file__machine(const struct elf_file *f)
{
	return OWN_MACHINE;
}

bool elf_file__is_go(const struct elf_file *f)
{
	return f->go;
}

bool elf_file__is_stripped(const struct elf_file *f)
{
	return f->stripped;
}

/* In a segment with these flags. */
static int find_offset(const struct elf_file *f, uint64_t addr, uint32_t flags, uint64_t *ret)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(f->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n && gelf_getphdr(f->elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || (ph.p_flags & flags) != flags || addr < ph.p_vaddr ||
		    addr - ph.p_vaddr >= ph.p_filesz || ph.p_offset > INT64_MAX)
			continue;
		*ret = addr - ph.p_vaddr + ph.p_offset;
		return 0;
	}
	return -ENOENT;
}

int elf_file__offset(const struct elf_file *f, uint64_t addr, uint64_t *ret)
{
	return find_offset(f, addr, PF_X, ret);
}

const void *elf_file__code(struct elf_file *f, uint64_t addr, uint64_t size)
{
	uint64_t first, last;
	struct code *code;

	if (!size || size > CODE_MAX || addr + size < addr || elf_file__offset(f, addr, &first) ||
	    elf_file__offset(f, addr + size - 1, &last) || last - first != size - 1)
		return NULL;
	code = malloc(sizeof(*code) + size);
	if (!code || pread(f->fd, code->bytes, size, first) != (ssize_t)size) {
		free(code);
		return NULL;
	}
	code->next = f->codes;
	f->codes = code;
	return code->bytes;
}

/* ---- functions ---- */

struct each_function {
	int (*fn)(const struct elf_symbol *s, void *arg);
	void *arg;
};

static int give(const struct each_function *each, const char *name, const GElf_Sym *sym,
		uint64_t addr)
{
	int type = GELF_ST_TYPE(sym->st_info);
	struct elf_symbol s = {
		.addr = addr,
		.size = sym->st_size,
		.chosen = type == STT_GNU_IFUNC,
		.elsewhere = sym->st_shndx == SHN_UNDEF,
	};
	_cleanup_free_ char *plain = NULL;
	const char *version;

	if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return 0;
	/* in a .symtab, versions are part of the name */
	version = strchr(name, '@');
	if (version == name)
		return 0;
	plain = version ? strndup(name, version - name) : NULL;
	if (version && !plain)
		return -ENOMEM;
	s.name = plain ?: name;
	return each->fn(&s, each->arg);
}

static int each_of_section(Elf *elf, unsigned int type, const struct each_function *each)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	int r = 0;

	while (!r && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; !r && data && gelf_getsym(data, i, &sym); i++)
			r = give(each, elf_strptr(elf, sh.sh_link, sym.st_name), &sym,
				 sym.st_value);
	}
	return r;
}

/* The debug folders only: nothing is fetched over a network. */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret)
{
	return dwfl_build_id_find_debuginfo(mod, data, name, base, file, link, crc, ret);
}

/* What is not in the file itself: its mini debug information, or a file of its build id. */
static int each_of_debuginfo(struct elf_file *f, const struct each_function *each)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};
	int fd = fcntl(f->copy, F_DUPFD_CLOEXEC, 3), n, r = 0;
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *mod = NULL;
	Elf *own = NULL;
	GElf_Addr bias = 0;

	if (dwfl && fd >= 0) {
		dwfl_report_begin(dwfl);
		mod = dwfl_report_offline(dwfl, f->name, f->name, fd);
		dwfl_report_end(dwfl, NULL, NULL);
	}
	if (!mod && fd >= 0)
		close(fd);
	if (mod)
		own = dwfl_module_getelf(mod, &bias);
	n = own ? dwfl_module_getsymtab(mod) : 0;
	for (int i = 1; i < n && !r; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		Elf *from = own;
		const char *name = dwfl_module_getsym_info(mod, i, &sym, &addr, NULL, &from, NULL);

		/* sections are among the dynamic symbols of arm64, and nobody's functions */
		if (!name || sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) == STT_SECTION)
			continue;
		if (from != own) /* its own are what it exports */
			f->stripped = false;
		r = give(each, name, &sym, addr - bias);
	}
	dwfl_end(dwfl);
	return r;
}

int elf_file__each_function(struct elf_file *f, int (*fn)(const struct elf_symbol *s, void *arg),
			    void *arg)
{
	const struct each_function each = { fn, arg };
	bool stripped = f->stripped;
	int r = each_of_section(f->elf, SHT_SYMTAB, &each)
			?: each_of_section(f->elf, SHT_DYNSYM, &each);

	if (!r && stripped)
		r = each_of_debuginfo(f, &each);
	return r;
}

/* ---- static probes ---- */

int elf_file__each_usdt(struct elf_file *f, int (*fn)(const struct elf_usdt *p, void *arg),
			void *arg)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;
	int r = 0;

	if (elf_getshdrstrndx(f->elf, &names))
		return 0;
	while (!r && (scn = elf_nextscn(f->elf, scn))) {
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE)
			continue;
		name = elf_strptr(f->elf, names, sh.sh_name);
		if (!name || strcmp(name, ".note.stapsdt"))
			continue;
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			r = usdt_notes__each(data->d_buf, data->d_size, fn, arg);
	}
	return r;
}

int elf_file__usdt_offset(const struct elf_file *f, const struct elf_usdt *p, uint64_t *ret,
			  uint64_t *ret_semaphore)
{
	/* it may have been moved since the note was written */
	uint64_t moved = f->sdt_base ? f->sdt_base - p->base : 0, offset, semaphore = 0;
	int r = elf_file__offset(f, p->addr + moved, &offset);

	if (!r && p->semaphore)
		r = find_offset(f, p->semaphore + moved, PF_W, &semaphore);
	if (r)
		return r;
	*ret = offset;
	*ret_semaphore = semaphore;
	return 0;
}
