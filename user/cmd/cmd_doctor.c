// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/json_fields.h"
#include "common/cleanup.h"
#include "common/cpus.h"
#include "common/heap.h"
#include "common/landlock.h"
#include "common/printable.h"
#include "common/realtime.h"
#include "common/rights.h"
#include "daemon/control.h"
#include "daemon/location.h"
#include "daemon/plan.h"
#include "daemon/rule_binding.h"
#include "daemon/session_feed.h"
#include "detect/detectors.h"
#include "detect/engine/load_error.h"
#include "examine/probe/probe_reader.h"
#include "record/privilege.h"

/* Examines what this kernel and the privileges of this process allow frbpf to do. */

enum finding_level {
	FINDING_OK,
	FINDING_LESS, /* frbpf works, but records less or costs more */
	FINDING_NO,   /* this does not work */
};

struct finding {
	const char *part; /* what was examined: "rules on runqlat" */
	enum finding_level level;
	const char *text;   /* what was found */
	const char *remedy; /* how to get the rest; NULL: nothing is missing, or there is no way */
};

/* @f is valid during the call. */
typedef void (*finding_fn)(const struct finding *f, void *arg);

#define SYMBOLS_LOOKED_AT 4096
#define PROGRAMS_MAX	  64 /* of one tracepoint: BPF_TRACE_MAX_PROGS of the kernel */

struct examination {
	finding_fn fn;
	void *arg;
	const struct location_hint *hint;
	struct tracefs *tracefs; /* NULL: not readable */
};

static void add_finding(const struct examination *e, const char *part, enum finding_level level,
			const char *text, const char *remedy)
{
	e->fn(&(struct finding){ part, level, text, remedy }, e->arg);
}

__attribute__((format(printf, 5, 6))) static void
format_finding(const struct examination *e, const char *part, enum finding_level level,
	       const char *remedy, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_finding(e, part, level, text, remedy);
}

