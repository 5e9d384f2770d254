// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/printable.h"
#include "rules/units.h"
#include "run/report/report.h"

/* Frames per stack; the JSON has all of them */
#define KERNEL_FRAMES 4
#define USER_FRAMES   10

static bool begins_with_any(const char *s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(s, v[i], strlen(v[i])))
			return true;
	return false;
}

/* Is the function in every stack of a switched-out task, or of a system call? */
static bool frame_is_common(const struct run_frame *f)
{
	static const char *const common[] = {
		"__traceiter_sched_switch",
		"perf_trace_sched_switch",
		"__schedule",
		"schedule",
		"preempt_schedule_common",
		"do_syscall_64",
		"x64_sys_call",
		"entry_SYSCALL_64",
		"invoke_syscall",
		"el0_svc",
		"do_el0_svc",
		"el0t_64_sync",
	};

	return f->kernel && f->symbol && begins_with_any(f->symbol, common, ARRAY_SIZE(common));
}

static int add_frame(const struct run_frame *f, bool first, struct buf *b)
{
	int err = first ? 0 : buf__add_str(b, " ← ");

	return err ?: escape__markdown(b, f->symbol ?: f->module);
}

static int add_frames(const struct run_stack *s, struct buf *b)
{
	size_t kernel = 0, user = 0;
	bool cut = false;
	int err = 0;

	for (size_t i = 0; i < s->n_frames && !err; i++) {
		const struct run_frame *f = &s->frames[i];
		bool first = !kernel && !user;

		if (frame_is_common(f))
			continue;
		if (f->kernel ? kernel >= KERNEL_FRAMES : user >= USER_FRAMES) {
			cut = true;
			continue;
		}
		kernel += f->kernel;
		user += !f->kernel;
		if (cut && !f->kernel && !err && user == 1)
			err = buf__add_str(b, " ← ...");
		cut = false;
		err = err ?: add_frame(f, first, b);
	}
	if (!err && cut)
		err = buf__add_str(b, " ← ...");
	if (!err && !kernel && !user)
		err = buf__add_str(b, s->n_frames ? "(the scheduler alone)" : "(no stack)");
	return err;
}

static int add_stack_row(const struct run_stack_table *t, const struct run_stack *s, struct buf *b)
{
	int err = buf__printf(b, "| %.1f%% |", s->here);

	if (!err && t->rest)
		err = buf__printf(b, " %.1f%%%s |", s->rest, s->noise ? " ~" : "");
	if (!err && s->state[0]) {
		err = buf__add_str(b, " ");
		err = err ?: escape__markdown(b, s->comm[0] ? s->comm : "?");
		err = err ?: buf__printf(b, ", %s |", s->state);
	}
	err = err ?: buf__add_str(b, " ");
	err = err ?: add_frames(s, b);
	return err ?: buf__add_str(b, " |\n");
}

static int add_title(const struct run_stack_table *t, struct buf *b)
{
	char here[32], rest[32];
	int err;

	if (t->event) {
		err = buf__printf(b, "\nOn CPU, session %s: %llu samples (", t->session,
				  (unsigned long long)t->here);
		err = err ?: escape__markdown(b, t->event);
		err = err ?: buf__add_str(b, ") in the window");
		if (!err && t->rest)
			err = buf__printf(b, ", %llu in the rest of the run",
					  (unsigned long long)t->rest);
	} else {
		err = buf__printf(b, "\nOff CPU, session %s: %s of all tasks in the window",
				  t->session, units__format_duration(t->here, here, sizeof(here)));
		if (!err && t->rest)
			err = buf__printf(b, ", %s in the rest of the run",
					  units__format_duration(t->rest, rest, sizeof(rest)));
	}
	if (!err && !t->rest)
		err = buf__add_str(b, "; nothing of the rest of the run was still there");
	return err ?: buf__add_str(b, "\n\n");
}

static int add_stack_table(const struct run_stack_table *t, struct buf *b)
{
	int err = add_title(t, b);

	err = err
		      ?: buf__printf(b, "| window |%s%s stack |\n|--:|%s%s---|\n",
				     t->rest ? " rest |" : "", t->event ? "" : " who, state |",
				     t->rest ? "--:|" : "", t->event ? "" : "---|");
	for (size_t i = 0; i < t->n && !err; i++)
		err = add_stack_row(t, &t->v[i], b);
	return err;
}

int report_stacks(const struct outcome *o, const struct run_incident *inc, struct buf *b)
{
	int err = 0;

	for (size_t i = 0; i < inc->n_tables && !err; i++)
		if (inc->tables[i].n)
			err = add_stack_table(&inc->tables[i], b);
	return err;
}
