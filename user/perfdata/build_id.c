// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/elf_copy.h"
#include "common/opening.h"
#include "perfdata/build_id.h"

/* @size with padding, but at most @avail: the last field may lack its padding. */
static size_t padded_size(size_t size, size_t avail)
{
	size_t with_padding = (size + 3) & ~(size_t)3;

	return with_padding < avail ? with_padding : avail;
}

static bool is_build_id(const Elf64_Nhdr *n, const char *name)
{
	return n->n_type == NT_GNU_BUILD_ID && n->n_namesz == sizeof(ELF_NOTE_GNU) &&
	       !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && n->n_descsz > 0 &&
	       n->n_descsz <= BUILD_ID_MAX;
}

int build_id__from_notes(const void *notes, size_t len, struct build_id *ret)
{
	const char *p = notes;
	Elf64_Nhdr n; /* the same in 32-bit files */

	while (len >= sizeof(n)) {
		const char *name;

		memcpy(&n, p, sizeof(n));
		p += sizeof(n);
		len -= sizeof(n);
		if (n.n_namesz > len)
			break;
		name = p;
		p += padded_size(n.n_namesz, len);
		len -= padded_size(n.n_namesz, len);
		if (n.n_descsz > len)
			break;
		if (is_build_id(&n, name)) {
			*ret = (struct build_id){ .size = n.n_descsz };
			memcpy(ret->data, p, n.n_descsz);
			return 0;
		}
		p += padded_size(n.n_descsz, len);
		len -= padded_size(n.n_descsz, len);
	}
	return -ENOENT;
}

#define KERNEL_NOTES_MAX (1 << 20)
#define NOTES_MAX	 (1 << 20) /* bytes of a segment or section */

static int read_note_range(Elf *elf, uint64_t off, uint64_t size, struct build_id *ret)
{
	Elf_Data *data;

	if (!size || size > NOTES_MAX || off > INT64_MAX)
		return -ENOENT;
	data = elf_getdata_rawchunk(elf, off, size, ELF_T_BYTE);
	if (!data || !data->d_buf)
		return -ENOENT;
	return build_id__from_notes(data->d_buf, data->d_size, ret);
}

static int read_segments_id(Elf *elf, struct build_id *ret)
{
	size_t n, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return -ENOENT;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph))
			break;
		if (ph.p_type == PT_NOTE && !read_note_range(elf, ph.p_offset, ph.p_filesz, ret))
			return 0;
	}
	return -ENOENT;
}

/* Kernel modules are relocatable files, which have no segments. */
static int read_sections_id(Elf *elf, struct build_id *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
		    !read_note_range(elf, sh.sh_offset, sh.sh_size, ret))
			return 0;
	return -ENOENT;
}

int build_id__read_fd(int fd, struct build_id *ret)
{
	_cleanup_close_ int copy = -1;
	Elf *elf;
	int err = elf_copy__make(fd, ELF_COPY_NOTES, &copy);

	if (err)
		return err == -ENOEXEC ? -ENOENT : err;
	err = -ENOENT;
	elf_version(EV_CURRENT);
	elf = elf_begin(copy, ELF_C_READ, NULL);
	if (!elf)
		return -ENOENT;
	if (elf_kind(elf) == ELF_K_ELF) {
		err = read_segments_id(elf, ret);
		if (err)
			err = read_sections_id(elf, ret);
	}
	elf_end(elf);
	return err;
}

int build_id__read_kernel(struct build_id *ret)
{
	struct buf notes = { 0 };
	_cleanup_close_ int fd = opening__kernel("/sys/kernel/notes");
	int err = fd < 0 ? fd : buf__read_fd(&notes, fd, KERNEL_NOTES_MAX);

	err = err ?: build_id__from_notes(notes.data, notes.len, ret);
	buf__free(&notes);
	return err;
}
