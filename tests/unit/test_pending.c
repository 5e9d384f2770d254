// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules on events that have begun and not ended, on the real kernel. test_pending_cases.c tests
 * what holds for each source; this file tests special cases.
 * Independent of speed: once a look has found a later event, it has also examined the earlier ones.
 * with: others
 */
#include <setjmp.h>

#include "pending_sources.h"
#include "temp_tree.h"

static struct rule_conf of_subject(uint64_t id, const char *when, const char *and)
{
	char condition[128];

	snprintf(condition, sizeof(condition), "comm == \"%s\"%s", subject_name(), and);
	return rule_when(id, when, condition);
}

/* Waits at the pipe only: the tasks may also wait for a CPU. */
#define ASLEEP " && state == S"

/* ---- more than one rule, more than one event of a task ---- */

/* Each rule fires once for each event, however many looks, reloads and other rules there are. */
static void test_fires_once_for_each(void **state)
{
	struct rule_conf rules[] = {
		of_subject(10, "pending(offcpu) > 30ms", ASLEEP),
		of_subject(11, "pending(offcpu) > 1h", ASLEEP),
		of_subject(12, "pending(offcpu) > 25ms", ASLEEP),
	};
	struct hanger first, second;
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, 2, slots);
	first = hang_in(hang_in_call, 0, 0);
	await_matched(d, slots[0], 1);
	update(d, rules, ARRAY_SIZE(rules), slots);
	await_matched(d, slots[2], 1); /* the rule is new, and the task hangs already */
	second = hang_in(hang_in_call, 0, 0);
	await_matched(d, slots[0], 2); /* found by a later look */
	await_matched(d, slots[2], 2);
	hanger__end(&first, 1);
	hanger__end(&second, 1);
	assert_int_equal(matched(d, slots[1]), 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

static void test_system_calls(void **state)
{
	struct rule_conf rules[] = { of_subject(10, "pending(syscall:read) > 20ms", ""),
				     of_subject(11, "pending(syscall:vfork) > 20ms", ""),
				     of_subject(12, "syscall:read > 20ms", "") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct hanger reads, forks;
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	reads = hang_in(hang_in_call, 0, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.rule_id, 10);
	assert_int_equal(got.last.key, SYS_read);
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_FOLLOWED);
	assert_int_equal(got.last.subject.tid, reads.pid);
	forks = hang_in(hang_blocked, 0, 0);
	await_matched(d, slots[1], 1);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[2]), 0);
	hanger__end(&reads, 1);
	hanger__end(&forks, 1);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[2]), 1); /* it has ended: the rule on ended calls fires */
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* A hang as the first part of a rule about other rules, and as the second. */
static void test_one_hang_then_another(void **state)
{
	struct rule_conf rules[] = { rule_of(12, "rule:a then rule:b within 1h", NULL),
				     of_subject(10, "pending(syscall:read) > 20ms", ""),
				     of_subject(11, "pending(syscall:vfork) > 20ms", "") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct hanger reads, forks;
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	rules[0].when.parts.v[0].id = 10;
	rules[0].when.parts.v[1].id = 11;
	rules[1].quiet = rules[2].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	reads = hang_in(hang_in_call, 0, 0);
	await_matched(d, slots[1], 1);
	assert_int_equal(matched(d, slots[0]), 0);
	update(d, rules, ARRAY_SIZE(rules), slots);
	forks = hang_in(hang_blocked, 0, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.rule_id, 12);
	assert_int_equal(got.last.subject.tid, forks.pid);
	assert_int_equal(got.last.parts[0].slot, slots[1]);
	assert_int_equal(got.last.parts[0].subject.tid, reads.pid);
	hanger__end(&reads, 1);
	hanger__end(&forks, 1);
	assert_int_equal(matched(d, slots[0]), 1);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* ---- recursive functions, and functions left by longjmp() ---- */

#define DEAD	     1 /* argument of a call left by longjmp() */
#define HANGING_CALL "uprobe:SELF:watched_call"

static jmp_buf way_out;

WATCHED long watched_leave(long what, long fd);
WATCHED long watched_leave(long what, long fd)
{
	__asm__ volatile("" : "+r"(what), "+r"(fd));
	if (what == DEAD)
		longjmp(way_out, 1);
	return what + fd;
}

/* Many pending events of one task: a function that calls itself. */
#define DEEP 1000

WATCHED long watched_recurse(long depth, long fd);
WATCHED long watched_recurse(long depth, long fd)
{
	long below = 0;
	char c;

	if (depth > 1)
		below = watched_recurse(depth - 1, fd);
	else
		below = read((int)fd, &c, 1);
	__asm__ volatile("" : "+r"(below)); /* the compiler must not make this a loop */
	return below + 1;
}

static void test_a_thousand_of_one_task(void **state)
{
	struct rule_conf r = of_subject(10, "pending(uprobe:SELF:watched_recurse) > 30ms", "");
	struct hanger h = { 0 };
	struct detectors *d;
	uint32_t slot;

	SKIP_UNLESS_UPROBES();
	r.quiet = true;
	d = detectors_with(&r, 1, &slot);
	assert_int_equal(pipe(h.go), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (!h.pid) {
		set_name(subject_name());
		_exit(watched_recurse(DEEP, h.go[0]) != DEEP + 1);
	}
	close(h.go[0]);
	await_matched(d, slot, DEEP);
	hanger__end(&h, 1);
	detectors__free(d);
	rule_free(&r);
}

WATCHED void leave_deep_below(void);
WATCHED void leave_deep_below(void)
{
	volatile char below[4096] = { 0 };

	watched_leave(DEAD, below[0]);
	__asm__ volatile("" ::"r"(below) : "memory"); /* the compiler must not make this a jump */
}

/* A call left by longjmp() is not pending once its frame is off the stack. */
static void leave_and_hang(struct findings *f, long fd)
{
	set_name(subject_name());
	if (!setjmp(way_out))
		leave_deep_below();
	watched_call(0, fd);
}

static void test_a_call_that_was_left(void **state)
{
	struct rule_conf rules[] = { of_subject(10, "pending(" HANGING_CALL ") > 400ms", ""),
				     of_subject(11, "pending(uprobe:SELF:watched_leave) > 300ms",
						"") };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;
	int go[2];
	pid_t pid;

	SKIP_UNLESS_UPROBES();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	assert_int_equal(pipe(go), 0);
	pid = spawn(leave_and_hang, NULL, go[0]);
	await_matched(d, slots[0], 1); /* it begins later, and has a higher threshold */
	assert_int_equal(matched(d, slots[1]), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(await(pid), 0);
	close(go[0]);
	close(go[1]);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* ---- a block request whose issuer has ended ---- */

static int end_disks(void **state)
{
	disks_end();
	return 0;
}

/* Begin to read a page, without waiting for it. */
static void read_ahead(struct findings *f, long disk)
{
	int fd = open(disks.loop[disk].path, O_RDONLY | O_CLOEXEC);

	set_name(subject_name());
	if (fd < 0 || readahead(fd, DISK_SIZE - STRIDE, 4096))
		_exit(1);
}

static uint64_t disk_number(int disk)
{
	return FRBPF_DEV(7, (unsigned int)disks.loop[disk].number);
}

/*
 * An issuer that ended stays the subject of its request. Another task with its number does not
 * become its subject.
 */
static void test_an_issuer_that_ended(void **state)
{
	struct rule_conf rules[] = { of_subject(10, "pending(blkio) > 1h", " && op == read"),
				     of_subject(11, "pending(blkio) > 30ms", " && op == read") };
	struct sink got[2] = { { .n = 0 } };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct hanger second;
	struct detectors *d;
	pid_t first;

	SKIP_UNLESS_POSSIBLE();
	SKIP_IF(!disks_begin(), "not possible on this machine");
	d = detectors_with(rules, 1, slots);
	first = spawn(read_ahead, NULL, 1);
	assert_int_equal(await(first), 0);
	update(d, rules, ARRAY_SIZE(rules), slots);
	got[0] = collect(d, LONG_MS);
	assert_int_equal(got[0].n, 1);
	assert_int_equal(got[0].last.subject.tid, first);
	assert_string_equal(got[0].last.subject.comm, subject_name());
	assert_int_equal(arg_value(&got[0].last, FRBPF_BLKIO_DEV), disk_number(1));
	second = hang_in(hang_on_disk, 2, first);
	got[1] = collect(d, LONG_MS);
	assert_int_equal(got[1].n, 1);
	assert_int_equal(got[1].last.subject.tid, first);
	assert_int_equal(arg_value(&got[1].last, FRBPF_BLKIO_DEV), disk_number(2));
	while (!got[1].n_stacks)
		got[1] = collect(d, LONG_MS);
	assert_int_equal(got[0].n_stacks, 0);
	assert_int_equal(matched(d, slots[1]), 2);
	disks_answer(0);
	assert_int_equal(await(second.pid), 0);
	close(second.go[1]);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* ---- cost ---- */

static void test_instructions(void **state)
{
	struct rule_conf rules[] = { rule_when(10, "pending(runqlat) > 1h", NULL),
				     rule_when(11, "pending(syscall:fsync) > 1h", NULL),
				     rule_when(12, "pending(reclaim) > 1h", NULL),
				     rule_when(13, "pending(" HANGING_CALL ") > 1h", NULL),
				     rule_when(14, "pending(" CALLS_AS_SPANS ") > 1h", NULL),
				     rule_when(15, "pending(blkio) > 1h", NULL) };
	static const char *const programs[] = { "waits_look", "sc_look", "rc_look",   "look_end",
						"due_look",   "up_look", "span_look", "io_look",
						"io_stacks",  "up_enter" };
	uint32_t slots[ARRAY_SIZE(rules)];
	struct detectors *d;

	SKIP_UNLESS_UPROBES();
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		assert_true(check_instructions(programs[i]) > 0);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* ---- paths of calls ---- */

enum { FIFO_MATCH, FIFO_OTHER, FIFO_LONG, FIFO_UNTOUCHED };

#define PAGE 4096

static char path_dir[] = "/tmp/frbpf-paths.XXXXXX";

/* Write the path of the fifo that opens hang at, of kind @what. */
static void fifo_path(long what, char *ret, size_t size)
{
	size_t len =
		snprintf(ret, size, "%s/%s", path_dir, what == FIFO_OTHER ? "other/" : "match/");

	while (what == FIFO_LONG && len < FRBPF_MATCH_PATH)
		len += snprintf(ret + len, size - len, "./");
	snprintf(ret + len, size - len, "fifo");
}

static int make_fifos(void **state)
{
	char path[PATH_MAX];

	strcpy(path_dir + strlen(path_dir) - 6, "XXXXXX");
	if (!mkdtemp(path_dir))
		return -1;
	for (long what = FIFO_MATCH; what <= FIFO_OTHER; what++) {
		fifo_path(what, path, sizeof(path));
		*strrchr(path, '/') = '\0';
		if (mkdir(path, 0700))
			return -1;
		fifo_path(what, path, sizeof(path));
		if (mkfifo(path, 0600))
			return -1;
	}
	return 0;
}

static int remove_fifos(void **state)
{
	remove_temp_tree(path_dir);
	return 0;
}

/* A page with @text that is in no page table yet. */
static char *untouched_page(const char *text)
{
	int fd = memfd_create("path", MFD_CLOEXEC);
	char *page = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, PAGE) && write(fd, text, strlen(text)) > 0)
		page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return page;
}

/* Hang in openat(): the fifo has no writer. */
static long hang_in_open(long what, long go)
{
	static char path[PATH_MAX];
	const char *at = path;

	fifo_path(what, path, sizeof(path));
	if (what == FIFO_UNTOUCHED) {
		/* an earlier call: its path must not be taken for that of the hanging call */
		close(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
		at = untouched_page(path);
	}
	if (at == MAP_FAILED || open(at, O_RDONLY | O_CLOEXEC) < 0)
		_exit(1);
	return 0;
}

static void end_open(struct hanger *h, long what)
{
	char path[PATH_MAX];
	int fd;

	fifo_path(what, path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	close(h->go[1]);
	assert_int_equal(await(h->pid), 0);
	close(fd);
}

/*
 * All thresholds are equal. So, when the last rule has matched, the look has evaluated all others.
 */
#define OPENS "pending(syscall:openat) > 20ms"

static struct rule_conf path_rule(uint64_t id, const char *op, const char *end)
{
	char and[128];

	snprintf(and, sizeof(and), " && path %s \"%s/%s\"", op, path_dir, end);
	return of_subject(id, OPENS, and);
}

static void test_path_of_a_call(void **state)
{
	struct rule_conf rules[] = { path_rule(10, "~", "match/*"), path_rule(11, "!=", "no"),
				     path_rule(12, "~", "*/fifo"), of_subject(13, OPENS, "") };
	static const struct {
		long what;
		uint64_t matched[3];
	} cases[] = {
		{ FIFO_OTHER, { 0, 1, 1 } },
		{ FIFO_UNTOUCHED, { 0, 1, 1 } },
		{ FIFO_LONG, { 1, 2, 1 } },
		{ FIFO_MATCH, { 2, 3, 2 } },
	};
	struct detectors_stats stats;
	uint32_t slots[ARRAY_SIZE(rules)];
	char path[PATH_MAX];
	struct detectors *d;
	struct sink got;

	SKIP_UNLESS_POSSIBLE();
	for (size_t i = 0; i < ARRAY_SIZE(rules) - 1; i++)
		rules[i].quiet = true;
	rules[0].quiet = false;
	rules[3].quiet = true;
	d = detectors_with(rules, ARRAY_SIZE(rules), slots);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hanger h = hang_in(hang_in_open, cases[i].what, 0);

		await_matched(d, slots[3], i + 1);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].matched); k++)
			assert_int_equal(matched(d, slots[k]), cases[i].matched[k]);
		end_open(&h, cases[i].what);
	}
	got = collect(d, 0);
	assert_int_equal(got.n, 2);
	for (int i = 0; i < got.n; i++) {
		fifo_path(i ? FIFO_MATCH : FIFO_LONG, path, sizeof(path));
		assert_int_equal(got.v[i].text_is, 1);
		path[sizeof(got.v[i].text) - 1] = '\0';
		assert_string_equal(got.v[i].text, path);
	}
	detectors__stats(d, &stats);
	assert_in_range(stats.texts_unread, 1, UINT64_MAX);
	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
}

/* A new rule knows the path of a hanging call only if an old rule asked for such paths. */
static void test_path_and_a_reload(void **state)
{
	struct rule_conf before[] = { of_subject(10, OPENS, "") };
	struct rule_conf first[] = { path_rule(11, "!=", "no"), of_subject(12, OPENS, "") };
	struct rule_conf second[] = { path_rule(13, "~", "match/*"), of_subject(14, OPENS, "") };
	struct hanger old, young;
	struct detectors *d;
	uint32_t slots[2];

	SKIP_UNLESS_POSSIBLE();
	d = detectors_with(before, 1, slots);
	old = hang_in(hang_in_open, FIFO_OTHER, 0);
	await_matched(d, slots[0], 1);
	update(d, first, 2, slots);
	await_matched(d, slots[1], 1);
	assert_int_equal(matched(d, slots[0]), 0);
	young = hang_in(hang_in_open, FIFO_MATCH, 0);
	await_matched(d, slots[1], 2);
	assert_int_equal(matched(d, slots[0]), 1);
	update(d, second, 2, slots);
	await_matched(d, slots[1], 2);
	assert_int_equal(matched(d, slots[0]), 1);
	end_open(&young, FIFO_MATCH);
	end_open(&old, FIFO_OTHER);
	detectors__free(d);
	free_rules(before, 1);
	free_rules(first, 2);
	free_rules(second, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires_once_for_each),
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_one_hang_then_another),
		cmocka_unit_test(test_a_thousand_of_one_task),
		cmocka_unit_test(test_a_call_that_was_left),
		cmocka_unit_test_teardown(test_an_issuer_that_ended, end_disks),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test_setup_teardown(test_path_of_a_call, make_fifos, remove_fifos),
		cmocka_unit_test_setup_teardown(test_path_and_a_reload, make_fifos, remove_fifos),
	};

	fuse_fixture__confine();
	test_pid();
	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
