// SPDX-License-Identifier: GPL-2.0-only
/* Answers of `frbpf why` about interrupts. Needs no root. */
#include "analyse/why/why_text.h"
#include "why_story.h"

/* Check whether the answer has the note: in JSON, and in the text with -v only. */
static void has_note(struct why *w, bool want)
{
	const struct why_screen screen = { WHY_LINES, 0 };
	struct why_verdict v = { 0 };
	struct buf all = { 0 }, some = { 0 };
	const char *note;
	json_t *j;

	asked(w, (struct why_question){ 0 }, 10, 30);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(why_text__answer(&all, w, &v, as_ms, NULL), 0);
	assert_int_equal(why_text__answer(&some, w, &v, as_ms, &screen), 0);
	assert_null(strstr(some.data, "interrupts were not recorded"));
	j = why_json__new(w, &v);
	note = json_string_value(json_object_get(j, "note"));
	assert_true(!note == !want);
	assert_true(!strstr(all.data, "interrupts were not recorded") == !want);
	if (want) {
		assert_string_equal(note,
				    "interrupts were not recorded, so some computing time may be "
				    "theirs: run = evidence records them");
		assert_non_null(strstr(all.data, note));
	}
	json_decref(j);
	buf__free(&all);
	buf__free(&some);
	why_verdict__free(&v);
	why__free(w);
}

/* Without events of interrupts, their time looks like the task's. */
static void test_interrupts_not_recorded(void **state)
{
	static const enum sched_kind kinds[] = { SCHED_IRQ, SCHED_SOFTIRQ, SCHED_INTERRUPT };
	struct why *w;

	for (size_t only = 0; only <= 3; only++) { /* any of them will do; 3: none is there */
		w = story_computes();
		for (size_t i = 0; i < 3; i++)
			w->events.recorded[kinds[i]] = i == only;
		switches(w, 40, 1, SUBJECT, HOG, true);
		has_note(w, only == 3);
	}
	w = story_computes(); /* nobody computed */
	for (size_t i = 0; i < 3; i++)
		w->events.recorded[kinds[i]] = false;
	switches(w, 8, 1, SUBJECT, HOG, true);
	switches(w, 40, 1, HOG, 0, true);
	has_note(w, false);
}

/* SUBJECT waits for CPU 1 for 20 ms. NET_RX and IRQ 24 interrupt the task that runs there. */
static struct why *waits_while_interrupted(uint32_t on_cpu)
{
	struct why *w = story_begin();

	switches(w, 1, 1, HOG, on_cpu, true);
	happens(w, 10, SCHED_WAKING, 0, OTHER, SUBJECT)->arg = 1;
	happens(w, 11, SCHED_SOFTIRQ, 1, on_cpu, 0)->arg = 3;
	happens(w, 23, SCHED_SOFTIRQ_END, 1, on_cpu, 0)->arg = 3;
	happens(w, 25, SCHED_IRQ, 1, on_cpu, 0)->arg = 24;
	happens(w, 27, SCHED_IRQ_END, 1, on_cpu, 0)->arg = 24;
	switches(w, 30, 1, on_cpu, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	sched_tasks__get(w->events.tasks, SUBJECT)->prio = 120;
	return w;
}

/*
 * Interrupts that keep a task off its CPU count neither as time of the task there, nor as idle
 * time.
 */
static void test_interrupted_queue(void **state)
{
	const char *const softirq =
		"12ms waited for CPU 1, which was interrupted by softirq net_rx";
	const char *const irq = "2ms waited for CPU 1, which was interrupted by IRQ 24";
	struct why *w = waits_while_interrupted(4);
	struct why_verdict v = { 0 };

	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, softirq);
	says(w, 1, "6ms waited for CPU 1 behind ?/4 (same priority)");
	says(w, 2, irq);
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_int_equal(v.cause, CAUSE_INTERRUPT);
	why_verdict__free(&v);
	why__free(w);

	w = waits_while_interrupted(0);
	asked(w, (struct why_question){ .quota = WHY_QUOTA_NONE }, 10, 30);
	says(w, 0, softirq);
	says(w, 2, irq);
	assert_int_equal(why__unknown_ns(w), 6 * MS);
	why__free(w);

	w = waits_while_interrupted(4); /* its softirqs are the work of ksoftirqd */
	named(w, 4, "ksoftirqd/1");
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0,
	     "18ms waited for CPU 1 behind ksoftirqd/1/4 (same priority), for softirq net_rx");
	says(w, 1, irq);
	why__free(w);
}

