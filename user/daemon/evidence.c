// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "daemon/evidence.h"
#include "daemon/plan.h"
#include "record/session.h"
#include "rules/text.h"
#include "rules/units.h"

#define RING_MOST  (4U << 20) /* bytes per CPU; `ring` makes it larger */
#define RING_LEAST (64U << 10)

/* TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ, include/linux/trace_events.h */
#define IN_INTERRUPT "24"

/*
 * A stack says what a task waits in, and who wakes it on whose behalf; elsewhere it explains nothing. A filter of the
 * kernel keeps out what no explanation needs.
 */
static const struct evidence_event {
	const char *system, *name;
	bool stack;
	const char *filter;
} evidence_events[] = {
	/* who had which CPU; of a CPU that was idle there is no stack worth its room */
	{ "sched", "sched_switch", true, "prev_pid != 0" },
	{ "sched", "sched_switch", false, "prev_pid == 0" },
	/* who ended which wait; its CPU and the migrations say in whose queue it stood then. What a task does for itself
	 * needs no stack; in an interrupt, the stack says for whom it was */
	{ "sched", "sched_waking", true, "common_flags & " IN_INTERRUPT },
	{ "sched", "sched_waking", false, "!(common_flags & " IN_INTERRUPT ")" },
	{ "sched", "sched_migrate_task", false },
	{ "sched", "sched_wakeup_new", false },
	/* who stopped or woke whom by a signal */
	{ "signal", "signal_generate", false },
	/* what interrupts took of a run */
	{ "irq", "irq_handler_entry" },
	{ "irq", "irq_handler_exit" },
	{ "irq", "softirq_entry" },
	{ "irq", "softirq_exit" },
	/* where a request was meanwhile */
	{ "block", "block_rq_insert" },
	{ "block", "block_rq_issue" },
	{ "block", "block_rq_requeue" },
	{ "block", "block_rq_complete" },
	/* computing that was a search for memory */
	{ "vmscan", "mm_vmscan_direct_reclaim_begin" },
	{ "vmscan", "mm_vmscan_direct_reclaim_end" },
	{ "vmscan", "mm_vmscan_memcg_reclaim_begin" },
	{ "vmscan", "mm_vmscan_memcg_reclaim_end" },
	{ "compaction", "mm_compaction_begin" },
	{ "compaction", "mm_compaction_end" },
};

/* A filter is of all events of its -e: those that have none share one. */
static int event_add(const struct evidence_event *e, bool shares, struct buf *line)
{
	int err = buf__printf(line, "%s%s:%s%s",
			      shares	  ? ","
			      : line->len ? " -e "
					  : "-e ",
			      e->system, e->name, e->stack ? "/call-graph=fp/" : "");

	return err || !e->filter ? err : buf__printf(line, " --filter '%s'", e->filter);
}

int evidence__line(evidence_exists_fn exists, void *arg, size_t ring_bytes, struct buf *line,
		   struct buf *lacking)
{
	bool shares = false;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(evidence_events) && !err; i++) {
		const struct evidence_event *e = &evidence_events[i];

		if (!exists(e->system, e->name, arg)) {
			err = buf__printf(lacking, "%s%s:%s", lacking->len ? ", " : "", e->system,
					  e->name);
			continue;
		}
		err = event_add(e, shares && !e->filter, line);
		shares = !e->filter;
	}
	return err
		       ?: buf__printf(line, " -m %zuK --overwrite --switch-output -a",
				      ring_bytes / 1024);
}

/* What cannot be looked up is left to those who open it. */
static bool event_exists(const char *system, const char *name, void *arg)
{
	struct tracefs *t = arg;
	struct tracepoint *tp = NULL;
	struct err err = { 0 };
	bool there = !t || tracefs__tracepoint(t, system, name, &err, &tp) != -ENOENT;

	tracepoint__free(tp);
	return there;
}

/* What its rings begin with: a small machine has room for others, too. */
static size_t evidence_ring_bytes(const struct ruleset *rs)
{
	uint64_t room = plan__max_memory(rs) / 4;
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t bytes = RING_MOST;

	while (bytes > RING_LEAST && session__memory(bytes, n_cpus > 0 ? n_cpus : 1) > room)
		bytes /= 2;
	return bytes;
}

/* What stands behind the word: further options, as they are in the file. */
static struct span rest_of(const struct session_conf *s)
{
	uint32_t end = s->run_span.off + s->run_span.len, pos = s->run_span.off;

	while (pos < end && !text__blank(s->src, pos, end))
		pos++;
	pos = text__skip_blanks(s->src, pos, end);
	return (struct span){ pos, end - pos };
}

static int session_expand(struct ruleset *rs, struct session_conf *s, const char *line)
{
	const char *shown = strchr(s->run, ' ');
	struct span rest = rest_of(s);
	struct source_text *src;
	struct buf b = { 0 };
	char *run = NULL;
	int err;

	err = buf__printf(&b, "%s%s%.*s", line, rest.len ? " " : "", (int)rest.len,
			  s->src->text + rest.off);
	err = err ?: source_text__make("run = evidence", b.data, &src);
	buf__free(&b);
	if (err)
		return err;
	ruleset__keep(rs, src);
	err = buf__printf(&b, "%s%s", line, shown ?: "");
	run = err ? NULL : strdup(b.data);
	buf__free(&b);
	if (!run)
		return -ENOMEM;
	free(s->run);
	s->run = run;
	s->src = src;
	s->run_span = (struct span){ 0, src->len };
	s->evidence = false;
	return 0;
}

int evidence__expand(struct ruleset *rs, struct tracefs *tracefs)
{
	struct buf line = { 0 }, lacking = { 0 };
	int err = 0;

	for (size_t i = 0; i < rs->n_sessions && !err; i++) {
		struct session_conf *s = &rs->sessions[i];

		if (!s->evidence || !s->run)
			continue;
		if (!line.len)
			err = evidence__line(event_exists, tracefs, evidence_ring_bytes(rs), &line,
					     &lacking);
		err = err ?: session_expand(rs, s, line.data);
		if (err || !lacking.len)
			continue;
		s->lacking = strdup(lacking.data);
		err = s->lacking ? 0 : -ENOMEM;
	}
	buf__free(&line);
	buf__free(&lacking);
	return err;
}
