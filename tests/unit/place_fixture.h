/* SPDX-License-Identifier: GPL-2.0-only */
/* A base directory with two sessions, for tests of removal and recovery of old files. */
#ifndef FRBPF_TESTS_PLACE_FIXTURE_H
#define FRBPF_TESTS_PLACE_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dump/base/base_dir.h"
#include "temp_tree.h"

struct place {
	char dir[64];
	struct base_dir b;
	struct err err;
};

static inline int set_up_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	strcpy(p->dir, "/tmp/frbpf-place-XXXXXX");
	if (!mkdtemp(p->dir) || base_dir__open(&p->b, p->dir, &p->err) ||
	    mkdirat(p->b.fd, "session-a", 0700) || mkdirat(p->b.fd, "session-b", 0700))
		return -1;
	*state = p;
	return 0;
}

static inline int tear_down_place(void **state)
{
	struct place *p = *state;

	base_dir__close(&p->b, false);
	remove_temp_tree(p->dir);
	free(p);
	return 0;
}

static inline bool has_file(const struct place *p, const char *file)
{
	return faccessat(p->b.fd, file, F_OK, 0) == 0;
}

#endif
