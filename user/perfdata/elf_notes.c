// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

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
