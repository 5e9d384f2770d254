// SPDX-License-Identifier: GPL-2.0-only
/* The line that `run = evidence` becomes. */
#include "daemon/evidence.h"

#include <stdio.h>

#include "plan_fixture.h"

/* The n-th event of that name. */
static const struct event_item *item_of(const struct record_opts *o, const char *text)
{
	for (size_t i = 0; i < o->n_events; i++)
		if (!strcmp(o->events[i].text, text))
			return &o->events[i];
	fail_msg("no event %s", text);
	return NULL;
}

/* Can BPF programs write events here? */
static bool has_programs(void)
{
	return !access("/sys/kernel/btf/vmlinux", F_OK) && !geteuid();
}

/* `run = evidence` becomes a line that perf record accepts. The options after the word are kept. */
static void evidence_is_a_line(void **state)
{
	struct planned p = plan_text("[daemon]\nmax-memory = 1G\n"
				     "[session-a]\nrun = evidence -m 8M \\\n --filter 'a b'\n"
				     "[session-b]\nrun = evidence\n"
				     "[rule-r]\nwhen = runqlat > 20ms\n");
	const struct session_conf *a, *b;
	struct record_opts *o;
	struct diags d = { 0 };

	assert_int_equal(p.err, 0);
	assert_int_equal(p.d.n, 0);
	a = &p.rs->sessions[0];
	b = &p.rs->sessions[1];
	assert_false(a->evidence);
	assert_non_null(strstr(a->run, " --overwrite --switch-output -a -m 8M "));
	assert_null(b->lacking);
	assert_int_equal(p.plan->sessions[0].ring_bytes, 8 << 20);
	assert_true(p.plan->sessions[1].ring_bytes >= 64 << 10);
	assert_int_equal(record_opts__parse(b->src, b->run_span, 4096, &d, &o), 0);
	assert_int_equal(d.n, 0);
	if (has_programs()) {
		assert_null(item_of(o, "sched:sched_switch")->filter);
	} else {
		assert_string_equal(item_of(o, "sched:sched_switch/call-graph=fp/")->filter,
				    "prev_pid != 0");
		assert_string_equal(item_of(o, "sched:sched_switch")->filter, "prev_pid == 0");
	}
	assert_string_equal(item_of(o, "sched:sched_waking/call-graph=fp/")->filter,
			    "common_flags & 24");
	assert_string_equal(item_of(o, "sched:sched_waking")->filter, "!(common_flags & 24)");
	assert_null(item_of(o, "compaction:mm_compaction_end")->filter);
	assert_int_equal(o->call_graph, CALL_GRAPH_NONE);
	assert_true(o->system_wide && o->overwrite);
	record_opts__free(o);
	diags__free(&d);
	release(&p);
}

/*
 * The user stack of a rule's subject is copied when it leaves the CPU. Each switch is recorded
 * once.
 */
static void stacks_of_named_subjects_are_copied(void **state)
{
	struct planned p =
		plan_text("[rule-a]\nwhen = offcpu > 1s\n"
			  "if = process == \"postgres\" && cpu < 8 || comm in (redis, \"a b\")\n"
			  "[rule-b]\nwhen = offcpu > 1s\n"
			  "if = comm == postgres && comm != nginx && current.comm == x\n");
	const struct session_conf *s = &p.rs->sessions[0];
	struct record_opts *o;
	struct diags d = { 0 };

	assert_int_equal(p.err, 0);
	assert_string_equal(s->name, "evidence");
	assert_int_equal(record_opts__parse(s->src, s->run_span, 4096, &d, &o), 0);
	if (has_programs()) {
		assert_string_equal(item_of(o, "sched:sched_switch")->filter,
				    "prev_comm != \"postgres\" && prev_comm != \"redis\"");
	} else {
		assert_string_equal(
			item_of(o, "sched:sched_switch/call-graph=fp/")->filter,
			"prev_pid != 0 && prev_comm != \"postgres\" && prev_comm != \"redis\"");
		assert_string_equal(item_of(o, "sched:sched_switch")->filter, "prev_pid == 0");
	}
	assert_string_equal(
		item_of(o, "sched:sched_switch/call-graph=dwarf,stack-size=1024/")->filter,
		"prev_comm == \"postgres\" || prev_comm == \"redis\"");
	record_opts__free(o);
	diags__free(&d);
	release(&p);
}

