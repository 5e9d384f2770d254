// SPDX-License-Identifier: GPL-2.0-only
/* What sessions can record here. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/doctor_core.h"
#include "cmd/json_fields.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "daemon/control.h"
#include "daemon/plan.h"
#include "daemon/rule_binding.h"
#include "daemon/session_feed.h"

#define PROGRAMS_MAX 64 /* of one tracepoint: BPF_TRACE_MAX_PROGS of the kernel */

/*
 * Plan the ruleset @text. A failure is reported as a finding on @part. Free *rs and *ret, even
 * after a failure.
 */
static int make_example(const struct examination *e, const char *part, const char *text,
			struct ruleset **rs, struct plan **ret)
{
	struct source_text *src;
	struct diags diags = { 0 };
	int err = source_text__make("doctor", text, &src);

	err = err ?: ruleset__parse(src, &diags, rs);
	err = err ?: rule_binding__bind(*rs, e->tracefs, false, &diags);
	err = err ?: plan__make(*rs, e->tracefs, &diags, ret);
	if (err)
		finding__add(e, part, FINDING_NO, diags.n ? diags.v[0].msg : strerror(-err), NULL);
	diags__free(&diags);
	return err;
}

static int make_example_plan(const struct examination *e, const char *text, struct plan **ret)
{
	struct ruleset *rs = NULL;
	int err = make_example(e, "sessions", text, &rs, ret);

	ruleset__free(rs);
	return err;
}

static int first_cpu(void)
{
	_cleanup_free_ int *cpus = NULL;
	size_t n = 0;

	return !cpus__online(&cpus, &n) && n ? cpus[0] : 0;
}

void doctor_sessions__cycles(const struct examination *e)
{
	const char *notice = NULL;
	struct err err = { 0 };
	struct plan *p;
	int fd;

	if (make_example_plan(e, "[session-cpu]\nrun = -e cycles -F 99 -g --overwrite -a\n", &p))
		return;
	fd = event__open(&p->sessions[0].events->v[0], first_cpu(), &err, &notice);
	if (fd < 0)
		finding__add(e, "perf events", FINDING_NO, err.msg, NULL);
	else if (notice)
		finding__add(e, "perf events", FINDING_LESS, notice,
			     "give the virtual machine a PMU, if its host can");
	else
		finding__add(e, "perf events", FINDING_OK, "cycles of a hardware PMU", NULL);
	if (fd >= 0)
		close(fd);
	plan__free(p);
}

/* ---- evidence ---- */

/* What `frbpf why` cannot tell without the tracepoints of a system */
static const struct {
	const char *system, *unknown;
} explained[] = {
	{ "sched", "who had a CPU, and who woke a task" },
	{ "cpuhp", "which CPU went offline" },
	{ "signal", "who stopped a task" },
	{ "irq", "the time of interrupts" },
	{ "block", "where a block request was" },
	{ "vmscan", "the time of reclaim" },
	{ "compaction", "the time of compaction" },
	{ "timer", "when a cgroup got new CPU quota" },
};

/*
 * List the tracepoints of @system that this kernel lacks, if any. @lacking: all that it lacks,
 * separated by commas
 */
static void list_system(const char *lacking, const char *system, const char *unknown,
			struct buf *less)
{
	size_t len = strlen(system), n;
	bool any = false;

	for (const char *p = lacking; *p; p += n) {
		p += strspn(p, ", ");
		n = strcspn(p, ",");
		if (strncmp(p, system, len) != 0 || p[len] != ':')
			continue;
		if (any)
			buf__printf(less, ", %.*s", (int)n, p);
		else
			buf__printf(less, "%s%s is unknown: this kernel has no %.*s",
				    less->len ? "\n" : "", unknown, (int)n, p);
		any = true;
	}
}

/* Open each event for a moment. 0, or negative errno with a message in @err. */
static int open_each_event(struct event_list *l, struct err *err)
{
	int cpu = first_cpu();

	for (size_t i = 0; i < l->n; i++) {
		_cleanup_close_ int fd = event__open(&l->v[i], cpu, err, NULL);

		if (fd < 0)
			return fd;
	}
	return 0;
}

