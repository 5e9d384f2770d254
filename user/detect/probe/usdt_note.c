// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "detect/probe/usdt_note.h"

#define NT_STAPSDT 3
#define OWNER	   "stapsdt"
#define ALIGN4(n)  (((size_t)(n) + 3) & ~(size_t)3)

/* Three addresses (of the probe, of a section to tell how far the file was moved, of the semaphore),
 * then three texts. */
#define TEXTS_AT (3 * sizeof(uint64_t))

/* The text at *@p, which moves behind it. NULL: it does not end. */
static const char *take_text(const char **p, const char *end)
{
	const char *text = *p, *nul = memchr(text, 0, end - text);

	if (!nul)
		return NULL;
	*p = nul + 1;
	return text;
}

static int take_note(const char *desc, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg)
{
	const char *p = desc + TEXTS_AT, *end = desc + len;
	struct elf_usdt probe;

	if (len < TEXTS_AT)
		return 0;
	memcpy(&probe.addr, desc, sizeof(probe.addr));
	memcpy(&probe.base, desc + sizeof(probe.addr), sizeof(probe.base));
	probe.provider = take_text(&p, end);
	probe.name = probe.provider ? take_text(&p, end) : NULL;
	probe.args = probe.name ? take_text(&p, end) : NULL;
	if (!probe.name || !*probe.name)
		return 0;
	probe.args = probe.args ?: "";
	return fn(&probe, arg);
}

int usdt_notes__each(const void *notes, size_t len, int (*fn)(const struct elf_usdt *p, void *arg),
		     void *arg)
{
	const char *p = notes;
	int r = 0;

	while (!r && len >= 12) {
		uint32_t head[3]; /* bytes of the name, of the rest; type */
		size_t name, desc;

		memcpy(head, p, sizeof(head));
		name = ALIGN4(head[0]);
		desc = ALIGN4(head[1]);
		p += sizeof(head);
		len -= sizeof(head);
		if (name > len || head[1] > len - name)
			break;
		if (head[2] == NT_STAPSDT && head[0] == sizeof(OWNER) &&
		    !memcmp(p, OWNER, sizeof(OWNER)))
			r = take_note(p + name, head[1], fn, arg);
		if (desc > len - name)
			break;
		p += name + desc;
		len -= name + desc;
	}
	return r;
}
