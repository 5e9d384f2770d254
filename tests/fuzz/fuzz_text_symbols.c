// SPDX-License-Identifier: GPL-2.0-only
/* Anybody writes a /tmp/perf-PID.map, and chooses names of BPF programs in /proc/kallsyms. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "symbols/text_symbols.h"

static void look_up(struct symbol_table *t, uint64_t addr)
{
	const struct symbol *s;

	if (!symbol_table__finish(t)) {
		s = symbol_table__find(t, addr);
		assert(!s || (s->start <= addr && strlen(s->name) < 1 << 20));
	}
	symbol_table__free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct buf text = { (char *)data, size, size };
	const uint64_t addrs[] = { 0x1000, UINT64_MAX };
	struct symbol_table t = { 0 };
	struct kernel_text kernel = { 0 };

	if (!text_symbols__perf_map(&text, &t))
		look_up(&t, 0x1000);
	t = (struct symbol_table){ 0 };
	assert(!symbol_table__want(&t, addrs, 2));
	if (!text_symbols__perf_map(&text, &t))
		look_up(&t, UINT64_MAX);
	t = (struct symbol_table){ 0 };
	if (!text_symbols__kallsyms(&text, TEXT_SYMBOLS_ANY, &t, &kernel))
		look_up(&t, kernel.start);
	t = (struct symbol_table){ 0 };
	if (!text_symbols__kallsyms(&text, "module", &t, &kernel))
		look_up(&t, kernel.start);
	return 0;
}
