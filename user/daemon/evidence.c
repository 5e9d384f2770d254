// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/rights.h"
#include "daemon/evidence.h"
#include "daemon/plan.h"
#include "detect/engine/load_error.h"
#include "record/offcpu_event.h"
#include "record/privilege.h"
#include "record/record_opts.h"
#include "record/session.h"
#include "rules/text.h"
#include "rules/units.h"
#include "symbols/text_symbols.h"

#define RING_MOST  (4U << 20) /* bytes per CPU; `ring` can make it larger */
#define RING_LEAST (64U << 10)

#define KALLSYMS_MAX (512U << 20)

/* TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ, include/linux/trace_events.h */
#define IN_INTERRUPT "24"

#define BRIEF (1U << EVIDENCE_BRIEF)
#define FULL  (1U << EVIDENCE_FULL)
/*
 * Conditions for events, besides the level. NO_PROGRAMS: BPF programs cannot write events.
 * WAIT_STACKS: a BPF program writes the stacks of waits. SWITCH_STACKS: none does, so samples of
 * switches have stacks.
 */
#define NO_PROGRAMS   (1U << 31)
#define WAIT_STACKS   (1U << 30)
#define SWITCH_STACKS (1U << 29)

/*
 * Stacks are recorded only where they explain something: in which function a task waits, and for
 * whom an interrupt wakes it. Kernel filters drop events that no explanation needs.
 */
static const struct evidence_event {
	const char *system; /* NULL: a bpf-output event with this name */
	const char *name;
	bool stack;
	const char *filter;
	bool of_subject;	  /* stacks of the named threads are copied */
	const char *functions[2]; /* only timers that call one of these */
	unsigned only_if;	  /* one of these holds, BRIEF to SWITCH_STACKS; 0: always */
} evidence_events[] = {
	/* who had which CPU; the stack of an idle CPU is not worth its space */
	{ "sched", "sched_switch", true, "prev_pid != 0", true, .only_if = SWITCH_STACKS },
	{ "sched", "sched_switch", false, "prev_pid == 0", .only_if = SWITCH_STACKS },
	{ "sched", "sched_switch", false, NULL, true, .only_if = WAIT_STACKS },
	/*
	 * where a task waited: a BPF program takes the stacks of long waits, and of some short
	 * ones; the stacks of all switches would cost more
	 */
	{ NULL, OFF_CPU_EVENT, true, .only_if = WAIT_STACKS },
	/*
	 * Who ended which wait, and who gave work to a kworker, kswapd or a journal. Events of work
	 * queues would tell the same, but are more frequent. The CPU and the migrations tell in
	 * whose queue the task then waited. A wake-up by a task needs no stack; in an interrupt,
	 * the stack tells for whom it was.
	 */
	{ "sched", "sched_waking", true, "common_flags & " IN_INTERRUPT },
	{ "sched", "sched_waking", false, "!(common_flags & " IN_INTERRUPT ")", .only_if = BRIEF },
	{ "sched", "sched_waking", true, "!(common_flags & " IN_INTERRUPT ")", .only_if = FULL },
	{ "sched", "sched_migrate_task", false },
	{ "sched", "sched_wakeup_new", false },
	/* which CPU went offline, so that its tasks moved to others */
	{ "cpuhp", "cpuhp_enter" },
	/*
	 * the owner of a lock when a task began to wait for it; a BPF program writes it, see
	 * session_feed.c
	 */
	{ NULL, "lock_wait", true },
	/* long interrupts, written by a BPF program; short ones explain nothing */
	{ NULL, "interrupt", .only_if = BRIEF },
	/* who stopped or woke whom with a signal */
	{ "signal", "signal_generate", false },
	/* time that interrupts took from a running task */
	{ "irq", "irq_handler_entry", .only_if = FULL | NO_PROGRAMS },
	{ "irq", "irq_handler_exit", .only_if = FULL | NO_PROGRAMS },
	{ "irq", "softirq_entry", .only_if = FULL | NO_PROGRAMS },
	{ "irq", "softirq_exit", .only_if = FULL | NO_PROGRAMS },
	/* where a block request was while a task waited for it */
	{ "block", "block_rq_insert" },
	{ "block", "block_rq_issue" },
	{ "block", "block_rq_requeue" },
	{ "block", "block_rq_complete" },
	/* CPU time that went into reclaim or compaction of memory */
	{ "vmscan", "mm_vmscan_direct_reclaim_begin" },
	{ "vmscan", "mm_vmscan_direct_reclaim_end" },
	{ "vmscan", "mm_vmscan_memcg_reclaim_begin" },
	{ "vmscan", "mm_vmscan_memcg_reclaim_end" },
	{ "compaction", "mm_compaction_begin" },
	{ "compaction", "mm_compaction_end" },
	/* when a cgroup got new CPU quota after it had used it up */
	{ "timer", "hrtimer_expire_entry",
	  .functions = { "sched_cfs_period_timer", "sched_cfs_slack_timer" } },
};

