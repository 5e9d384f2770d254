// SPDX-License-Identifier: GPL-2.0-only
#include <assert.h>
#include <elf.h>

#include "examine/probe/func_exits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int machines[] = { EM_X86_64, EM_AARCH64 };
	struct func_exits e;

	for (int i = 0; i < 2; i++) {
		const struct func_part part = { 0x1000, size, data };

		for (uint64_t at = 0; at < size; at += 1 + size / 8)
			func_exits__check_boundary(machines[i], &part, at);
		if (func_exits__find(machines[i], &part, 1, size & 1, &e))
			continue;
		for (uint32_t k = 0; k < e.n; k++) {
			const uint64_t at = e.at[k] - 0x1000;
			struct insn insn;

			assert(at < size);
			assert(!insn__decode(machines[i], data + at, size - at, &insn));
			assert(insn.kind == INSN_RETURN);
		}
	}
	return 0;
}
