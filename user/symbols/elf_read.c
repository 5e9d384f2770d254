// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "symbols/elf_read.h"

/* Limits for .gnu_debugdata, which is compressed, and may be crafted. */
#define UNPACKED_MAX   (64u << 20) /* bytes */
#define UNPACK_MEM_MAX (80u << 20) /* bytes; xz -9 needs 65 MB for its dictionary */
#define CHUNK	       (64u << 10)

Elf_Scn *elf_read__section(Elf *elf, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *is;

		if (!gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS)
			continue;
		is = elf_strptr(elf, names, ret->sh_name);
		if (is && !strcmp(is, name))
			return scn;
	}
	return NULL;
}

/* ---- symbols ---- */

#define NAMES_RATIO 4	      /* largest ratio of all names to their table */
#define NAMES_ROOM  (1 << 20) /* bytes beyond the ratio, for small files */

struct reader {
	uint64_t max;
	elf_function_fn fn;
	void *arg;
};

static enum symbol_rank elf_symbol_rank(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return SYMBOL_GLOBAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_LOCAL;
	}
}

/* A function, or a label in assembly code that is more than a jump target. */
static bool is_function(const GElf_Sym *sym, const char *name)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* "$x", "$d" mark code and data on arm64 */
		return name[0] != '$' && GELF_ST_VISIBILITY(sym->st_other) != STV_HIDDEN &&
		       GELF_ST_VISIBILITY(sym->st_other) != STV_INTERNAL;
	default:
		return false;
	}
}

/* Get the end of the symbol's section. False: the section has no code. */
static bool find_limit(Elf *elf, const GElf_Sym *sym, uint64_t *ret)
{
	Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR))
		return false;
	*ret = sh.sh_addr + sh.sh_size;
	return true;
}

static int read_symbol(const struct reader *r, Elf *elf, const GElf_Sym *sym, const char *name)
{
	struct elf_function f = {
		.name = name,
		.addr = sym->st_value,
		.size = sym->st_size,
		.rank = elf_symbol_rank(sym),
		.chosen = GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		.elsewhere = sym->st_shndx == SHN_UNDEF,
	};
	_cleanup_free_ char *plain = NULL;
	const char *version;

	if (!name || !name[0] || name[0] == '@' || !is_function(sym, name) ||
	    (!f.elsewhere && !find_limit(elf, sym, &f.limit)))
		return 0;
	version = strchr(name, '@');
	if (version) { /* in a .symtab it is part of the name */
		f.name = plain = strndup(name, version - name);
		if (!plain)
			return -ENOMEM;
	}
	return r->fn(&f, r->arg);
}

/*
 * The total length of names is limited in proportion to their table. Names that share their ends
 * make a table shorter, but not by much. A crafted file, whose symbols all have the same long name,
 * would otherwise take too much time and memory.
 */
static int read_elf_symbols(const struct reader *r, Elf *elf, Elf_Data *data, size_t strings,
			    uint64_t names_size)
{
	uint64_t left = NAMES_RATIO * names_size + NAMES_ROOM;
	GElf_Sym sym;
	int err = 0;

	for (int i = 0; !err && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, strings, sym.st_name);
		size_t len = name ? strnlen(name, left + 1) : 0;

		if (len > left)
			return -EFBIG;
		left -= len;
		err = read_symbol(r, elf, &sym, name);
	}
	return err;
}

/* Read the symbols of the sections of @type. Sets *ret_found if there is one. */
static int read_symbol_section(const struct reader *r, Elf *elf, unsigned int type, bool *ret_found)
{
	GElf_Shdr sh, names;
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type ||
		    !gelf_getshdr(elf_getscn(elf, sh.sh_link), &names))
			continue;
		if (sh.sh_size > r->max || names.sh_size > r->max)
			return -EFBIG;
		*ret_found = true;
		data = elf_getdata(scn, NULL);
		if (data)
			err = read_elf_symbols(r, elf, data, sh.sh_link, names.sh_size);
	}
	return err;
}

/* ---- .gnu_debugdata: another ELF file, compressed ---- */

static int unpack_into_file(lzma_stream *s, int fd)
{
	uint8_t chunk[CHUNK];
	lzma_ret code = LZMA_OK;
	off_t at = 0;

	while (code == LZMA_OK && at < UNPACKED_MAX) {
		ssize_t n;

		s->next_out = chunk;
		s->avail_out = sizeof(chunk);
		code = lzma_code(s, LZMA_FINISH);
		n = sizeof(chunk) - s->avail_out;
		if (pwrite(fd, chunk, n, at) != n)
			return -EIO;
		at += n;
	}
	return code == LZMA_STREAM_END ? 0 : code == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
}

static int unpack_debugdata(const void *packed, size_t size, int *ret)
{
	_cleanup_close_ int fd = memfd_create("debugdata", MFD_CLOEXEC);
	lzma_stream s = LZMA_STREAM_INIT;
	int err;

	if (fd < 0)
		return -errno;
	if (lzma_stream_decoder(&s, UNPACK_MEM_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	s.next_in = packed;
	s.avail_in = size;
	err = unpack_into_file(&s, fd);
	lzma_end(&s);
	if (!err)
		*ret = TAKE_FD(fd);
	return err;
}

/* A section that cannot be unpacked counts as missing. */
static int read_debugdata(const struct reader *r, Elf *elf, bool *ret_found)
{
	_cleanup_close_ int fd = -1;
	GElf_Shdr sh;
	Elf_Scn *scn = elf_read__section(elf, ".gnu_debugdata", &sh);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	Elf *inner;
	int err;

	if (!data || !data->d_buf)
		return 0;
	err = unpack_debugdata(data->d_buf, data->d_size, &fd);
	if (err)
		return err == -ENOMEM ? err : 0;
	inner = elf_begin(fd, ELF_C_READ, NULL);
	if (!inner || elf_kind(inner) != ELF_K_ELF)
		*ret_found = false;
	else
		err = read_symbol_section(r, inner, SHT_SYMTAB, ret_found);
	elf_end(inner);
	return err;
}

int elf_read__functions(Elf *elf, uint64_t max, elf_function_fn fn, void *arg, enum elf_names *ret)
{
	const struct reader r = { max, fn, arg };
	bool full = false, exported = false, mini = false;
	int err = read_symbol_section(&r, elf, SHT_SYMTAB, &full)
			  ?: read_symbol_section(&r, elf, SHT_DYNSYM, &exported);

	if (!err && !full)
		err = read_debugdata(&r, elf, &mini);
	if (!err)
		*ret = full ? ELF_NAMES_FULL : mini ? ELF_NAMES_MINI : ELF_NAMES_EXPORTED;
	return err;
}