static bool is_not_of_irq(const char *system, const char *name, void *arg)
{
	return strcmp(system, "irq") && strcmp(name, "mm_compaction_end");
}

static uint64_t address_of_timer(const char *function, void *arg)
{
	if (!strcmp(function, "sched_cfs_slack_timer"))
		return 0xffffffff81abcdff;
	assert_string_equal(function, "sched_cfs_period_timer");
	return 0xffffffff81abcdef;
}

static uint64_t no_address(const char *function, void *arg)
{
	return 0;
}

static void evidence_without_addresses(void **state)
{
	const struct evidence_kernel kernel = { is_not_of_irq, no_address, NULL, true };
	const struct evidence_names none = { .n = 0 };
	struct buf line = { 0 }, lacking = { 0 };

	assert_int_equal(evidence__line(EVIDENCE_BRIEF, &kernel, &none, 1 << 20, &line, &lacking),
			 0);
	assert_null(strstr(line.data, "timer:"));
	assert_string_equal(lacking.data,
			    "compaction:mm_compaction_end, timer:hrtimer_expire_entry (its "
			    "function has no address in /proc/kallsyms)");
	buf__free(&line);
	buf__free(&lacking);
}

static void evidence_of_this_kernel(void **state)
{
	const struct evidence_kernel kernel = { is_not_of_irq, address_of_timer, NULL, true };
	const struct evidence_names none = { .n = 0 };
	struct buf line = { 0 }, lacking = { 0 };

	assert_int_equal(evidence__line(EVIDENCE_FULL, &kernel, &none, 1 << 20, &line, &lacking),
			 0);
	assert_null(strstr(line.data, "irq"));
	assert_null(strstr(line.data, "name=offcpu-time"));
	assert_non_null(strstr(line.data, "sched:sched_switch/call-graph=fp/"));
	assert_null(strstr(line.data, "compaction_end"));
	assert_non_null(strstr(line.data, ",compaction:mm_compaction_begin "));
	assert_non_null(strstr(line.data, " -m 1024K "));
	/* a program can write only into an event that is not inherited */
	assert_non_null(strstr(line.data, ",bpf-output/no-inherit,name=lock_wait,call-graph=fp/"));
	assert_non_null(strstr(line.data, " -e timer:hrtimer_expire_entry --filter "
					  "'function == 0xffffffff81abcdef || "
					  "function == 0xffffffff81abcdff' -m "));
	assert_string_equal(lacking.data, "irq:irq_handler_entry, irq:irq_handler_exit, "
					  "irq:softirq_entry, irq:softirq_exit, "
					  "compaction:mm_compaction_end");
	buf__free(&line);
	buf__free(&lacking);
	/* a program writes the time of interrupts */
	assert_int_equal(evidence__line(EVIDENCE_BRIEF, &kernel, &none, 1 << 20, &line, &lacking),
			 0);
	assert_non_null(strstr(line.data, ",bpf-output/no-inherit,name=interrupt/"));
	/* a program also writes the stacks of waits, so switches need none */
	assert_non_null(strstr(line.data, "bpf-output/no-inherit,name=offcpu-time,call-graph=fp/"));
	assert_null(strstr(line.data, "sched:sched_switch/call-graph"));
	assert_string_equal(lacking.data, "compaction:mm_compaction_end");
	buf__free(&line);
	buf__free(&lacking);
}

static bool is_not_of_lock(const char *system, const char *name, void *arg)
{
	return strcmp(system, "lock") != 0;
}

/* Before Linux 5.19 no event shows a lock of the kernel: only the stack of a switch does. */
static void evidence_without_lock_events(void **state)
{
	const struct evidence_kernel kernel = { is_not_of_lock, address_of_timer, NULL, true };
	const struct evidence_names none = { .n = 0 };
	struct buf line = { 0 }, lacking = { 0 };

	assert_int_equal(evidence__line(EVIDENCE_BRIEF, &kernel, &none, 1 << 20, &line, &lacking),
			 0);
	assert_non_null(strstr(line.data, "name=interrupt"));
	assert_null(strstr(line.data, "name=offcpu-time"));
	assert_non_null(strstr(line.data, "sched:sched_switch/call-graph=fp/"));
	buf__free(&line);
	buf__free(&lacking);
}

