/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans a rules file without tracefs: for test_plan.c and test_evidence.c. */
#ifndef TESTS_UNIT_PLAN_FIXTURE_H
#define TESTS_UNIT_PLAN_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/plan.h"
#include "probe_reader_fixture.h"

struct planned {
	struct diags d;
	struct ruleset *rs;
	struct plan *plan;
	int err;
};

static inline struct planned plan_file(const char *text, char *path, int suffix)
{
	struct planned p = { 0 };
	int fd = mkstemps(path, suffix);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	p.err = plan__check_partly(path, &p.d, &p.rs, &p.plan);
	unlink(path);
	return p;
}

static inline struct planned plan_text(const char *text)
{
	char path[] = "/tmp/frbpf-test-plan-XXXXXX";

	return plan_file(text, path, 0);
}

static inline void release(struct planned *p)
{
	plan__free(p->plan);
	ruleset__free(p->rs);
	diags__free(&p->d);
}

static inline const struct diag *find_diag(const struct planned *p, const char *part)
{
	for (size_t i = 0; i < p->d.n; i++) {
		if (strstr(p->d.v[i].msg, part))
			return &p->d.v[i];
	}
	return NULL;
}

static inline void check_said(const struct planned *p, const char *part, enum diag_level level,
			      size_t line, size_t column)
{
	const struct diag *d = find_diag(p, part);
	size_t l, c;

	if (!d)
		fail_msg("nothing says: %s", part);
	assert_int_equal(d->level, level);
	assert_non_null(d->src);
	diag__place(d, &l, &c);
	assert_int_equal(l, line);
	assert_int_equal(c, column);
}

#endif
