// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include "dump/window/task_moves.h"

struct task_moves {
	UT_hash_handle hh; /* by number */
	uint64_t number;
	uint32_t tid;	   /* 0: unknown yet */
	uint64_t any;	   /* ns: last switch, in or out */
	uint64_t to_sleep; /* ns: last switch-out to sleep; 0: none, or switched in since */
	struct last_moves last;
};

/* NULL: out of memory. */
static struct task_moves *task_moves__get(struct task_moves **moves, uint64_t number)
{
	struct task_moves *m;

	HASH_FIND(hh, *moves, &number, sizeof(number), m);
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->number = number;
	HASH_ADD(hh, *moves, number, sizeof(m->number), m);
	if (!m->hh.tbl) {
		free(m);
		return NULL;
	}
	return m;
}

int task_moves__add_out(struct task_moves **moves, uint64_t number, uint32_t tid, bool sleeps,
			uint64_t time)
{
	struct task_moves *m = number ? task_moves__get(moves, number) : NULL;

	if (!m)
		return number ? -ENOMEM : 0; /* the idle task */
	m->tid = tid;
	m->last.before_out = m->any;
	m->last.out = m->any ? time : 0;
	m->any = time;
	m->to_sleep = sleeps ? time : 0;
	return 0;
}

int task_moves__add_in(struct task_moves **moves, uint64_t number, uint64_t time)
{
	struct task_moves *m = number ? task_moves__get(moves, number) : NULL;

	if (!m)
		return number ? -ENOMEM : 0;
	m->any = time;
	m->to_sleep = 0;
	return 0;
}

int task_moves__add_wakeup(struct task_moves **moves, uint64_t number, uint64_t time)
{
	struct task_moves *m = number ? task_moves__get(moves, number) : NULL;

	if (!m)
		return number ? -ENOMEM : 0;
	if (m->to_sleep) {
		m->last.slept = m->to_sleep;
		m->last.woken = time;
		m->to_sleep = 0;
	}
	return 0;
}

bool task_moves__last(const struct task_moves *moves, uint32_t tid, struct last_moves *ret)
{
	for (const struct task_moves *m = moves; m; m = m->hh.next) {
		if (m->tid == tid) {
			*ret = m->last;
			return true;
		}
	}
	return false;
}

void task_moves__free(struct task_moves *moves)
{
	struct task_moves *m, *next;

	HASH_ITER (hh, moves, m, next) {
		HASH_DEL(moves, m);
		free(m);
	}
}
