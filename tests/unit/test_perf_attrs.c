// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the attributes that perf makes of its lines on this machine (`perf evlist -v`) with
 * those that a session opens. A line that perf refuses here must be refused by us, too.
 * with: others
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "common/call_filter.h"
#include "common/cleanup.h"
#include "record/event_list.h"
#include "record/perf_options.h"
#include "writer_fixture.h"

/* Intended differences, and the reasons. */
static const struct {
	const char *key, *why;
} chosen[] = {
	{ "use_clockid", "one clock for all sessions: triggers are placed among samples" },
	{ "clockid", "the same" },
	{ "write_backward", "every ring is overwritable" },
	{ "{ wakeup_events, wakeup_watermark }", "nobody polls the rings" },
	{ "watermark", "the same" },
	{ "enable_on_exec", "a session runs no command" },
	{ "mmap", "the side band has its own events on all CPUs" },
	{ "mmap_data", "the same" },
	{ "mmap2", "the same" },
	{ "comm", "the same" },
	{ "comm_exec", "the same" },
	{ "task", "the same" },
	{ "ksymbol", "the same" },
	{ "bpf_event", "the same" },
	{ "namespaces", "the same" },
	{ "cgroup", "the same" },
	{ "build_id", "the same, and it spoils records of other perf users" },
	{ "context_switch", "on the first event, not on the side band's" },
};
/*
 * Bits of sample_type that all our events have. perf's events have them only where they are useful.
 * IDENTIFIER replaces ID.
 */
static const char *const everywhere[] = { "IP", "TID", "TIME", "CPU", "IDENTIFIER" };
#define TRACKING "dummy:HG" /* of the side band, which perf adds */

/* PID: of this test. */
static const char *const lines[] = {
	"-e cpu-clock",
	"-a -e cpu-clock",
	"-a -C 0 -e cpu-clock",
	"-e cpu-clock -c 1000000",
	"-e cpu-clock -F 99",
	"-e cpu-clock/period=1234567,name=foo/",
	"-e cpu-clock/freq=50,call-graph=fp/",
	"-e cpu-clock/call-graph=dwarf,stack-size=4096/",
	"-e cpu-clock:u",
	"-e cpu-clock:k",
	"-e cpu-clock:uk",
	"-e cpu-clock:HG",
	"-e cpu-clock:D",
	"-e cpu-clock:I",
	"--all-user -e cpu-clock",
	"--all-kernel -e cpu-clock",
	"-g -e cpu-clock",
	"--call-graph dwarf -e cpu-clock",
	"--call-graph dwarf,65528 -e cpu-clock",
	"--call-graph fp,16 -e cpu-clock",
	"-g --kernel-callchains -e cpu-clock",
	"-g --user-callchains -e cpu-clock",
	"-d -e cpu-clock",
	"-d --phys-data -e page-faults",
	"-W -e cpu-clock",
	"-T -e cpu-clock",
	"--no-timestamp -e cpu-clock",
	"-i -e cpu-clock",
	"-s -e cpu-clock",
	"-P -e cpu-clock -c 1000000",
	"--no-period -e cpu-clock",
	"--sample-cpu -e cpu-clock",
	"-R -e cpu-clock",
	"--sample-identifier -e cpu-clock",
	"-n -e cpu-clock",
	"--running-time -e cpu-clock",
	"-k mono -e cpu-clock",
	"-k CLOCK_BOOTTIME -e cpu-clock",
	"--namespaces -e cpu-clock",
	"--all-cgroups -e cpu-clock",
	"--switch-events -e cpu-clock",
	"--buildid-mmap -e cpu-clock",
	"--overwrite -e cpu-clock",
	"-e cpu-clock/overwrite/ -e task-clock",
	"--overwrite -e cpu-clock/no-overwrite/ -e task-clock",
	"-e cpu-clock/no-inherit/",
	"-e {cpu-clock,task-clock}",
	"-e {cpu-clock,task-clock}:S",
	"-e {cpu-clock/freq=99/,page-faults}:S -g",
	"-e sched:sched_switch",
	"-e sched:sched_switch -c 10",
	"-e sched:sched_switch/call-graph=no/ -g",
	"-e sched:sched_switch:u",
	"-e sched:sched_wak*",
	"-e sched:sched_switch -F 100",
	"-e bpf-output",
	"-e dummy",
	"-e dummy:u",
	"--per-thread -e cpu-clock -t PID",
	"-p PID -e cpu-clock",
	"-t PID -e cpu-clock",
	"-u nobody -e cpu-clock",
	"-a -D 10 -e cpu-clock",
	"-D 10 -e cpu-clock",
	"--no-buffering -e cpu-clock",
	"-I -e cpu-clock",
	"--user-regs=ip,sp -e cpu-clock",
	"--data-page-size --code-page-size -e cpu-clock",
	"-b -e cpu-clock",
	"-e cpu-clock -F max",
	"-e software/config=0/",
	"-e 1:0",
	"-e context-switches,cs,faults",
	"-e mem:0x1000:rw",
	"-e uprobe/config=0x0/",
	"-e r1a8",
	"-e cycles",
	/* further lines */
	"",
	"-a",
	"-e duration_time",
	"-e user_time",
	"-e {cpu-clock:u,task-clock}:k",
	"-e cpu-clock:S",
	"-e cpu-clock:S --running-time",
	"-e cpu-clock -e task-clock --group",
	"-a -e mem:0x1000:w:u",
	"-a -e mem:0x1000",
	"-e cpu-clock -g -n",
	"--call-graph dwarf -e cpu-clock/call-graph=no/",
	"--call-graph dwarf -e cpu-clock/call-graph=fp/",
	"-g --user-regs=ip -e cpu-clock --call-graph dwarf",
	"-a -e cpu-clock -D 10-20",
	"-e dummy -I",
	"-e sched:sched_switch -n",
	"-e cpu-clock/config1=5,config2=6/",
	"-e cpu-clock:W",
	"-e cpu-clock/nr=3/",
	"-e cpu-clock/percore/",
	"-e cpu-clock/metric-id=a/",
	"-e cpu-clock/time=0/",
	"-e g{cpu-clock,task-clock}",
	"-e {cpu-clock/freq=100/,task-clock/freq=200/}:S",
	"-e {cpu-clock,task-clock}:W",
	"-P -e cpu-clock/period=100/",
	"-e cpu-clock/period=100000/ --no-period",
	"-e cpu-clock -R -e cs",
	"--all-cgroups --transaction -e cs",
	"-e page-faults --phys-data",
	"-e bpf-output -n",
	"-i --inherit -e cpu-clock",
	"-t PID --inherit -e cpu-clock",
	"-e sched:sched_switch --filter prev_pid!=0",
	"-e sched:sched_switch --exclude-perf",
};

