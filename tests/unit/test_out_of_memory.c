// SPDX-License-Identifier: GPL-2.0-only
/* If any single allocation fails, the code for tracepoints reports that and ends cleanly. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "cmd/cmd.h"
#include "daemon/control.h"
#include "detect/tracepoint/event_format.h"
#include "failing_alloc.h"

#define STEP	   97 /* `check`: test one in so many of its allocations */
#define LOADS	   6 /* `load`: test so many of the places that allocate; FRBPF_LONG: LOADS_LONG;
		      * =all: each */
#define LOADS_LONG 200
#define HANGS_MAX  120 /* s */

static void need_failures(void)
{
	if (ALLOC_CAN_FAIL)
		return;
	print_message("skipped: allocations cannot be made to fail in this build\n");
	skip();
}

static void test_format(void **state)
{
	static const char text[] =
		"name: test\nID: 1\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:char b[16];\toffset:12;\tsize:16;\tsigned:0;\n\n"
		"print fmt: \"%s %s\", __print_symbolic(REC->a, { 1, \"ONE\" }, { 2, \"TWO\" }), "
		"REC->b\n";
	int err = -ENOMEM;
	long n;

	need_failures();
	for (n = 1; err; n++) {
		struct event_format *f = NULL;

		assert_true(n < 1000);
		alloc__fail_nth(n);
		err = event_format__parse(text, strlen(text), &f);
		alloc__fail_nth(0);
		assert_int_equal(err, f ? 0 : -ENOMEM);
		event_format__free(f);
	}
	assert_true(n > 5);
}

/*
 * Run `check --json` on @rules without its @n-th allocation; messages go to @messages, the plan to
 * @out. Returns the wait status.
 */
static int check(char *rules, long n, int messages, int out, long *ret_allocations)
{
	long *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *argv[] = { "check", "--json", rules, NULL };
	int status = -1;
	pid_t pid;

	assert_true(shared != MAP_FAILED);
	assert_int_equal(ftruncate(messages, 0), 0);
	lseek(messages, 0, SEEK_SET);
	assert_int_equal(ftruncate(out, 0), 0);
	lseek(out, 0, SEEK_SET);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_DFL);
		alarm(HANGS_MAX);
		dup2(messages, STDERR_FILENO);
		dup2(out, STDOUT_FILENO);
		alloc__fail_nth(n);
		status = cmd_check.run(3, argv);
		fflush(stdout);
		*shared = alloc.done;
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*ret_allocations = *shared;
	munmap(shared, sizeof(*shared));
	return status;
}

static void test_check(void **state)
{
	static const char text[] = "[session-s]\nrun = -e dummy --overwrite --switch-output -a\n"
				   "[rule-a]\nwhen = sock:inet_sock_set_state\n"
				   "if = newstate == TCP_CLOSE && protocol == IPPROTO_TCP\n"
				   "[rule-b]\nwhen = signal:signal_generate\nif = sig == SIGSEGV\n"
				   "[rule-c]\nwhen = kmem:mm_page_alloc\n"
				   "if = order > 3 && gfp_flags & __GFP_ZERO\n";
	char rules[] = "/tmp/frbpf-memory-XXXXXX", said[] = "/tmp/frbpf-memory-XXXXXX",
	     out[] = "/tmp/frbpf-memory-XXXXXX";
	int rules_fd, said_fd, out_fd, status;
	off_t whole;
	long total, n_allocations;

	need_failures();
	if (access("/sys/kernel/tracing/events/kmem/mm_page_alloc/format", R_OK) ||
	    access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("skipped: needs tracefs and kernel BTF\n");
		skip();
	}
	rules_fd = mkstemp(rules);
	said_fd = mkstemp(said);
	out_fd = mkstemp(out);
	assert_true(rules_fd >= 0 && said_fd >= 0 && out_fd >= 0);
	unlink(said);
	unlink(out);
	assert_int_equal(write(rules_fd, text, strlen(text)), strlen(text));
	status = check(rules, 0, said_fd, out_fd, &total);
	whole = lseek(out_fd, 0, SEEK_END);
	for (long n = 1; !status && n <= total; n += STEP) {
		int end = check(rules, n, said_fd, out_fd, &n_allocations);

		off_t printed = lseek(out_fd, 0, SEEK_END);

		if (!WIFEXITED(end) || (!WEXITSTATUS(end) && printed != whole) ||
		    (WEXITSTATUS(end) && !printed && !lseek(said_fd, 0, SEEK_END))) {
			print_error("allocation %ld of %ld: status %#x, %ld bytes said\n", n, total,
				    end, (long)lseek(said_fd, 0, SEEK_END));
			unlink(rules);
			fail();
		}
	}
	unlink(rules);
	close(rules_fd);
	close(said_fd);
	close(out_fd);
	assert_int_equal(status, 0);
	assert_true(total > STEP);
}

/* ---- load ---- */

struct load_run {
	char base[32], rules[48], control[48];
	int said; /* a file: the log goes there */
};

