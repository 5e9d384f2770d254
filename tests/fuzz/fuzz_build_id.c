// SPDX-License-Identifier: GPL-2.0-only
/* ELF notes come from untrusted files: anybody can make and map one. */
#include <assert.h>
#include <errno.h>

#include "perfdata/build_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build_id id = { .size = 0xff };
	int err = build_id__from_notes(data, size, &id);

	assert(err == 0 || err == -ENOENT);
	assert(err ? id.size == 0xff : id.size > 0 && id.size <= BUILD_ID_MAX);
	return 0;
}
