// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switches, wake-ups and interrupts in any order: the times in the tree add up, and there is a
 * verdict. The first bytes are the question, each following 12 bytes an event.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/sched_events.h"
#include "analyse/why/why_impl.h"
#include "analyse/why/why_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENT 12
#define CPUS  4
#define TIDS  16

static char *plain(uint64_t ns, char *buf, size_t size)
{
	snprintf(buf, size, "%llu", (unsigned long long)ns);
	return buf;
}

static void must(bool it)
{
	if (!it)
		abort();
}

/* Give each task a name, with a control character in it. */
static void name_tasks(struct sched_events *e)
{
	for (uint32_t tid = 0; tid < TIDS; tid++) {
		struct sched_task *t = sched_tasks__get(e->tasks, tid);

		must(t);
		snprintf(t->comm, sizeof(t->comm), "t%u\033", tid / 2);
	}
}

static void make_events(struct sched_events *e, const uint8_t *data, size_t n)
{
	uint64_t time = 1000000;

	e->v = calloc(n, sizeof(*e->v));
	must(e->v);
	for (size_t i = 0; i < n; i++, data += EVENT) {
		uint32_t step = data[0] | data[1] << 8 | (uint32_t)data[2] << 16;

		time += step;
		e->v[i] = (struct sched_event){
			.time = time,
			.kind = data[3] % (SCHED_GAP + 1),
			.cpu = data[4] % CPUS,
			.tid = data[5] % TIDS,
			.other = data[6] % TIDS,
			.arg = data[7] % 64,
			.prio = (int8_t)data[8],
			.other_prio = (int8_t)data[9],
			.flags = data[10],
			.value = time - data[11],
			.sample = i,
			.file = data[11] & 1,
		};
		if (e->v[i].kind == SCHED_WAKEUP || e->v[i].kind == SCHED_WAKING ||
		    e->v[i].kind == SCHED_MIGRATE || e->v[i].kind == SCHED_NEW)
			e->v[i].arg %= CPUS;
	}
	e->n = e->cap = n;
	e->begin = e->v[0].time;
	e->end = time;
	memset(e->recorded, 1, sizeof(e->recorded));
}

static void add_up_times(const struct why_node *n)
{
	uint64_t ns = 0;

	for (const struct why_node *c = n->child; c; c = c->next) {
		add_up_times(c);
		ns += c->ns;
	}
	must(!n->child || ns == n->ns);
}

static void look(const struct why *w)
{
	const struct why_screen screen = { 12, 80 };
	struct why_verdict v = { 0 };
	struct buf b = { 0 };
	size_t lines = 0;
	json_t *j;

	add_up_times(why__root(w));
	must(!why_verdict__make(&v, w, plain) && v.text.len && v.ns <= v.of_ns);
	must(!strchr(v.text.data, '\033'));
	must(!why_text__answer(&b, w, &v, plain, NULL));
	b.len = 0;
	must(!why_text__answer(&b, w, &v, plain, &screen));
	for (size_t i = 0; i < b.len; i++)
		lines += b.data[i] == '\n';
	must(lines < screen.lines);
	j = why_json__new(w, &v);
	must(j);
	json_decref(j);
	buf__free(&b);
	why_verdict__free(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	struct why_question q;
	struct why *w;
	size_t n;

	if (size < 8 + EVENT)
		return 0;
	n = (size - 8) / EVENT;
	n = n > 4000 ? 4000 : n;
	must(!why__new(&w) && !sched_tasks__new(&w->events.tasks));
	name_tasks(&w->events);
	make_events(&w->events, data + 8, n);
	q = (struct why_question){ .tid = data[0] % TIDS,
				   .from = 1000000 + data[1] * 100000ULL,
				   .to = 1000000 + data[2] * 1000000ULL };
	if (data[3] & 1)
		q.from = UINT64_MAX;
	if (!why__ask(w, &q, &err))
		look(w);
	else
		must(err.msg[0]);
	why__free(w);
	return 0;
}