/* Can a filter have this thread name in quotes? Names with other characters are left out. */
static bool name_is_plain(const char *name)
{
	return name[0] && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					    "0123456789_-./:@+")] == '\0';
}

static void evidence_name_add(struct evidence_names *to, const char *name)
{
	for (size_t i = 0; i < to->n; i++)
		if (!strcmp(to->v[i], name))
			return;
	if (to->n < EVIDENCE_NAMES && name_is_plain(name))
		strcpy(to->v[to->n++], name); /* fits: see the caller */
}

void evidence__add_names(const struct rule_conf *rule, struct evidence_names *to)
{
	for (uint32_t i = 0; i < rule->expr.n_nodes; i++) {
		const struct frbpf_node *n = &rule->expr.nodes[i];
		char name[sizeof(n->val)];

		if ((n->field != FRBPF_FIELD_COMM && n->field != FRBPF_FIELD_PROCESS) ||
		    n->op != FRBPF_OP_EQ || n->flags & FRBPF_NODE_CURRENT)
			continue;
		memcpy(name, n->val, sizeof(name));
		name[sizeof(name) - 1] = '\0';
		evidence_name_add(to, name);
	}
}

/* Add names to a filter, each with @op, @joined by an operator. @first: nothing is before them. */
static int names_filter(const struct evidence_names *names, const char *op, const char *joined,
			bool first, struct buf *b)
{
	int err = 0;

	for (size_t i = 0; i < names->n && !err; i++) {
		err = buf__printf(b, "%sprev_comm %s \"%s\"", first ? "" : joined, op, names->v[i]);
		first = false;
	}
	return err;
}

static bool event_has_filter(const struct evidence_event *e, const struct evidence_names *names)
{
	return e->filter || (e->of_subject && names->n);
}

/*
 * Add an event. A filter applies to all events of its -e: only events without a filter share an -e.
 */
static int evidence_event_add(const struct evidence_event *e, bool shares,
			      const struct evidence_names *names, struct buf *line)
{
	int err = buf__add_str(line, shares ? "," : line->len ? " -e " : "-e ");

	if (!err && !e->system)
		return buf__printf(line, "bpf-output/no-inherit,name=%s%s/", e->name,
				   e->stack ? ",call-graph=fp" : "");
	err = err
		      ?: buf__printf(line, "%s:%s%s", e->system, e->name,
				     e->stack ? "/call-graph=fp/" : "");
	if (err || !event_has_filter(e, names))
		return err;
	err = buf__printf(line, " --filter '%s", e->filter ?: "");
	if (!err && e->of_subject)
		err = names_filter(names, "!=", " && ", !e->filter, line);
	return err ?: buf__add_str(line, "'");
}

/* Add the switches of the named threads. */
static int named_event_add(const struct evidence_event *e, const struct evidence_names *names,
			   struct buf *line)
{
	int err = buf__printf(line, "%s%s:%s/call-graph=dwarf,stack-size=%d/ --filter '",
			      line->len ? " -e " : "-e ", e->system, e->name, EVIDENCE_STACK_BYTES);

	err = err ?: names_filter(names, "==", " || ", true, line);
	return err ?: buf__add_str(line, "'");
}

static int lacking_add(const struct evidence_event *e, const char *reason, struct buf *lacking)
{
	return buf__printf(lacking, "%s%s:%s%s", lacking->len ? ", " : "", e->system, e->name,
			   reason);
}