/* Wait until the daemon @pid answers. False: it ended instead. */
static bool load_run__answers(const struct load_run *r, pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, WNOHANG) == 0) {
		struct err err;
		json_t *reply;

		if (control__request(r->control, json_pack("{s:s}", "cmd", "status"), &err,
				     &reply) == 0) {
			json_decref(reply);
			return true;
		}
		poll(NULL, 0, 10);
	}
	return false;
}

/* Run `load -f` until it answers, without allocation @at of @place. Returns the wait status. */
static int load_run__do(const struct load_run *r, uint64_t place, long at)
{
	char *argv[] = { "load", "-f", "--base", (char *)r->base, (char *)r->rules, NULL };
	int status = -1;
	pid_t pid;

	assert_int_equal(ftruncate(r->said, 0), 0);
	lseek(r->said, 0, SEEK_SET);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_DFL);
		alarm(HANGS_MAX);
		dup2(r->said, STDERR_FILENO);
		dup2(r->said, STDOUT_FILENO);
		alloc__fail_at(place, at);
		status = cmd_load.run(5, argv);
		fflush(stdout);
		_exit(status);
	}
	if (load_run__answers(r, pid, &status)) {
		kill(pid, SIGTERM);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	return status;
}

static void load_run__begin(struct load_run *r)
{
	static const char text[] =
		"[session-s]\nrun = -e cpu-clock -F 99 -m 16K --overwrite --switch-output -a\n"
		"[rule-a]\nwhen = sock:inet_sock_set_state\n"
		"if = newstate == TCP_CLOSE && protocol == IPPROTO_TCP\n"
		"[rule-b]\nwhen = signal:signal_generate\nif = sig == SIGSEGV && comm == "
		"frbpf-none\n"
		"[rule-c]\nwhen = syscall:fsync > 100s\n[rule-d]\nwhen = runqlat > 100s\n";
	int fd;

	strcpy(r->base, "/tmp/frbpf-memory-XXXXXX");
	assert_non_null(mkdtemp(r->base));
	snprintf(r->rules, sizeof(r->rules), "%s/rules.conf", r->base);
	snprintf(r->control, sizeof(r->control), "%s/control", r->base);
	fd = open(r->rules, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	r->said = memfd_create("said", MFD_CLOEXEC);
	assert_true(r->said >= 0);
}

static void load_run__end(struct load_run *r)
{
	char command[64];

	close(r->said);
	snprintf(command, sizeof(command), "rm -rf %s", r->base);
	assert_int_equal(system(command), 0);
}

static void load_run__report(const struct load_run *r, const struct place *p, long at, int end)
{
	char text[4096];
	ssize_t len = pread(r->said, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	print_error("allocation %ld of %ld from %#lx: status %#x: %s\n", at, p->n, p->id, end,
		    text);
}

/* Does `load` end well without allocation @at of that place? */
static bool load_run__ends_well(const struct load_run *r, const struct place *p, long at)
{
	int end = load_run__do(r, p->id, at);

	if (WIFEXITED(end) && (!WEXITSTATUS(end) || lseek(r->said, 0, SEEK_END)))
		return true;
	load_run__report(r, p, at, end);
	return false;
}

/* Move used places to the front. Returns their number. */
static long places__pack(struct place *places)
{
	long n = 0;

	for (long i = 0; i < PLACES_MAX; i++) {
		if (places[i].id)
			places[n++] = places[i];
	}
	return n;
}

/* Of @n places, test each of how many? */
static long load_step(long n)
{
	const char *how = getenv("FRBPF_LONG");

	if (how && !strcmp(how, "all"))
		return 1;
	return n / (how ? LOADS_LONG : LOADS) + 1;
}

/*
 * At each place, the first allocation fails, then the last one. The last one tests that earlier
 * ones are freed.
 */
static void test_load(void **state)
{
	long n, step, tried = 0, failures = 0, total = 0;
	struct place *places;
	struct load_run r;
	int end;

	need_failures();
	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK) ||
	    access("/sys/kernel/tracing/events/sock/inet_sock_set_state/format", R_OK)) {
		print_message("skipped: needs root, tracefs and kernel BTF\n");
		skip();
	}
	load_run__begin(&r);
	places = places__new();
	assert_non_null(places);
	alloc.places = places;
	end = load_run__do(&r, 0, 0);
	alloc.places = NULL;
	if (end)
		load_run__report(&r, places, 0, end);
	n = places__pack(places);
	step = load_step(n);
	for (long i = 0; i < n; i++)
		total += places[i].n;
	/* a run tests other places than the run before */
	for (long i = getpid() % step; !end && i < n; i += step) {
		tried++;
		failures += !load_run__ends_well(&r, &places[i], 1);
		if (places[i].n > 1)
			failures += !load_run__ends_well(&r, &places[i], places[i].n);
	}
	print_message("# %ld of %ld places failed, which make %ld allocations\n", tried, n, total);
	load_run__end(&r);
	assert_int_equal(end, 0);
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
