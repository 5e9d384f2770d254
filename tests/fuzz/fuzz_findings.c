// SPDX-License-Identifier: GPL-2.0-only
/* The answer of the process that reads the dumps of a run: an attacker may control it. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "run/findings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *j = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	struct outcome o = { .n_incidents = 1 };

	if (!j)
		return 0;
	o.incidents = calloc(1, sizeof(*o.incidents));
	o.incidents[0].files = calloc(1, sizeof(*o.incidents[0].files));
	o.incidents[0].files[0].session = strdup("cpu");
	o.incidents[0].n_files = 1;
	findings__take(j, &o);
	for (size_t i = 0; i < o.incidents[0].n_tables; i++) {
		const struct run_stack_table *t = &o.incidents[0].tables[i];

		for (size_t k = 0; k < t->n; k++)
			assert(t->v[k].here >= 0 && t->v[k].here <= 100 &&
			       memchr(t->v[k].state, 0, sizeof(t->v[k].state)));
	}
	outcome__free(&o);
	json_decref(j);
	return 0;
}
