/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls that need CAP_SYS_ADMIN, as whoever has it makes them. Private to user/admin. */
#ifndef FRBPF_ADMIN_OPEN_H
#define FRBPF_ADMIN_OPEN_H

#include "admin/request.h"

/* Of this kernel. */
struct admin_pmus admin_pmus__find(void);

/* @file: what comes along with the request, or -1. A descriptor, 0 for ADMIN_NEXT_PROG, or negative errno. */
int admin_request__open(struct admin_request *r, int file, const struct admin_pmus *pmus,
			uint32_t *ret_id);

#endif