#define N_LINES (ARRAY_SIZE(lines))

/*
 * Sanitizers look for memory errors, not for differences: a part of the lines is enough for them.
 */
#define LINES_STEP (IS_SANITIZED ? 8 : 1)

static bool is_chosen(const char *key, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(chosen); i++) {
		if (strlen(chosen[i].key) == len && !memcmp(chosen[i].key, key, len))
			return true;
	}
	return false;
}

static bool is_everywhere(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(everywhere); i++) {
		if (strlen(everywhere[i]) == len && !memcmp(everywhere[i], word, len))
			return true;
	}
	return len == 2 && !memcmp(word, "ID", 2);
}

/*
 * Add the bits "A
 * B
 * C" without those that every event has.
 */
static void add_sample_type(struct buf *b, const char *v, size_t len)
{
	while (len) {
		const char *bar = memchr(v, '|', len);
		size_t n = bar ? (size_t)(bar - v) : len;

		if (!is_everywhere(v, n))
			buf__printf(b, "%.*s|", (int)n, v);
		len -= bar ? n + 1 : n;
		v += bar ? n + 1 : n;
	}
}

/* One event as text, without intended differences. */
static void add_event(struct buf *b, const char *line)
{
	const char *at = strstr(line, ": type: ");
	int depth = 0;

	assert_non_null(at);
	buf__printf(b, "%.*s:", (int)(at - line), line);
	for (const char *key = at + 2, *end; *key; key = *end ? end + 2 : end) {
		const char *value;

		for (end = key, depth = 0; *end && (*end != ',' || depth); end++)
			depth += *end == '{' ? 1 : *end == '}' ? -1 : 0;
		for (value = key, depth = 0; *value != ':' || depth; value++)
			depth += *value == '{' ? 1 : *value == '}' ? -1 : 0;
		if (is_chosen(key, value - key))
			continue;
		buf__printf(b, " %.*s=", (int)(value - key), key);
		if (!strncmp(key, "sample_type", value - key))
			add_sample_type(b, value + 2, end - value - 2);
		else
			buf__printf(b, "%.*s", (int)(end - value - 2), value + 2);
	}
	buf__add_str(b, "\n");
}