/* Add expiries of timers with one of @e->functions. */
static int timer_event_add(const struct evidence_event *e, const struct evidence_kernel *kernel,
			   struct buf *line, struct buf *lacking)
{
	uint64_t address[ARRAY_SIZE(e->functions)];

	for (size_t i = 0; i < ARRAY_SIZE(address); i++) {
		address[i] = kernel->address(e->functions[i], kernel->arg);
		if (!address[i])
			return lacking_add(e, " (its function has no address in /proc/kallsyms)",
					   lacking);
	}
	return buf__printf(
		line, "%s%s:%s --filter 'function == 0x%" PRIx64 " || function == 0x%" PRIx64 "'",
		line->len ? " -e " : "-e ", e->system, e->name, address[0], address[1]);
}

/* Add an event of the table. *shares: the last -e has no filter, so another event may join it. */
static int table_event_add(const struct evidence_event *e, const struct evidence_kernel *kernel,
			   const struct evidence_names *names, bool *shares, struct buf *line,
			   struct buf *lacking)
{
	int err;

	if (e->functions[0]) {
		*shares = false;
		return timer_event_add(e, kernel, line, lacking);
	}
	err = evidence_event_add(e, *shares && !event_has_filter(e, names), names, line);
	if (!err && e->of_subject && names->n)
		err = named_event_add(e, names, line);
	*shares = !event_has_filter(e, names);
	return err;
}

/*
 * The level, with NO_PROGRAMS, WAIT_STACKS or SWITCH_STACKS. Stacks of waits do not show which lock
 * of the kernel a task waited for. So they replace the stacks of switches only if the kernel has
 * lock:contention_begin (since 5.19).
 */
static unsigned evidence_holding(enum evidence_level level, const struct evidence_kernel *kernel)
{
	unsigned holding = 1U << level;

	if (!kernel->feeds)
		return holding | NO_PROGRAMS | SWITCH_STACKS;
	return holding |
	       (level == EVIDENCE_BRIEF && kernel->has("lock", "contention_begin", kernel->arg)
			? WAIT_STACKS
			: SWITCH_STACKS);
}

static bool event_is_of(const struct evidence_event *e, unsigned holding)
{
	if (holding & NO_PROGRAMS && !e->system && e->only_if) /* tracepoints take its place */
		return false;
	return !e->only_if || e->only_if & holding;
}

int evidence__line(enum evidence_level level, const struct evidence_kernel *kernel,
		   const struct evidence_names *names, size_t ring_bytes, struct buf *line,
		   struct buf *lacking)
{
	unsigned holding = evidence_holding(level, kernel);
	bool shares = false;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(evidence_events) && !err; i++) {
		const struct evidence_event *e = &evidence_events[i];

		if (!event_is_of(e, holding))
			continue;
		if (!e->system || kernel->has(e->system, e->name, kernel->arg))
			err = table_event_add(e, kernel, names, &shares, line, lacking);
		else
			err = lacking_add(e, "", lacking);
	}
	return err
		       ?: buf__printf(line, " -m %zuK --overwrite --switch-output -a",
				      ring_bytes / 1024);
}

/* Without tracefs, every event counts as present: opening a missing one fails later. */
static bool event_exists(const char *system, const char *name, void *arg)
{
	struct tracefs *t = arg;
	struct tracepoint *tp = NULL;
	struct err err = { 0 };
	bool there = !t || tracefs__tracepoint(t, system, name, &err, &tp) != -ENOENT;

	tracepoint__free(tp);
	return there;
}

struct function_search {
	const char *name;
	uint64_t found;
};

/* @text is a part of /proc/kallsyms, in whole lines. */
static int search_kallsyms(const struct buf *text, void *arg)
{
	struct function_search *s = arg;
	char line_end[64];
	const char *at;

	snprintf(line_end, sizeof(line_end), " %s\n", s->name);
	at = memmem(text->data, text->len, line_end, strlen(line_end));
	if (!at)
		return 0;
	at = memrchr(text->data, '\n', at - text->data);
	s->found = strtoull(at ? at + 1 : text->data, NULL, 16);
	return 1;
}

