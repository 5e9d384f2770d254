// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/doctor_core.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/landlock.h"
#include "common/realtime.h"
#include "common/rights.h"
#include "daemon/rule_binding.h"
#include "detect/detectors.h"
#include "detect/engine/load_error.h"
#include "examine/probe/probe_reader.h"
#include "record/privilege.h"

#define SYMBOLS_LOOKED_AT 4096

void finding__add(const struct examination *e, const char *part, enum finding_level level,
		  const char *text, const char *remedy)
{
	e->fn(&(struct finding){ part, level, text, remedy }, e->arg);
}

void finding__format(const struct examination *e, const char *part, enum finding_level level,
		     const char *remedy, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	finding__add(e, part, level, text, remedy);
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
		finding__format(e, "kernel", FINDING_OK, NULL, "%s %s, %s, %ld CPUs", un.sysname,
				un.release, un.machine, sysconf(_SC_NPROCESSORS_ONLN));
	if (load_error__check_kernel(&err))
		finding__add(e, "type information", FINDING_NO, err.msg, NULL);
	read_kernel_line("/sys/kernel/security/lockdown", line, sizeof(line));
	if (strstr(line, "[confidentiality]"))
		finding__add(e, "lockdown", FINDING_NO,
			     "the kernel hides its memory from perf events and BPF programs",
			     "boot with lockdown=integrity, or without Secure Boot");
}

static void examine_privileges(const struct examination *e)
{
	const struct privilege *missing[PRIVILEGES_MAX];
	size_t n = privilege__missing(missing);
	struct buf remedy = { 0 };

	if (!n)
		finding__add(e, "privileges", FINDING_OK, "all capabilities that recording needs",
			     NULL);
	else if (privilege__remedy(&remedy))
		buf__free(&remedy);
	for (size_t i = 0; i < n; i++)
		finding__format(e, "privileges", missing[i]->must ? FINDING_NO : FINDING_LESS,
				i == n - 1 ? remedy.data : NULL, "%s is missing: %s",
				missing[i]->name, missing[i]->why);
	buf__free(&remedy);
}

/* ---- rules ---- */

/* A rule for each source, with a threshold that nothing reaches. */
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
		finding__add(e, part, FINDING_NO, code ? err.msg : strerror(ENOMEM), NULL);
	ruleset__free(rs);
	diags__free(&diags);
}

/* Try a rule on a function of this program, which nobody else calls. */
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
		finding__add(e, "rules", FINDING_NO, err.msg, NULL);
	} else {
		for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
			try_rule(e, d, trials[i].source, trials[i].when, trials[i].condition,
				 &works);
		try_uprobe(e, d, &works);
		detectors__free(d);
	}
	if (works.len)
		finding__format(e, "rules", FINDING_OK, NULL, "attached: %s", works.data);
	buf__free(&works);
	probe_reader__use(NULL);
	examiner__free(examiner);
}

/* ---- recording ---- */

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
		finding__add(e, "real time", FINDING_OK, "SCHED_FIFO for the thread that freezes",
			     NULL);
	else
		finding__add(
			e, "real time", FINDING_LESS,
			"SCHED_FIFO is refused: on a busy machine a window may be frozen "
			"milliseconds late",
			"needs CAP_SYS_NICE; with CONFIG_RT_GROUP_SCHED also cpu.rt_runtime_us of "
			"the cgroup");
}

/* Does one of the first symbols have an address? Per-CPU variables, which come first, have 0. */
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
		finding__add(e, "names of the kernel", FINDING_OK, "/proc/kallsyms has addresses",
			     NULL);
	else
		finding__add(
			e, "names of the kernel", FINDING_LESS,
			"/proc/kallsyms hides addresses: kernel functions have no names in dumps",
			"needs CAP_SYSLOG, or kernel.kptr_restrict=0");
}

static void examine_cost(const struct examination *e)
{
	if (sysctl__kernel("bpf_stats_enabled", 0))
		finding__add(e, "cost", FINDING_LESS,
			     "the kernel measures each run of a BPF program",
			     "sysctl kernel.bpf_stats_enabled=0");
	if (sysctl__kernel("perf_event_max_sample_rate", 100000) < 1000)
		finding__add(e, "cost", FINDING_LESS,
			     "the kernel limits perf events to fewer than 1000 samples a second",
			     "sysctl kernel.perf_event_max_sample_rate=100000");
}

static void examine_confinement(const struct examination *e)
{
	if (landlock__version())
		finding__add(e, "confinement", FINDING_OK,
			     "seccomp and Landlock limit the recorder", NULL);
	else
		finding__add(e, "confinement", FINDING_LESS,
			     "no Landlock here: only seccomp and capabilities limit the recorder",
			     "boot with landlock in lsm= (CONFIG_SECURITY_LANDLOCK=y)");
}

/* ---- everything ---- */

void doctor__examine(const struct location_hint *hint, finding_fn fn, void *arg)
{
	struct examination e = { .fn = fn, .arg = arg, .hint = hint };
	struct err err = { 0 };

	examine_kernel(&e);
	examine_privileges(&e);
	if (tracefs__open(&err, &e.tracefs))
		finding__add(&e, "tracepoints", FINDING_NO, err.msg, NULL);
	else
		finding__add(&e, "tracepoints", FINDING_OK, "tracefs is readable", NULL);
	doctor_sessions__cycles(&e);
	examine_realtime(&e);
	examine_names(&e);
	examine_rules(&e);
	doctor_sessions__evidence(&e);
	examine_confinement(&e);
	examine_cost(&e);
	doctor_sessions__neighbours(&e);
	tracefs__free(e.tracefs);
}
