/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of contradiction.h share. */
#ifndef FRBPF_TESTS_CONTRADICTION_FIXTURE_H
#define FRBPF_TESTS_CONTRADICTION_FIXTURE_H

#include "dump/window/contradiction.h"
#include "dump/window/task_moves.h"

/*
 * Compare the first trigger of @inc with @records of @session, as the session's thread does.
 * Returns the time of the contradiction, or 0; the result stays in the incident.
 */
static inline uint64_t compare_trigger(struct incident *inc, struct dump_result *res,
				       const struct session *session, const struct buf *records)
{
	struct timeline t = { 0 };
	struct page_set pages;

	assert_int_equal(page_set__init(&pages, session), 0);
	assert_int_equal(timeline__add_buffer(&t, records->data, records->len), 0);
	assert_int_equal(timeline__sort(&t), 0);
	task_moves__free(res->moves);
	res->moves = NULL;
	inc->triggers[0].contradicted = 0;
	inc->triggers[0].compared = COMPARED_NOT_RECORDED;
	assert_int_equal(contradiction__look(inc, session, &pages, &t, res), 0);
	timeline__free(&t);
	page_set__free(&pages);
	return inc->triggers[0].contradicted;
}

#endif