/* Get the address of a kernel function. Results are kept: they hold until the next boot. */
static uint64_t function_address(const char *function, void *arg)
{
	static struct function_search past[2];
	struct function_search *s = past;
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	_cleanup_close_ int fd = -1;

	while (s < past + ARRAY_SIZE(past) - 1 && s->name && strcmp(s->name, function) != 0)
		s++;
	if (s->found && !strcmp(s->name, function))
		return s->found;
	*s = (struct function_search){ .name = function };
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		text_chunks__each(fd, KALLSYMS_MAX, search_kallsyms, s);
	return s->found;
}

/*
 * The initial ring size for `run = evidence`: smaller on a small machine, to leave memory for
 * others.
 */
static size_t evidence_ring_bytes(const struct ruleset *rs)
{
	uint64_t room = plan__max_memory(rs) / 4;
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes = RING_MOST;

	while (bytes > RING_LEAST && session__memory(bytes, n_cpus > 0 ? n_cpus : 1, false) > room)
		bytes /= 2;
	return bytes;
}

/* Replace `evidence` with the line. */
static int session_expand(struct ruleset *rs, struct session_conf *s, const char *line)
{
	const struct span rest = s->evidence_options;
	struct source_text *src;
	struct buf b = { 0 };
	char *run = NULL;
	int err;

	err = buf__printf(&b, "%s%s%.*s", line, rest.len ? " " : "", (int)rest.len,
			  s->src->text + rest.off);
	err = err ?: source_text__make("run = evidence", b.data, &src);
	run = err ? NULL : strdup(b.data);
	buf__free(&b);
	if (err)
		return err;
	ruleset__keep(rs, src);
	if (!run)
		return -ENOMEM;
	free(s->run);
	s->run = run;
	s->src = src;
	s->run_span = (struct span){ 0, src->len };
	s->evidence = EVIDENCE_NONE;
	return 0;
}

static void session_names(const struct ruleset *rs, size_t session, struct evidence_names *ret)
{
	*ret = (struct evidence_names){ .n = 0 };
	for (size_t r = 0; r < rs->n_rules; r++)
		for (size_t i = 0; i < rs->rules[r].n_sessions; i++)
			if (rs->rules[r].sessions[i] == session)
				evidence__add_names(&rs->rules[r], ret);
}

/* Do the options after `evidence` name tasks or cgroups? Their errors are reported later. */
static bool options_have_target(const struct session_conf *s)
{
	struct record_opts *o = NULL;
	struct diags ignored = { 0 };
	bool has = false;

	if (!record_opts__parse(s->src, s->evidence_options, sysconf(_SC_PAGESIZE), &ignored, &o))
		has = record_opts__has_target(o);
	record_opts__free(o);
	diags__free(&ignored);
	return has;
}

/* Can BPF programs write into the events of the session? Only if it records all tasks. */
static bool session_feeds(const struct ruleset *rs, const struct session_conf *s)
{
	const struct privilege *missing[PRIVILEGES_MAX];
	size_t n = privilege__missing(missing);
	struct err err;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(missing[i]->name, "CAP_BPF"))
			return false;
	return !rs->of_tasks && !load_error__check_kernel(&err) && !options_have_target(s);
}

static int session_make_line(struct ruleset *rs, size_t session, struct tracefs *tracefs)
{
	struct session_conf *s = &rs->sessions[session];
	const struct evidence_kernel kernel = { event_exists, function_address, tracefs,
						session_feeds(rs, s) };
	struct buf line = { 0 }, lacking = { 0 };
	struct evidence_names names;
	int err;

	session_names(rs, session, &names);
	err = evidence__line(s->evidence, &kernel, &names, evidence_ring_bytes(rs), &line,
			     &lacking);
	err = err ?: session_expand(rs, s, line.data);
	if (!err && lacking.len) {
		s->lacking = strdup(lacking.data);
		err = s->lacking ? 0 : -ENOMEM;
	}
	buf__free(&line);
	buf__free(&lacking);
	return err;
}

int evidence__expand(struct ruleset *rs, struct tracefs *tracefs)
{
	int err = 0;

	for (size_t i = 0; i < rs->n_sessions && !err; i++)
		if (rs->sessions[i].evidence && rs->sessions[i].run)
			err = session_make_line(rs, i, tracefs);
	return err;
}
