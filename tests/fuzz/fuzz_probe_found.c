// SPDX-License-Identifier: GPL-2.0-only
/* The answer of the process that reads an untrusted file: an attacker may control it. */
#include <assert.h>
#include <string.h>

#include "examine/probe/probe_found.h"
#include "examine/probe/usdt_note.h"

#define FILE_SIZE 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct examine_probe q;
	struct probe_found f;

	if (!size)
		return 0;
	q.what = data[0] % EXAMINE_WHATS;
	q.latency = data[0] >> 7;
	if (probe_found__decode(data + 1, size - 1, &q, FILE_SIZE, &f))
		return 0;
	assert(f.n_funcs <= FUNCS_MAX && f.n_probes <= PROBE_USDT_MAX);
	for (uint32_t i = 0; i < f.n_funcs; i++) {
		assert(f.funcs[i].name[0] && f.funcs[i].offset < FILE_SIZE);
		assert(f.funcs[i].n_exits <= FUNC_EXITS_MAX && !f.funcs[i].n_exits == !q.latency);
		for (uint32_t k = 0; k < f.funcs[i].n_exits; k++)
			assert(f.funcs[i].exits[k] < FILE_SIZE);
	}
	for (uint32_t i = 0; i < f.n_probes; i++)
		assert(f.probes[i].offset < FILE_SIZE && usdt_place__is_valid(&f.probes[i].args));
	for (uint32_t i = 0; i < f.n_names; i++)
		assert(strlen(f.names[i].name) <= EXAMINE_NAME_MAX && f.names[i].meaning);
	probe_found__free(&f);
	return 0;
}