/* `perf evlist -v` of a file; "" if perf fails. */
static void read_evlist(const struct fixture *x, const char *file, struct buf *ret)
{
	struct buf out = { 0 };
	char cmd[256], path[128], *save, *line;

	/* we sort the events of a glob by name, like newer versions of perf */
	snprintf(cmd, sizeof(cmd),
		 "cd %s && PERF_PAGER=cat perf evlist -v -i %s 2>err </dev/null | sort >out",
		 x->dir, file);
	if (system(cmd))
		return;
	snprintf(path, sizeof(path), "%s/out", x->dir);
	assert_int_equal(buf__read_file(&out, path, 1 << 20), 0);
	assert_int_equal(buf__add_zero(&out, 1), 0);
	for (line = strtok_r(out.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (*line != '#' && strncmp(line, TRACKING, strlen(TRACKING)) != 0)
			add_event(ret, line);
	}
	buf__free(&out);
}

static void with_pid(const char *line, char *buf, size_t size)
{
	const char *pid = strstr(line, "PID");

	if (pid)
		snprintf(buf, size, "%.*s%d%s", (int)(pid - line), line, getpid(), pid + 3);
	else
		snprintf(buf, size, "%s", line);
}

/*
 * Every perf record reads all of /proc/kallsyms, which takes most of its time. Where possible,
 * replace that file by a short one.
 */
static void shorten_kallsyms(const struct fixture *x)
{
	char path[128], cmd[256];

	snprintf(path, sizeof(path), "%s/kallsyms", x->dir);
	snprintf(cmd, sizeof(cmd), "grep -E ' (_text|_stext|_etext)$' /proc/kallsyms >%s", path);
	if (system(cmd) || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(path, "/proc/kallsyms", NULL, MS_BIND, NULL))
		print_message("perf reads the whole of /proc/kallsyms\n");
}

/*
 * Let perf record each line into a numbered file, several at a time, as it mostly waits. BPF events
 * would make each run wait for a second at its end.
 */
static void record_lines(const struct fixture *x)
{
	char path[128], text[512];
	FILE *f;

	shorten_kallsyms(x);
	snprintf(path, sizeof(path), "%s/lines", x->dir);
	f = fopen(path, "we");
	assert_non_null(f);
	for (size_t i = 0; i < N_LINES; i += LINES_STEP) {
		with_pid(lines[i], text, sizeof(text));
		fprintf(f, "%zu %s\n", i, text);
	}
	assert_int_equal(fclose(f), 0);
	snprintf(text, sizeof(text),
		 "cd %s && xargs -P 12 -d '\\n' -I{} sh -c 'set -f; set -- {}; n=$1; shift; "
		 "perf record -B -N --synth=no --no-bpf-event -o theirs.$n \"$@\" -- true || :' "
		 "<lines >log 2>&1",
		 x->dir);
	system(text); /* lines that perf refuses fail */
}

/* Open it once, to drop what this kernel lacks. False: an event is refused. */
static bool open_event_list(struct event_list *l)
{
	bool ok = true;

	for (size_t i = 0; i < l->n && ok; i++) {
		struct err err = { 0 };
		int fd = event__open(&l->v[i], 0, &err, NULL);

		ok = fd >= 0;
		if (ok)
			close(fd);
		else
			print_message("%s\n", err.msg);
	}
	return ok;
}

static void write_attrs(struct fixture *x, const struct event_list *l)
{
	struct perfdata_attr *attrs = calloc(l->n, sizeof(*attrs));
	struct perfdata_format *formats = calloc(l->n, sizeof(*formats));
	struct perfdata_features features = { .host = x->host };
	struct perfdata_tracing tracing = { 0 };
	uint64_t *ids = calloc(l->n, sizeof(*ids)), size;
	struct perfdata_writer *w = NULL;

	features.tracing = &tracing;
	for (size_t i = 0; i < l->n; i++) {
		const struct event *ev = &l->v[i];

		ids[i] = i + 1;
		attrs[i] = (struct perfdata_attr){ &ev->attr, ev->name, &ids[i], 1, NULL };
		if (!ev->tp)
			continue;
		formats[i] = (struct perfdata_format){ ev->tp->system, ev->tp->name, ev->tp->format,
						       ev->tp->format_len };
		attrs[i].format = &formats[i];
	}
	unlinkat(x->dirfd, "ours", 0);
	assert_int_equal(perfdata__create(x->dirfd, "tmp", attrs, l->n, &x->err, &w), 0);
	assert_int_equal(perfdata__finish(w, &features, &x->err), 0);
	assert_int_equal(perfdata__publish(w, "ours", &size, &x->err), 0);
	perfdata__free(w);
	free(attrs);
	free(formats);
	free(ids);
}

/* The attributes that a session opens; "" if it is refused. */
static void attrs_of_ours(struct fixture *x, const char *line, struct tracefs *tracefs,
			  struct buf *ret)
{
	struct record_opts *o = NULL;
	struct event_list *l = NULL;
	struct source_text *src;
	struct diags d = { 0 };

	assert_int_equal(source_text__from_string("run", line, &src), 0);
	if (!record_opts__parse(src, (struct span){ 0, src->len }, getpagesize(), &d, &o) &&
	    !event_list__resolve(o, src, tracefs, &d, &l) && open_event_list(l)) {
		write_attrs(x, l);
		read_evlist(x, "ours", ret);
	}
	for (size_t i = 0; i < d.n; i++) {
		if (d.v[i].level == DIAG_ERROR)
			print_message("%s: %s\n", line, d.v[i].msg);
	}
	event_list__free(l);
	record_opts__free(o);
	diags__free(&d);
	source_text__free(src);
}

static void need_perf_and_root(void)
{
	if (geteuid() || system("command -v perf >/dev/null 2>&1")) {
		print_message("needs root and perf: skipped\n");
		skip();
	}
}

/* Compare one line. Returns 1 if equal, 0 if perf refuses it. */
static size_t compare_line(struct fixture *x, size_t n, struct tracefs *tracefs)
{
	struct buf theirs = { 0 }, ours = { 0 };
	char text[256], file[32];
	size_t equal;

	with_pid(lines[n], text, sizeof(text));
	snprintf(file, sizeof(file), "theirs.%zu", n);
	read_evlist(x, file, &theirs);
	attrs_of_ours(x, text, tracefs, &ours);
	equal = theirs.len > 0;
	if (equal) {
		assert_int_equal(buf__add_zero(&theirs, 1), 0);
		assert_int_equal(buf__add_zero(&ours, 1), 0);
		if (strcmp(theirs.data, ours.data) != 0)
			fail_msg("%s\nperf: %s\nours: %s", lines[n], theirs.data, ours.data);
	} else {
		print_message("perf refuses here: %s\n", lines[n]);
		if (ours.len)
			fail_msg("perf refuses it, and we do not: %s", lines[n]);
	}
	buf__free(&theirs);
	buf__free(&ours);
	return equal;
}

static void test_attrs_are_those_of_perf(void **state)
{
	size_t equal = 0;
	struct fixture *x = *state;
	struct tracefs *tracefs;
	struct err err;

	need_perf_and_root();
	assert_int_equal(tracefs__open(&err, &tracefs), 0);
	record_lines(x);
	for (size_t i = 0; i < N_LINES; i += LINES_STEP)
		equal += compare_line(x, i, tracefs);
	tracefs__free(tracefs);
	print_message("%zu of %zu lines equal\n", equal, N_LINES);
	assert_true(equal > 50 / LINES_STEP);
}

/* The table has exactly the options that `perf record -h` shows, with their letters. */
static void test_table_has_every_option(void **state)
{
	struct fixture *x = *state;
	struct buf help = { 0 };
	char path[128], cmd[128], want[64];

	need_perf_and_root();
	snprintf(cmd, sizeof(cmd), "cd %s && perf record -h >out 2>&1", x->dir);
	system(cmd);
	snprintf(path, sizeof(path), "%s/out", x->dir);
	assert_int_equal(buf__read_file(&help, path, 1 << 20), 0);
	assert_int_equal(buf__add_zero(&help, 1), 0);
	for (size_t i = 0; i < N_PERF_OPTIONS; i++) {
		const struct perf_option *o = &perf_options[i];

		if (o->letter && o->name)
			snprintf(want, sizeof(want), "\n    -%c, --%s", o->letter, o->name);
		else if (o->letter)
			snprintf(want, sizeof(want), "\n    -%c ", o->letter);
		else
			snprintf(want, sizeof(want), "\n        --%s", o->name);
		if (!strstr(help.data, want))
			print_message("not of this perf: %s\n", want + 1);
	}
	for (const char *at = help.data; (at = strstr(at, "\n    ")); at++) {
		const char *name = at + 5 + strspn(at + 5, " ");
		bool known = *name != '-';

		for (size_t i = 0; i < N_PERF_OPTIONS && !known; i++) {
			const struct perf_option *o = &perf_options[i];
			size_t len = o->name ? strlen(o->name) : 0;
			const char *full = name[1] == '-' ? name + 2 : name + 6;

			known = len ? !strncmp(full, o->name, len) && strchr("[ <\n", full[len])
				    : name[1] == o->letter && name[2] == ' ';
		}
		if (!known)
			fail_msg("perf has an option more: %.40s", name);
	}
	buf__free(&help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_table_has_every_option, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attrs_are_those_of_perf, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