/* Read the first line of a file of the kernel. "": it cannot be read. */
static void read_kernel_line(const char *path, char *buf, int size)
{
	RAISED_RIGHTS(RIGHTS_ALL);
	FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (!f)
		return;
	if (fgets(buf, size, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
}

/* ---- kernel and privileges ---- */

static void examine_kernel(const struct examination *e)
{
	struct err err = { 0 };
	struct utsname un;
	char line[128];

	if (!uname(&un))
		format_finding(e, "kernel", FINDING_OK, NULL, "%s %s, %s, %ld CPUs", un.sysname,
			       un.release, un.machine, sysconf(_SC_NPROCESSORS_ONLN));
	if (load_error__check_kernel(&err))
		add_finding(e, "type information", FINDING_NO, err.msg, NULL);
	read_kernel_line("/sys/kernel/security/lockdown", line, sizeof(line));
	if (strstr(line, "[confidentiality]"))
		add_finding(e, "lockdown", FINDING_NO,
			    "the kernel hides its memory from perf events and BPF programs",
			    "boot with lockdown=integrity, or without Secure Boot");
}

static void examine_privileges(const struct examination *e)
{
	const struct privilege *missing[PRIVILEGES_MAX];
	size_t n = privilege__missing(missing);
	struct buf remedy = { 0 };

	if (!n)
		add_finding(e, "privileges", FINDING_OK, "all capabilities that recording needs",
			    NULL);
	else if (privilege__remedy(&remedy))
		buf__free(&remedy);
	for (size_t i = 0; i < n; i++)
		format_finding(e, "privileges", missing[i]->must ? FINDING_NO : FINDING_LESS,
			       i == n - 1 ? remedy.data : NULL, "%s is missing: %s",
			       missing[i]->name, missing[i]->why);
	buf__free(&remedy);
}

/* ---- rules ---- */

/* A rule of each source, which nothing fires. */
static const struct {
	const char *source, *when, *condition;
} trials[] = {
	{ "runqlat", "runqlat > 24h", NULL },
	{ "blocked", "blocked > 24h", NULL },
	{ "offcpu", "offcpu > 24h", "pid == 1" },
	{ "oncpu", "oncpu > 99.9% in 1m", "pid == 1" },
	{ "syscall", "syscall:reboot > 24h", NULL },
	{ "blkio", "blkio > 24h", NULL },
	{ "blkio.device", "blkio.device > 24h", NULL },
	{ "hardirq", "hardirq > 24h", NULL },
	{ "softirq", "softirq:* > 24h", NULL },
	{ "reclaim", "reclaim > 24h", NULL },
	{ "connect", "connect > 24h", NULL },
	{ "psi", "psi:memory full > 9s in 10s", NULL },
	{ "tracepoint", "oom:mark_victim", NULL },
	{ "span", "block:block_rq_issue -> block:block_rq_complete by dev, sector > 24h", NULL },
	{ "pending", "pending(blocked) > 24h", NULL },
};

static int attach_rule(const struct examination *e, struct detectors *d, struct ruleset *rs,
		       struct diags *diags, struct err *err)
{
	uint32_t slot;
	int code = rule_binding__bind(rs, e->tracefs, false, diags);

	if (code)
		return err_set(err, code, "%s", diags->n ? diags->v[0].msg : strerror(-code));
	return detectors__update(d, rs->rules, 1, &slot, err);
}

/* Attach a rule. Its source is appended to @works, or the failure is reported. */
static void try_rule(const struct examination *e, struct detectors *d, const char *source,
		     const char *when, const char *condition, struct buf *works)
{
	struct diags diags = { 0 };
	struct ruleset *rs = NULL;
	struct err err = { 0 };
	char part[64];
	int code = cmd_parse_rule(source, when, "", condition, &diags, &rs);

	if (code)
		err_set(&err, code, "%s", diags.n ? diags.v[0].msg : strerror(-code));
	code = code ?: attach_rule(e, d, rs, &diags, &err);
	snprintf(part, sizeof(part), "rules on %s", source);
	if (code || buf__printf(works, "%s%s", works->len ? ", " : "", source))
		add_finding(e, part, FINDING_NO, code ? err.msg : strerror(ENOMEM), NULL);
	ruleset__free(rs);
	diags__free(&diags);
}

/* A function of this program, which nobody else calls. */
static void try_uprobe(const struct examination *e, struct detectors *d, struct buf *works)
{
	char exe[256], when[512];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (len <= 0)
		return;
	exe[len] = '\0';
	snprintf(when, sizeof(when), "uprobe:%s:main", exe);
	try_rule(e, d, "uprobe", when, NULL, works);
}

static void examine_rules(const struct examination *e)
{
	struct examiner *examiner = NULL; /* reads programs in a separate process */
	struct buf works = { 0 };
	struct err err = { 0 };
	struct detectors *d;

	heap__begin_load();
	if (!examiner__new(&examiner))
		probe_reader__use(examiner);
	if (detectors__open(&err, &d)) {
		add_finding(e, "rules", FINDING_NO, err.msg, NULL);
	} else {
		for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
			try_rule(e, d, trials[i].source, trials[i].when, trials[i].condition,
				 &works);
		try_uprobe(e, d, &works);
		detectors__free(d);
	}
	if (works.len)
		format_finding(e, "rules", FINDING_OK, NULL, "attached: %s", works.data);
	buf__free(&works);
	probe_reader__use(NULL);
	examiner__free(examiner);
}

/* ---- recording ---- */

/* A failure is reported of @part. Free both, also after a failure. */
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
		add_finding(e, part, FINDING_NO, diags.n ? diags.v[0].msg : strerror(-err), NULL);
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

static void examine_cycles(const struct examination *e)
{
	const char *notice = NULL;
	struct err err = { 0 };
	struct plan *p;
	int fd;

	if (make_example_plan(e, "[session-cpu]\nrun = -e cycles -F 99 -g --overwrite -a\n", &p))
		return;
	fd = event__open(&p->sessions[0].events->v[0], first_cpu(), &err, &notice);
	if (fd < 0)
		add_finding(e, "perf events", FINDING_NO, err.msg, NULL);
	else if (notice)
		add_finding(e, "perf events", FINDING_LESS, notice,
			    "give the virtual machine a PMU, if its host can");
	else
		add_finding(e, "perf events", FINDING_OK, "cycles of a hardware PMU", NULL);
	if (fd >= 0)
		close(fd);
	plan__free(p);
}

static void *try_realtime(void *arg)
{
	*(bool *)arg = thread__set_class(THREAD_REALTIME, 1);
	return NULL;
}

static void examine_realtime(const struct examination *e)
{
	bool granted = false;
	pthread_t thread;

	if (pthread_create(&thread, NULL, try_realtime, &granted))
		return;
	pthread_join(thread, NULL);
	if (granted)
		add_finding(e, "real time", FINDING_OK, "SCHED_FIFO for the thread that freezes",
			    NULL);
	else
		add_finding(
			e, "real time", FINDING_LESS,
			"SCHED_FIFO is refused: on a busy machine a window may be frozen "
			"milliseconds late",
			"needs CAP_SYS_NICE; with CONFIG_RT_GROUP_SCHED also cpu.rt_runtime_us of "
			"the cgroup");
}

/*
 * Has one of the first symbols an address? Those of variables of each CPU, which come first, have
 * 0.
 */
static bool has_addresses(void)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	FILE *f = fopen("/proc/kallsyms", "re");
	bool found = false;
	char line[512];

	for (int i = 0; f && !found && i < SYMBOLS_LOOKED_AT && fgets(line, sizeof(line), f); i++)
		found = strtoull(line, NULL, 16) != 0;
	if (f)
		fclose(f);
	return found;
}

static void examine_names(const struct examination *e)
{
	if (has_addresses())
		add_finding(e, "names of the kernel", FINDING_OK, "/proc/kallsyms has addresses",
			    NULL);
	else
		add_finding(
			e, "names of the kernel", FINDING_LESS,
			"/proc/kallsyms hides addresses: kernel functions have no names in dumps",
			"needs CAP_SYSLOG, or kernel.kptr_restrict=0");
}

static void examine_cost(const struct examination *e)
{
	if (sysctl__kernel("bpf_stats_enabled", 0))
		add_finding(e, "cost", FINDING_LESS,
			    "the kernel measures each run of a BPF program",
			    "sysctl kernel.bpf_stats_enabled=0");
	if (sysctl__kernel("perf_event_max_sample_rate", 100000) < 1000)
		add_finding(e, "cost", FINDING_LESS,
			    "the kernel limits perf events to fewer than 1000 samples a second",
			    "sysctl kernel.perf_event_max_sample_rate=100000");
}

static void examine_confinement(const struct examination *e)
{
	if (landlock__version())
		add_finding(e, "confinement", FINDING_OK, "seccomp and Landlock limit the recorder",
			    NULL);
	else
		add_finding(e, "confinement", FINDING_LESS,
			    "no Landlock here: only seccomp and capabilities limit the recorder",
			    "boot with landlock in lsm= (CONFIG_SECURITY_LANDLOCK=y)");
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

/* List those of @system, if any. @lacking: tracepoints, separated by commas */
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
		add_finding(e, "evidence", FINDING_NO, err.msg, NULL);
		return;
	}
	for (size_t i = 0; lacking && i < ARRAY_SIZE(explained); i++)
		list_system(lacking, explained[i].system, explained[i].unknown, &less);
	if (lacking && !less.len)
		buf__printf(&less, "this kernel has no %s", lacking);
	if (session_feed__try(events, &less) && !lacking)
		add_finding(e, "evidence", FINDING_OK, "all that frbpf why reads can be recorded",
			    NULL);
	else
		add_finding(e, "evidence", FINDING_LESS, less.len ? less.data : strerror(ENOMEM),
			    NULL);
	buf__free(&less);
}

