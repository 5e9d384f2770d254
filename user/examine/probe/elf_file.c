// SPDX-License-Identifier: GPL-2.0-only
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "examine/probe/elf_file.h"
#include "examine/probe/func_exits.h"
#include "examine/probe/usdt_note.h"
#include "symbols/elf_recorded.h"

/* Code of a function, copied from the file, which may be malicious. */
struct code {
	struct code *next;
	unsigned char bytes[];
};

#define CODE_MAX (16 << 20) /* bytes of one function */
#define SECTION_MAX                                                                                \
	(224 << 20) /* bytes of symbols; up to two such tables are in memory at a time */

struct elf_file {
	char *name;
	int fd;		  /* borrowed */
	int copy;	  /* see common/elf_copy.h */
	const int *debug; /* borrowed */
	size_t n_debug;
	Elf *elf;
	struct code *codes; /* owned, as are the pointers below */
	bool go, stripped, catches;
	uint64_t sdt_base; /* address of section .stapsdt.base; 0: none */
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

static int check_elf_header(const struct elf_file *f, struct err *err)
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

static bool has_section(const struct elf_file *f, const char *name)
{
	GElf_Shdr sh;

	return elf_read__section(f->elf, name, &sh);
}

static void look_at_sections(struct elf_file *f)
{
	GElf_Shdr sh;

	f->go = has_section(f, ".gopclntab") || has_section(f, ".data.rel.ro.gopclntab") ||
		has_section(f, ".go.buildinfo") || has_section(f, ".note.go.buildid");
	f->catches = has_section(f, ".gcc_except_table");
	if (elf_read__section(f->elf, ".stapsdt.base", &sh))
		f->sdt_base = sh.sh_addr;
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

static int open_elf(struct elf_file *f, bool ours, struct err *err)
{
	/* skip compressed data of other users: it may grow large, and name any function */
	int code = elf_copy__make(
		f->fd, ELF_COPY_SYMBOLS | ELF_COPY_NOTES | (ours ? ELF_COPY_DEBUGDATA : 0),
		&f->copy);

	if (code == -ENOEXEC)
		return not_elf(f, err);
	if (code == -EFBIG)
		return err_set(
			err, code,
			"%s: its symbols are larger than %lld MB, or its headers are damaged",
			f->name, ELF_COPY_MAX >> 20);
	if (code)
		return err_set(err, code, "%s: %s", f->name, strerror(-code));
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->copy, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return not_elf(f, err);
	return check_elf_header(f, err);
}

int elf_file__open(int fd, const char *name, bool ours, struct elf_file **ret, struct err *err)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	int code;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->fd = fd;
	f->copy = -1;
	f->name = strdup(name);
	code = f->name ? open_elf(f, ours, err) : err_set(err, -ENOMEM, "out of memory");
	if (code) {
		elf_file__free(f);
		return code;
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

int elf_file__machine(const struct elf_file *f)
{
	return OWN_MACHINE;
}

bool elf_file__is_go(const struct elf_file *f)
{
	return f->go;
}

bool elf_file__catches(const struct elf_file *f)
{
	return f->catches;
}

bool elf_file__is_stripped(const struct elf_file *f)
{
	return f->stripped;
}

/* Find the file offset of @addr in a segment with these flags. 0; -ENOENT: there is none. */
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

static bool has_symbol_table(const struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

bool elf_file__wants_debug(const struct elf_file *f, struct build_id *ret_id,
			   char ret_link[ELF_DEBUGLINK_MAX])
{
	struct build_id id;

	if (has_symbol_table(f) || build_id__read_fd(f->copy, &id) || !id.size)
		return false;
	*ret_id = id;
	ret_link[0] = '\0';
	elf_symbols__read_debuglink(f->elf, ret_link);
	return true;
}

void elf_file__use_debug(struct elf_file *f, const int *fds, size_t n)
{
	f->debug = fds;
	f->n_debug = n;
}

int elf_file__each_function(struct elf_file *f, elf_function_fn fn, void *arg)
{
	enum elf_names names = ELF_NAMES_EXPORTED;
	struct build_id id = { 0 };
	bool found = false;
	int err = elf_read__functions(f->elf, SECTION_MAX, fn, arg, &names);

	if (f->n_debug && build_id__read_fd(f->copy, &id))
		id.size = 0;
	for (size_t i = 0; i < f->n_debug && id.size && !found && !err && names != ELF_NAMES_FULL;
	     i++)
		err = elf_recorded__each_debug_function(f->debug[i], &id, SECTION_MAX, fn, arg,
							&found);
	f->stripped = names == ELF_NAMES_EXPORTED && !found;
	return err;
}

/* ---- static probes ---- */

int elf_file__each_usdt(struct elf_file *f, int (*fn)(const struct elf_usdt *p, void *arg),
			void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_read__section(f->elf, ".note.stapsdt", &sh);
	Elf_Data *data = scn && sh.sh_type == SHT_NOTE ? elf_rawdata(scn, NULL) : NULL;

	return data && data->d_buf ? usdt_notes__each(data->d_buf, data->d_size, fn, arg) : 0;
}

int elf_file__usdt_offset(const struct elf_file *f, const struct elf_usdt *p, uint64_t *ret,
			  uint64_t *ret_semaphore)
{
	/* prelink may have moved the section since the note was written */
	uint64_t moved = f->sdt_base ? f->sdt_base - p->base : 0, offset, semaphore = 0;
	int err = elf_file__offset(f, p->addr + moved, &offset);

	if (!err && p->semaphore)
		err = find_offset(f, p->semaphore + moved, PF_W, &semaphore);
	if (err)
		return err;
	*ret = offset;
	*ret_semaphore = semaphore;
	return 0;
}