/* Where BPF programs cannot write events, the tracepoints of interrupts replace them. */
static void evidence_without_programs(void **state)
{
	const struct evidence_kernel kernel = { is_not_of_irq, address_of_timer, NULL, false };
	const struct evidence_names none = { .n = 0 };
	struct buf line = { 0 }, lacking = { 0 };

	assert_int_equal(evidence__line(EVIDENCE_BRIEF, &kernel, &none, 1 << 20, &line, &lacking),
			 0);
	assert_null(strstr(line.data, "name=interrupt"));
	assert_null(strstr(line.data, "name=offcpu-time"));
	assert_non_null(strstr(line.data, "sched:sched_switch/call-graph=fp/"));
	assert_non_null(strstr(lacking.data, "irq:softirq_exit"));
	buf__free(&line);
	buf__free(&lacking);
}

/* BPF programs write only into events of all tasks. */
static void evidence_of_some_tasks(void **state)
{
	struct planned p = plan_text("[session-all]\nrun = evidence -m 1M\n"
				     "[session-one]\nrun = evidence -p 1 -m 1M\n"
				     "[session-user]\nrun = evidence --uid 0 -m 1M\n");
	const struct session_conf *s = p.rs->sessions;

	if (has_programs()) {
		assert_non_null(strstr(s[0].run, "name=interrupt"));
		assert_null(strstr(s[0].run, "irq:softirq_entry"));
	}
	for (int i = 1; i < 3; i++) {
		assert_null(strstr(s[i].run, "name=interrupt"));
		assert_non_null(strstr(s[i].run, "irq:irq_handler_entry"));
		assert_non_null(strstr(s[i].run, "irq:softirq_exit"));
	}
	release(&p);
}

static void evidence_full(void **state)
{
	struct planned p = plan_text("[session-a]\nrun = evidence full -m 64K\n"
				     "[session-b]\nrun = evidence -m 64K\n");

	assert_int_equal(p.err, 0);
	assert_non_null(strstr(p.rs->sessions[0].run, "irq:softirq_exit"));
	assert_null(strstr(p.rs->sessions[0].run, "name=interrupt"));
	assert_null(strstr(p.rs->sessions[0].run, "full"));
	assert_null(strstr(p.rs->sessions[1].run, "irq:softirq_exit"));
	assert_non_null(strstr(p.rs->sessions[1].run, "name=interrupt"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(p.plan->sessions[i].ring_bytes, 64 << 10);
	release(&p);
}

/* The evidence also fits into a machine with little memory. */
static void evidence_fits_little_memory(void **state)
{
	struct planned p =
		plan_text("[rule-r]\nwhen = runqlat > 20ms\n[daemon]\nmax-memory = 9G\n");
	size_t most = p.plan->n_cpus * (8 << 20), ring = p.plan->sessions[0].ring_bytes;
	char text[128];

	assert_int_equal(ring, 4 << 20);
	release(&p);
	snprintf(text, sizeof(text),
		 "[daemon]\nmax-memory = %zu\n[rule-r]\nwhen = runqlat > 20ms\n", most);
	p = plan_text(text);
	assert_int_equal(p.err, 0);
	assert_in_range(p.plan->sessions[0].ring_bytes, 64 << 10, ring / 2);
	assert_true(p.plan->memory <= most);
	release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evidence_is_a_line),
		cmocka_unit_test(stacks_of_named_subjects_are_copied),
		cmocka_unit_test(evidence_of_this_kernel),
		cmocka_unit_test(evidence_without_addresses),
		cmocka_unit_test(evidence_full),
		cmocka_unit_test(evidence_without_lock_events),
		cmocka_unit_test(evidence_without_programs),
		cmocka_unit_test(evidence_of_some_tasks),
		cmocka_unit_test(evidence_fits_little_memory),
	};

	return cmocka_run_group_tests_name("evidence", tests, start_reader, stop_reader);
}