static void add_evidence(const struct examination *e, struct event_list *events,
			 const char *lacking)
{
	struct buf less = { 0 };
	struct err err = { 0 };

	if (open_each_event(events, &err)) {
		finding__add(e, "evidence", FINDING_NO, err.msg, NULL);
		return;
	}
	for (size_t i = 0; lacking && i < ARRAY_SIZE(explained); i++)
		list_system(lacking, explained[i].system, explained[i].unknown, &less);
	if (lacking && !less.len)
		buf__printf(&less, "this kernel has no %s", lacking);
	if (session_feed__try(events, &less) && !lacking)
		finding__add(e, "evidence", FINDING_OK, "all that frbpf why reads can be recorded",
			     NULL);
	else
		finding__add(e, "evidence", FINDING_LESS, less.len ? less.data : strerror(ENOMEM),
			     NULL);
	buf__free(&less);
}

/* What `run = evidence` records here. */
void doctor_sessions__evidence(const struct examination *e)
{
	struct ruleset *rs = NULL;
	struct plan *p = NULL;

	if (!e->tracefs)
		finding__add(e, "evidence", FINDING_NO, "tracefs is not readable", NULL);
	else if (!make_example(e, "evidence", "[session-evidence]\nrun = evidence\n", &rs, &p))
		add_evidence(e, p->sessions[0].events, rs->sessions[0].lacking);
	plan__free(p);
	ruleset__free(rs);
}

/* ---- programs of others ---- */

/* Append the name of a BPF program. */
static void name_program(struct buf *b, uint32_t id)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		info.name[0] = '\0';
	buf__printf(b, "%s%s (id %u)", b->len ? ", " : "", info.name[0] ? info.name : "?", id);
}

/* List the programs that decide whether the tracepoint @ev is recorded. */
static void list_programs(struct event *ev, int cpu, struct buf *b)
{
	struct {
		struct perf_event_query_bpf q;
		uint32_t ids[PROGRAMS_MAX];
	} programs = { .q.ids_len = PROGRAMS_MAX };
	struct err ignored;
	_cleanup_close_ int fd = event__open(ev, cpu, &ignored, NULL);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &programs.q))
		return;
	for (uint32_t i = 0; i < programs.q.prog_cnt && i < PROGRAMS_MAX; i++)
		name_program(b, programs.q.ids[i]);
}

static size_t examine_events(const struct examination *e, struct event_list *l)
{
	struct buf b = { 0 };
	size_t n = 0;
	char part[96];

	for (size_t i = 0; i < l->n; i++) {
		b.len = 0;
		if (l->v[i].tp)
			list_programs(&l->v[i], first_cpu(), &b);
		if (!b.len)
			continue;
		n++;
		snprintf(part, sizeof(part), "%.64s", l->v[i].name);
		finding__format(
			e, part, FINDING_LESS,
			"end the tool that attached them, or have it use raw tracepoints (tp_btf)",
			"BPF programs of other tools may keep this event from every perf user: "
			"%.300s",
			b.data);
	}
	buf__free(&b);
	return n;
}

/* The sessions of the recorder that runs, or else what a rules file without sessions gets. */
static int sessions_text(const struct location_hint *hint, struct buf *b)
{
	char base[PATH_MAX], path[PATH_MAX + 16];
	json_t *status = NULL, *s;
	struct err err = { 0 };
	int code = 0;
	size_t i;

	if (!location__find(hint, base, &err)) {
		snprintf(path, sizeof(path), "%s/control", base);
		if (control__request(path, json_pack("{s:s}", "cmd", "status"), &err, &status))
			status = NULL;
	}
	json_array_foreach (json_object_get(status, "sessions"), i, s)
		code = code ?: buf__printf(b, "[session-s%zu]\nrun = %s\n", i, str(s, "run"));
	json_decref(status);
	if (!b->len)
		code = buf__add_str(b, "[session-s]\nrun = evidence\n");
	return code;
}

/*
 * Report the BPF programs of others on the tracepoints of sessions. What a program returns decides
 * for all perf users whether the event is recorded: see PERF_EVENT_IOC_SET_BPF.
 */
void doctor_sessions__neighbours(const struct examination *e)
{
	struct buf text = { 0 };
	struct plan *p = NULL;
	size_t n = 0;

	if (e->tracefs && !sessions_text(e->hint, &text) && !make_example_plan(e, text.data, &p))
		for (size_t i = 0; i < p->n_sessions; i++)
			n += examine_events(e, p->sessions[i].events);
	if (p && !n)
		finding__add(e, "programs of others", FINDING_OK,
			     "none keeps events from our sessions", NULL);
	plan__free(p);
	buf__free(&text);
}
