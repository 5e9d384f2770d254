// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hard cases of events that end, on the running kernel: values that are read from a task's memory,
 * or saved when the event begins. These are paths and peers of system calls, strings of functions,
 * and spans between places. The tests are all cases for all sources:
 *	a reload in between	old and new rules match once, with the time since the event began
 *	dies, number used again	the death is no end; another task with its number begins anew
 * test_pending_cases.c tests events that have not ended.
 * with: others
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "pending_fixture.h"
#include "user_probe_fixture.h"

enum { RIGHT, OTHER, WHATS }; /* RIGHT meets the condition of a rule, OTHER does not */

/* ---- system calls: an open that waits for a writer, a read from a socket ---- */

static char directory[] = "/tmp/frbpf-ended-XXXXXX";
static char fifos[WHATS][64];
static struct {
	int client, server;
} links[WHATS];
static uint16_t ports[WHATS];

static void fifos_begin(char *condition, size_t size)
{
	assert_non_null(mkdtemp(directory));
	for (int i = 0; i < WHATS; i++) {
		snprintf(fifos[i], sizeof(fifos[i]), "%s/%s", directory,
			 i == RIGHT ? "right" : "other");
		assert_int_equal(mkfifo(fifos[i], 0600), 0);
	}
	snprintf(condition, size, "path ~ \"%s/r*\"", directory);
}

static void fifos_end(void)
{
	for (int i = 0; i < WHATS; i++)
		unlink(fifos[i]);
	rmdir(directory);
	memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
}

static long hang_in_open(long what, long fd)
{
	return open(fifos[what], O_RDONLY);
}

static void fifo_let_go(long what)
{
	close(open(fifos[what], O_WRONLY | O_CLOEXEC));
}

static void link_make(int what)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(a);

	assert_int_equal(bind(listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	ports[what] = ntohs(a.sin_port);
	links[what].client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(links[what].client, (struct sockaddr *)&a, len), 0);
	links[what].server = accept(listener, NULL, NULL);
	assert_true(links[what].server >= 0);
	close(listener);
}

static void links_begin(char *condition, size_t size)
{
	for (int i = 0; i < WHATS; i++)
		link_make(i);
	snprintf(condition, size, "peer == 127.0.0.1 && port == %u", ports[RIGHT]);
}

static void links_end(void)
{
	for (int i = 0; i < WHATS; i++) {
		close(links[i].client);
		close(links[i].server);
	}
}

static long hang_in_read(long what, long fd)
{
	char c;

	return syscall(SYS_read, links[what].client, &c, 1);
}

static void link_let_go(long what)
{
	assert_int_equal(write(links[what].server, "x", 1), 1);
}

/* ---- functions and a static probe of this program ---- */

static const char *const texts[] = { "right.example.com", "other.example.org" };

/* On the stack: in a new process, pages of constants may not be loaded. */
#define TEXT_OF(what, text)                                                                        \
	char text[32];                                                                             \
	snprintf(text, sizeof(text), "%s", texts[what])

static void await_byte(long fd)
{
	char c;

	if (read((int)fd, &c, 1) != 1)
		_exit(1);
}

static pid_t forks_as; /* the number with which ended_call() forks; 0: it waits for a byte */

WATCHED long ended_call(const char *text, long fd);
WATCHED long ended_call(const char *text, long fd)
{
	__asm__ volatile("" : "+r"(text), "+r"(fd));
	if (forks_as)
		return fork_as(forks_as);
	await_byte(fd);
	return fd;
}

WATCHED void ended_begin(const char *text, long what);
WATCHED void ended_begin(const char *text, long what)
{
	__asm__ volatile("" : "+r"(text), "+r"(what));
}

WATCHED void ended_end(long what);
WATCHED void ended_end(long what)
{
	__asm__ volatile("" : "+r"(what));
}

static long hang_in_function(long what, long fd)
{
	TEXT_OF(what, text);
	long child = ended_call(text, fd);

	if (forks_as && child && waitpid((pid_t)child, NULL, 0) != child)
		_exit(1);
	return 0;
}

