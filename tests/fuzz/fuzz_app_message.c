// SPDX-License-Identifier: GPL-2.0-only
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rules/app_message.h"

/* Check what the parser guarantees for an accepted message, and for the position of an error. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct app_message m;
	const char *why = NULL;
	size_t at = SIZE_MAX;

	if (app_message__parse((const char *)data, size, &m, &why, &at)) {
		if (!why || at > size)
			abort();
		return 0;
	}
	if (size > APP_MESSAGE_MAX + 1 || memchr(data, 0, size) ||
	    !app_name__is_valid(m.name, strnlen(m.name, sizeof(m.name))) ||
	    m.duration > APP_DURATION_MAX || m.n_args > APP_ARGS_MAX)
		abort();
	for (uint32_t i = 0; i < m.n_args; i++) {
		const struct app_arg *a = &m.args[i];

		if (!app_key__is_valid(a->key, strnlen(a->key, sizeof(a->key))) ||
		    a->text[sizeof(a->text) - 1] || app_message__arg(&m, a->key) != a)
			abort();
	}
	return 0;
}
