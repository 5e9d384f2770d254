/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls that need CAP_SYS_ADMIN, used by client and server alike. Private to user/admin. */
#ifndef FRBPF_ADMIN_OPEN_H
#define FRBPF_ADMIN_OPEN_H

#include "admin/request.h"

/* Reads the types from sysfs. */
struct admin_pmus admin_pmus__find(void);

/*
 * Make the call that @r describes. @file: the descriptor that came with it, or -1. Returns a
 * descriptor, 0 for ADMIN_NEXT_PROG, or negative errno.
 */
int admin_request__open(struct admin_request *r, int file, const struct admin_pmus *pmus,
			uint32_t *ret_id);

#endif