static long hang_between_functions(long what, long fd)
{
	TEXT_OF(what, text);

	ended_begin(text, what);
	await_byte(fd);
	ended_end(what);
	return 0;
}

static long hang_after_a_probe(long what, long fd)
{
	watched_probe(what, what);
	await_byte(fd);
	ended_end(what);
	return 0;
}

/* ---- the sources ---- */

struct ended_source {
	const char *name;
	const char *when;      /* each "SELF" stands for this program */
	const char *condition; /* NULL: begin() makes it */
	long (*hang)(long what, long fd);
	void (*let_go)(long what); /* NULL: write a byte */
	void (*begin)(char *condition, size_t size);
	void (*end)(void);
};

static const struct ended_source sources[] = {
	{ .name = "path of a call",
	  .when = "syscall:openat > 1ns",
	  .hang = hang_in_open,
	  .let_go = fifo_let_go,
	  .begin = fifos_begin,
	  .end = fifos_end },
	{ .name = "peer of a call",
	  .when = "syscall:read > 1ns",
	  .hang = hang_in_read,
	  .let_go = link_let_go,
	  .begin = links_begin,
	  .end = links_end },
	{ .name = "string of a function",
	  .when = "uprobe:SELF:ended_call > 1ns",
	  .condition = "str(arg0) ~ \"*.example.com\"",
	  .hang = hang_in_function },
	{ .name = "span between functions",
	  .when = "uprobe:SELF:ended_begin -> uprobe:SELF:ended_end by tid > 1ns",
	  .condition = "start.arg1 == 0",
	  .hang = hang_between_functions },
	{ .name = "span of functions by argument",
	  .when = "uprobe:SELF:ended_begin -> uprobe:SELF:ended_end by tid, arg1=arg0 > 1ns",
	  .condition = "start.arg1 == 0",
	  .hang = hang_between_functions },
	{ .name = "span from a static probe",
	  .when = "usdt:SELF:frbpf_unit:tick -> uprobe:SELF:ended_end by tid > 1ns",
	  .condition = "start.arg1 == 0",
	  .hang = hang_after_a_probe },
};

/* ---- one test at a time ---- */

static struct detectors *d;
static struct ruleset *rs;
static uint32_t slots[2];

/* Two equal rules. */
static void rules_make(const struct ended_source *s)
{
	char asked[128] = "", text[1024] = "", *to = text;

	if (s->begin)
		s->begin(asked, sizeof(asked));
	for (int i = 0; i < 2; i++)
		to += sprintf(to,
			      "[rule-%d]\nwhen = %s\nif = comm == \"NAME\" && %s\ncooldown = 0\n",
			      i, s->when, s->condition ? s->condition : asked);
	rs = rules_of(text);
}

static int end_all(void **state)
{
	const struct ended_source *s = *state;

	detectors__free(d);
	d = NULL;
	ruleset__free(rs);
	rs = NULL;
	if (s->end)
		s->end();
	return 0;
}

static struct hanger hang(const struct ended_source *s, long what, pid_t pid)
{
	struct hanger h = hang_in(s->hang, what, pid);

	await_sleep(h.pid);
	return h;
}

/* Let it go on, and await its end. */
static void go_on(const struct ended_source *s, struct hanger *h, long what)
{
	if (!s->let_go) {
		hanger__end(h, 1);
		return;
	}
	s->let_go(what);
	close(h->go[1]);
	assert_int_equal(await(h->pid), 0);
}

