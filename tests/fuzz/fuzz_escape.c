// SPDX-License-Identifier: GPL-2.0-only
/* Untrusted texts in reports cannot imitate our own text, and the result is UTF-8. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

static void check(int (*fn)(struct buf *b, const char *s), const char *text, const char *never)
{
	struct buf b = { 0 };

	if (fn(&b, text))
		abort();
	for (size_t i = 0; i < b.len; i++) {
		unsigned char c = b.data[i];

		if (c < ' ' || c == 0x7f || strchr(never, c))
			abort();
		if (c >= 0xf5 || c == 0xc0 || c == 0xc1) /* never in UTF-8 */
			abort();
	}
	buf__free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check(escape__plain, text, "");
	check(escape__xml, text, "<>\"'");
	check(escape__markdown, text, "<>|`*[]\\@~");
	check(escape__github_property, text, ":,");
	check(escape__github, text, "");
	check(escape__shell, text, "");
	make_printable(text);
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			abort();
	free(text);
	return 0;
}