/* Set the handler of the event. */
static void handled_by(struct why *w, struct sched_event *e, const char *name)
{
	struct sched_events *events = &w->events;

	events->handlers = reallocarray(events->handlers, events->n_handlers + 1, SCHED_HANDLER);
	assert_non_null(events->handlers);
	snprintf(events->handlers[events->n_handlers], SCHED_HANDLER, "%s", name);
	e->handler = ++events->n_handlers;
}

/* The member "handler" of node @i of the first level */
static void has_handler_in_json(const struct why *w, size_t i, const char *want)
{
	struct why_verdict v = { 0 };
	json_t *j, *node;

	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	j = why_json__new(w, &v);
	node = json_array_get(json_object_get(json_object_get(j, "tree"), "causes"), i);
	assert_int_equal(json_integer_value(json_object_get(node, "irq")), 24);
	node = json_object_get(node, "handler");
	assert_true(want ? json_is_string(node) : json_is_null(node));
	if (want)
		assert_string_equal(json_string_value(node), want);
	json_decref(j);
	why_verdict__free(&v);
}

/* Handlers that share a line are told apart; a name cannot break a terminal. */
static void test_handlers_of_irqs(void **state)
{
	static const char *const names[] = { "virtio0", "\033[2Jeth0", NULL, "virtio0" };
	struct why *w = story_computes();
	struct why_verdict v = { 0 };

	for (int i = 0; i < 4; i++) {
		struct sched_event *e = happens(w, 11 + 3 * i, SCHED_IRQ, 1, SUBJECT, 0);

		e->arg = 24;
		if (names[i])
			handled_by(w, e, names[i]);
		if (i == 3) /* the same, not another name */
			e->handler = 1;
		happens(w, (i == 2 ? 12 : 13) + 3 * i, SCHED_IRQ_END, 1, SUBJECT, 0)->arg = 24;
	}
	switches(w, 40, 1, SUBJECT, HOG, true);
	asked(w, (struct why_question){ 0 }, 11, 23);
	says(w, 0, "5ms computed");
	says(w, 1, "4ms was interrupted by IRQ 24 (virtio0)");
	says(w, 2, "2ms was interrupted by IRQ 24 (?[2Jeth0)");
	says(w, 3, "1ms was interrupted by IRQ 24");
	has_handler_in_json(w, 1, "virtio0");
	has_handler_in_json(w, 2, "\033[2Jeth0");
	has_handler_in_json(w, 3, NULL);
	why__free(w);

	w = waits_while_interrupted(0); /* with frbpf:interrupt, and in the verdict */
	w->events.n = 2;
	for (int i = 0; i < 2; i++) {
		struct sched_event *e = happens(w, 29, SCHED_INTERRUPT, 1, 0, 0);

		e->value = (i ? 2 : 18) * MS;
		e->arg = i ? UINT32_MAX : 24;
		e->prio = 0;
		if (!i)
			handled_by(w, e, "nvme0q1");
	}
	w->events.v[3].time = 31 * MS;
	switches(w, 31, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	asked(w, (struct why_question){ .quota = WHY_QUOTA_NONE }, 10, 31);
	says(w, 0, "18ms waited for CPU 1, which was interrupted by IRQ 24 (nvme0q1)");
	says(w, 1, "2ms waited for CPU 1, which was interrupted by several IRQs");
	assert_int_equal(why_verdict__make(&v, w, as_ms), 0);
	assert_string_equal(v.text.data, "86 % of 21ms: ?/1 waited for CPU 1, which was "
					 "interrupted by IRQ 24 (nvme0q1)");
	why_verdict__free(&v);
	why__free(w);
}

/* A CPU that is busy with an interrupt does not idle: that is no sign of a quota. */
static void test_interrupted_idle_cpu(void **state)
{
	struct why *w = story_begin();

	w->events.recorded[SCHED_TIMER] = false;
	switches(w, 10, 1, SUBJECT, 0, false);
	happens(w, 10, SCHED_SOFTIRQ, 1, 0, 0)->arg = 3;
	happens(w, 30, SCHED_SOFTIRQ_END, 1, 0, 0)->arg = 3;
	switches(w, 30, 1, 0, SUBJECT, false);
	switches(w, 40, 1, SUBJECT, 0, true);
	sched_tasks__get(w->events.tasks, SUBJECT)->prio = 120;
	asked(w, (struct why_question){ 0 }, 10, 30);
	says(w, 0, "20ms waited for CPU 1, which was interrupted by softirq net_rx");
	why__free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupts_not_recorded),
		cmocka_unit_test(test_interrupted_queue),
		cmocka_unit_test(test_interrupted_idle_cpu),
		cmocka_unit_test(test_handlers_of_irqs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