static void test_a_reload_in_between(void **state)
{
	const struct ended_source *s = *state;
	uint64_t begun, asleep, awake;
	struct hanger h;
	struct sink got;

	SKIP_UNLESS_UPROBES();
	rules_make(s);
	d = detectors_with(rs->rules, 1, slots);
	begun = now_ns();
	h = hang(s, RIGHT, 0);
	asleep = now_ns();
	update(d, rs->rules, 2, slots);
	awake = now_ns();
	go_on(s, &h, RIGHT);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 2);
	for (int i = 0; i < got.n; i++) {
		assert_int_equal(got.v[i].subject.tid, h.pid);
		assert_in_range(got.v[i].value, awake - asleep, now_ns() - begun);
	}
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(matched(d, slots[1]), 1);
	/* again, with one rule less */
	update(d, rs->rules + 1, 1, slots + 1);
	h = hang(s, RIGHT, 0);
	update(d, rs->rules + 1, 1, slots + 1);
	go_on(s, &h, RIGHT);
	assert_int_equal(matched(d, slots[1]), 2);
}

static void test_dies_and_its_number_is_used_again(void **state)
{
	const struct ended_source *s = *state;
	struct hanger first, second;
	struct sink got;
	uint64_t begun;

	SKIP_UNLESS_UPROBES();
	rules_make(s);
	d = detectors_with(rs->rules, 1, slots);
	first = hang(s, RIGHT, 0);
	assert_int_equal(kill(first.pid, SIGKILL), 0);
	assert_int_equal(await(first.pid), -SIGKILL);
	close(first.go[1]);
	second = hang(s, OTHER, first.pid);
	go_on(s, &second, OTHER);
	assert_int_equal(matched(d, slots[0]), 0);
	begun = now_ns();
	second = hang(s, RIGHT, first.pid);
	go_on(s, &second, RIGHT);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, first.pid);
	assert_in_range(got.last.value, 1, now_ns() - begun);
	assert_int_equal(matched(d, slots[0]), 1);
	assert_int_equal(missing(d), 0);
}

/* ---- a process forked within a call: it returns from a call that it did not begin ---- */

/*
 * Start a child, which ends by itself or by a signal. Its call is always at the same place on its
 * stack.
 */
static pid_t child_that_ends(const struct ended_source *s, int signal)
{
	struct hanger h = hang_in(s->hang, RIGHT, 0);

	if (signal) {
		await_sleep(h.pid);
		assert_int_equal(kill(h.pid, signal), 0);
	}
	assert_int_equal(await(h.pid), -signal);
	close(h.go[1]);
	return h.pid;
}

static void test_forks_with_the_number(void **state)
{
	const struct ended_source *s = *state;
	struct sink got;
	pid_t second;

	SKIP_UNLESS_UPROBES();
	rules_make(s);
	d = detectors_with(rs->rules, 1, slots);
	forks_as = child_that_ends(s, SIGKILL);
	second = child_that_ends(s, 0);
	forks_as = 0;
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, second);
	assert_int_equal(missing(d), 0);
}

/* ---- the table ---- */

static const struct {
	const char *name;
	CMUnitTestFunction fn;
} cases[] = {
	{ "a reload in between", test_a_reload_in_between },
	{ "dies, number used again", test_dies_and_its_number_is_used_again },
};

static const struct ended_source *const of_functions = &sources[2];

/* With an argument: only the tests of such names, as 'path*'. */
int main(int argc, char **argv)
{
	static struct CMUnitTest tests[ARRAY_SIZE(sources) * ARRAY_SIZE(cases) + 1];
	static char names[ARRAY_SIZE(tests)][64];
	size_t n = 0;

	for (; n < ARRAY_SIZE(tests) - 1; n++) {
		const struct ended_source *s = &sources[n / ARRAY_SIZE(cases)];

		snprintf(names[n], sizeof(names[n]), "%s: %s", s->name,
			 cases[n % ARRAY_SIZE(cases)].name);
		tests[n] = (struct CMUnitTest){ names[n], cases[n % ARRAY_SIZE(cases)].fn, NULL,
						end_all, (void *)s };
	}
	tests[n] = (struct CMUnitTest){ "a fork within a call gets the number",
					test_forks_with_the_number, NULL, end_all,
					(void *)of_functions };
	test_pid();
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return _cmocka_run_group_tests("ended", tests, ARRAY_SIZE(tests), start_reader,
				       stop_reader);
}
