// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of a compromised daemon to frbpf-admin. An accepted one asks for no probe by a path, and
 * for no event of the server itself.
 */
#include <assert.h>
#include <string.h>

#include "admin/admin_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct admin_pmus pmus = { .kprobe = 6, .uprobe = 7 };
	struct admin_request r;
	size_t n_fds;

	if (!size)
		return 0;
	n_fds = data[0] % 4;
	memset(&r, 0, sizeof(r));
	memcpy(&r, data + 1, size - 1 < sizeof(r) ? size - 1 : sizeof(r));
	if (admin_request__check(&r, sizeof(r), n_fds, &pmus))
		return 0;
	assert(r.kind < ADMIN_KINDS && n_fds && n_fds <= 2);
	if (r.kind == ADMIN_EVENT) {
		assert(r.event.attr.type != 6 && r.event.attr.type != 7);
		assert(r.event.of_cgroup || r.event.pid);
		assert(r.event.attr.size <= sizeof(r.event.attr));
	}
	return 0;
}
