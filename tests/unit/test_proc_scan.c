// SPDX-License-Identifier: GPL-2.0-only
/* Scans this machine, and compares with what this process knows of itself. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "perfdata/record.h"
#include "sideband/cgroup_scan.h"
#include "sideband/proc_scan.h"

/* "comm/tid " and "start-end pgoff name\n" of a process, from the model. */
static char *shown(const struct task_model *m, uint32_t pid, const uint32_t *tids, size_t n)
{
	struct buf out = { 0 }, text = { 0 };
	const struct perf_event_header *h;
	size_t off;

	buf__add_str(&text, "");
	assert_int_equal(task_model__emit_process(m, pid, tids, n, 1, &out), 0);
	for (off = 0; off < out.len; off += h->size) {
		const struct record_comm *comm;
		const struct record_mmap2 *r;

		h = (const void *)(out.data + off);
		comm = (const void *)h;
		r = (const void *)h;
		if (h->type == PERF_RECORD_COMM)
			buf__printf(&text, "%s/%u\n", comm->comm, comm->tid);
		if (h->type == PERF_RECORD_MMAP2)
			buf__printf(&text, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %s\n", r->start,
				    r->start + r->len, r->pgoff, r->filename);
	}
	buf__free(&out);
	return text.data;
}

/* @text has every executable line of /proc/self/maps, and nothing else. */
static void compare_with_maps(const char *text)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096], name[4096], wanted[8192];
	uint64_t start, end, pgoff, ino;
	unsigned int maj, min;
	size_t n = 0, shows = 0;
	const char *s;
	char perms[8];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		assert_true(sscanf(line,
				   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64
				   " %4095[^\n]",
				   &start, &end, perms, &pgoff, &maj, &min, &ino, name) >= 7);
		/* [vsyscall] is emulated, so it never has samples */
		if (perms[2] != 'x' || !strcmp(name, "[vsyscall]"))
			continue;
		snprintf(wanted, sizeof(wanted), "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %s\n", start,
			 end, pgoff, name[0] ? name : "//anon");
		if (!strstr(text, wanted))
			fail_msg("missing: %s", wanted);
		n++;
	}
	fclose(f);
	assert_true(n > 3);
	for (s = text; (s = strchr(s, '\n')); s++)
		shows++;
	assert_int_equal(shows, n + 2); /* and the two comms */
}

static void *named_thread(void *arg)
{
	prctl(PR_SET_NAME, "second) (x");
	*(uint32_t *)arg = gettid();
	kill(getpid(), SIGUSR1);
	for (;;)
		pause();
	return NULL;
}

static void test_self(void **state)
{
	void *anon = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t pid = getpid(), tid = 0;
	struct task_model *m;
	pthread_t thread;
	sigset_t set;
	char *text;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_NAME, "proc scan)");
	assert_int_equal(pthread_create(&thread, NULL, named_thread, &tid), 0);
	sigwait(&set, &sig);
	assert_int_equal(task_model__new(&m), 0);
	assert_int_equal(proc_scan__process(m, pid), 0);
	text = shown(m, pid, &tid, 1);
	assert_non_null(strstr(text, "proc scan)/"));
	assert_non_null(strstr(text, "second) (x/"));
	assert_non_null(strstr(text, "//anon"));
	compare_with_maps(text);
	free(text);
	task_model__free(m);
	munmap(anon, 8192);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

static void test_all(void **state)
{
	struct task_model *m;
	uint64_t begin, since;
	char *text;

	assert_int_equal(task_model__new(&m), 0);
	begin = now_ns();
	assert_int_equal(proc_scan__tasks(m, false, 2, NULL), 0);
	assert_true(task_model__since(m, getpid(), &since));
	assert_in_range(since, begin, now_ns());
	assert_true(task_model__n_processes(m) > 2);
	text = shown(m, 2, NULL, 0); /* 2 is a kernel thread in the initial namespace */
	assert_true(strncmp(text, "kthreadd/2\n", 11) != 0 || strlen(text) == 11);
	free(text);
	task_model__free(m);
}

/*
 * The EXIT record of a zombie was written before the scan. No later record would remove it from the
 * model.
 */
static void test_zombie(void **state)
{
	struct task_model *m;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(task_model__new(&m), 0);
	assert_int_equal(proc_scan__process(m, pid), 0);
	assert_int_equal(task_model__n_processes(m), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_scan__process(m, pid), 0); /* the process is gone */
	assert_int_equal(task_model__n_processes(m), 0);
	task_model__free(m);
}

static void test_namespaces(void **state)
{
	struct buf out = { 0 };
	const struct perf_event_header *h;
	struct task_model *m;
	bool found = false;
	struct stat st;
	size_t off;

	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	assert_int_equal(task_model__new(&m), 0);
	assert_int_equal(proc_scan__process(m, getpid()), 0);
	assert_int_equal(task_model__emit_process(m, getpid(), NULL, 0, 1, &out), 0);
	for (off = 0; off < out.len; off += h->size) {
		h = (const void *)(out.data + off);
		if (h->type == PERF_RECORD_NAMESPACES) {
			const struct record_namespaces *r = (const void *)h;

			assert_int_equal(r->nr, 7);
			assert_int_equal(r->ns[5].ino, st.st_ino);
			found = true;
		}
	}
	assert_true(found);
	buf__free(&out);
	task_model__free(m);
}

/* The id of a cgroup is the inode number of its directory. */
static void test_cgroups(void **state)
{
	struct kernel_state k = { 0 };
	struct buf out = { 0 };
	const struct record_cgroup *r;

	assert_int_equal(cgroup_scan__tree(&k), 0);
	if (!kernel_state__n_cgroups(&k)) {
		print_message("no cgroups here\n");
		skip();
	}
	assert_int_equal(kernel_state__emit(&k, 7, &out), 0);
	r = (const void *)out.data;
	assert_int_equal(r->header.type, PERF_RECORD_CGROUP);
	assert_string_equal(r->path, "/");
	assert_true(r->id > 0);
	buf__free(&out);
	kernel_state__free(&k);
	assert_int_equal(k.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),	cmocka_unit_test(test_all),
		cmocka_unit_test(test_zombie),	cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