/* What `run = evidence` records here. */
static void examine_evidence(const struct examination *e)
{
	struct ruleset *rs = NULL;
	struct plan *p = NULL;

	if (!e->tracefs)
		add_finding(e, "evidence", FINDING_NO, "tracefs is not readable", NULL);
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
		format_finding(
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

/* See PERF_EVENT_IOC_SET_BPF: what such a program returns decides for all perf users. */
static void examine_neighbours(const struct examination *e)
{
	struct buf text = { 0 };
	struct plan *p = NULL;
	size_t n = 0;

	if (e->tracefs && !sessions_text(e->hint, &text) && !make_example_plan(e, text.data, &p))
		for (size_t i = 0; i < p->n_sessions; i++)
			n += examine_events(e, p->sessions[i].events);
	if (p && !n)
		add_finding(e, "programs of others", FINDING_OK,
			    "none keeps events from our sessions", NULL);
	plan__free(p);
	buf__free(&text);
}

/*
 * Examine everything, and call @fn for each part. Rules of each source are attached for a moment,
 * with thresholds that nothing reaches, and the events of sessions are opened. The sessions of the
 * recorder that @hint finds are looked at, too, if we may ask it.
 */
static void doctor__examine(const struct location_hint *hint, finding_fn fn, void *arg)
{
	struct examination e = { .fn = fn, .arg = arg, .hint = hint };
	struct err err = { 0 };

	examine_kernel(&e);
	examine_privileges(&e);
	if (tracefs__open(&err, &e.tracefs))
		add_finding(&e, "tracepoints", FINDING_NO, err.msg, NULL);
	else
		add_finding(&e, "tracepoints", FINDING_OK, "tracefs is readable", NULL);
	examine_cycles(&e);
	examine_realtime(&e);
	examine_names(&e);
	examine_rules(&e);
	examine_evidence(&e);
	examine_confinement(&e);
	examine_cost(&e);
	examine_neighbours(&e);
	tracefs__free(e.tracefs);
}

struct report {
	json_t *findings; /* NULL: print them */
	size_t n[FINDING_NO + 1];
};

static const char *const level_names[] = {
	[FINDING_OK] = "ok",
	[FINDING_LESS] = "less",
	[FINDING_NO] = "no",
};

/* Print @text; its further lines are indented. */
static void print_lines(const char *text, int indent)
{
	for (const char *p = text; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("%*s", indent, "");
	}
	putchar('\n');
}

static void report__add(const struct finding *f, void *arg)
{
	struct report *r = arg;

	r->n[f->level]++;
	if (r->findings) {
		json_array_append_new(r->findings,
				      json_pack("{s:s, s:s, s:s, s:s*}", "part", f->part, "level",
						level_names[f->level], "text", f->text, "remedy",
						f->remedy));
		return;
	}
	printf("%-4s  %-24s  ", level_names[f->level], f->part);
	print_lines(f->text, 32);
	if (f->remedy) {
		printf("%30s> ", "");
		print_lines(f->remedy, 32);
	}
	fflush(stdout);
}

static int run_doctor(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	struct report r = { 0 };
	bool json = false;
	enum cmd_parse p;
	json_t *out;
	int opt;

	while ((p = cmd_next_option(&cmd_doctor, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION)
		json = true;
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_doctor, "it takes no arguments");
	r.findings = json ? json_array() : NULL;
	doctor__examine(&hint, report__add, &r);
	if (json) {
		out = json_pack("{s:b, s:o}", "ok", !r.n[FINDING_NO], "findings", r.findings);
		if (out && json_dumpf(out, stdout, JSON_INDENT(2)) == 0)
			putchar('\n');
		json_decref(out);
	} else {
		printf("\n%zu work%s, %zu with less, %zu not\n", r.n[FINDING_OK],
		       r.n[FINDING_OK] == 1 ? "s" : "", r.n[FINDING_LESS], r.n[FINDING_NO]);
	}
	return r.n[FINDING_NO] ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.run = run_doctor,
	.usage = "[--json]",
	.summary = "what this kernel and these privileges allow, and how to get the rest",
	.help = "Each line is one part. ok: it works. less: it works, but knows less or costs\n"
		"more. no: it does not work here. After > is the remedy. A rule of each source\n"
		"is attached for a moment; it cannot fire. evidence: what frbpf why reads can be\n"
		"recorded, or what why cannot tell then. BPF programs of other tools that take\n"
		"events from our sessions are listed. Exit status 1: a part does not work.\n\n"
		"      --json          everything as JSON\n",
};
