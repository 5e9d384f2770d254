// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hard cases of pending events, on the running kernel. The table of tests is made of all
 * sources (pending_sources.h) and all cases, so none is left out:
 *
 *	it hangs		fires while it hangs, once, with its stack, and is followed
 *	it does not hang	many short ones are never taken for one
 *	the very moment		what is found has lasted that long, and nothing is found twice
 *	a thousand at once
 *	dies, number used again	another task with its number is another event
 *	a reload in between	a new rule finds what is pending, an old one not again
 *
 * Independent of speed: once a look has found a later event, it is known what it found of the
 * earlier ones; and whatever lasted long is also counted when it ends.
 */
#include "pending_sources.h"

/* A rule of this test's children: @before SOURCE @behind. */
static struct rule_conf rule_on(uint64_t id, const struct pending_source *s, const char *before,
				const char *behind)
{
	char text[3 * PATH_MAX], condition[128], *to = text;
	const char *from = s->when, *self;

	to += sprintf(to, "%s", before);
	for (; (self = strstr(from, "SELF")); from = self + 4)
		to += sprintf(to, "%.*s%s", (int)(self - from), from, own_path());
	sprintf(to, "%s%s", from, behind);
	snprintf(condition, sizeof(condition), "comm == \"%s\"%s", subject_name(),
		 s->condition ? s->condition : "");
	return rule_of(id, text, condition);
}

static struct rule_conf pending_rule(uint64_t id, const struct pending_source *s, uint64_t ms)
{
	char behind[32];

	snprintf(behind, sizeof(behind), ") > %dms", (int)ms);
	return rule_on(id, s, "pending(", behind);
}

/* ---- one test at a time ---- */

static struct detectors *d;
static struct rule_conf rules[2];
static uint32_t slots[ARRAY_SIZE(rules)];

static int begin_nothing(void **state)
{
	d = NULL;
	memset(rules, 0, sizeof(rules));
	memset(&disks, 0, sizeof(disks));
	return 0;
}

static int end_all(void **state)
{
	const struct pending_source *s = *state;

	detectors__free(d);
	free_rules(rules, ARRAY_SIZE(rules));
	if (s->end)
		s->end();
	return 0;
}

static struct ends ends_seen; /* of what followed, since the detectors were made */

static void detect(size_t n)
{
	ends_seen = (struct ends){ .n = 0 };
	d = detectors_with(rules, n, slots);
	detectors__on_ended(d, take_end, &ends_seen);
}

/* It may have ended before anybody waits for that: where the kernel lets a task run that hangs. */
static struct frbpf_ended first_end(void)
{
	uint64_t until = now_ns() + LONG_MS * MS;
	struct sink sink = { .n = 0 };

	while (!ends_seen.n && now_ns() < until) {
		detectors__consume(d, INT_MAX, take, &sink);
		usleep(1000);
	}
	assert_true(ends_seen.n > 0);
	return ends_seen.v[0];
}

#define BEGIN(s)                                                                                   \
	do {                                                                                       \
		SKIP_UNLESS_UPROBES();                                                             \
		SKIP_IF((s)->begin && !(s)->begin(), "not possible on this machine");              \
	} while (0)

/* Let all threads of a child go that hang. It ends without an error. */
static void end_hang(const struct pending_source *s, struct hanger *h, size_t n)
{
	if (!s->let_go) {
		hanger__end(h, n);
		return;
	}
	s->let_go(h->pid);
	close(h->go[1]);
	assert_int_equal(await(h->pid), 0);
}

static void assert_once(const struct pending_source *s, uint64_t n)
{
	assert_in_range(n, 1, s->fuzzy ? UINT64_MAX : 1);
}

static void test_it_hangs(void **state)
{
	const struct pending_source *s = *state;
	struct frbpf_ended end;
	struct hanger h;
	struct sink got;
	uint64_t begun, until;

	BEGIN(s);
	rules[0] = pending_rule(10, s, s->threshold);
	detect(1);
	begun = now_ns();
	h = hang_in(s->hang, 1, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(waitpid(h.pid, NULL, WNOHANG), 0);
	assert_int_equal(got.last.flags, FRBPF_TRIGGER_PENDING | FRBPF_TRIGGER_FOLLOWED);
	assert_int_equal(got.last.subject.tid, h.pid);
	assert_string_equal(got.last.subject.comm, subject_name());
	assert_int_equal(got.last.threshold, s->threshold * MS);
	assert_in_range(got.last.value, s->threshold * MS + 1, got.last.time - begun);
	for (until = now_ns() + LONG_MS * MS; !got.n_stacks && now_ns() < until;)
		got = collect(d, 100); /* sent after the trigger */
	assert_int_equal(got.stacks.tid, h.pid);
	assert_int_not_equal(got.stacks.n_kernel, 0);
	end_hang(s, &h, 1);
	end = first_end();
	assert_int_equal(end.of.rule_id, 10);
	assert_in_range(end.of.begin, begun, end.time);
	assert_int_equal(end.value, end.time - end.of.begin);
	assert_in_range(end.value, s->threshold * MS + 1, UINT64_MAX);
	assert_once(s, matched(d, slots[0]));
}

/* ---- they end by themselves ---- */

struct resting {
	void (*rest)(long ns);
	long n, from, to;
};

static struct resting resting;

static void rest_often(struct findings *f, long unused)
{
	set_name(subject_name());
	for (long i = 0; i < resting.n; i++)
		resting.rest(resting.from + i * (resting.to - resting.from) / resting.n);
}

static void check_rests(const struct pending_source *s, struct resting r, uint64_t ms)
{
	char behind[32];
	pid_t pids[8];

	snprintf(behind, sizeof(behind), " > %dms", (int)ms);
	rules[0] = pending_rule(10, s, ms);
	rules[1] = rule_on(11, s, "", behind);
	rules[0].quiet = rules[1].quiet = true;
	detect(ARRAY_SIZE(rules));
	resting = r;
	for (size_t i = 0; i < s->n_at_once; i++)
		pids[i] = spawn(rest_often, NULL, 0);
	for (size_t i = 0; i < s->n_at_once; i++)
		assert_int_equal(await(pids[i]), 0);
	if (s->let_go)
		s->let_go(0);
	print_message("%s: %d found while they lasted, of %d\n", s->name, (int)matched(d, slots[0]),
		      (int)matched(d, slots[1]));
	/* the last thing that each child does may be one, and have no end: exit_group() */
	assert_in_range(matched(d, slots[0]), 0,
			matched(d, slots[1]) + (s->fuzzy ? s->n_at_once : 0));
}

/* Together they last longer than the threshold. */
static void test_it_does_not_hang(void **state)
{
	const struct pending_source *s = *state;

	BEGIN(s);
	check_rests(s, (struct resting){ s->rest, 30, 2 * MS, 3 * MS }, 50);
}

static void test_the_very_moment(void **state)
{
	const struct pending_source *s = *state;

	BEGIN(s);
	check_rests(s, (struct resting){ s->rest, 15, 19 * MS, 22 * MS }, 20);
	assert_true(matched(d, slots[1]) > 0);
}

/* ---- a thousand ---- */

#define CROWD 1000
/*
 * On some virtual machines single switches reach neither a program nor perf: so many of the crowd's
 * may be missing.
 */
#define CROWD_HIDDEN 10

struct crowd_member {
	const struct pending_source *source;
	long what;
	int fd;
};

/* Take the name only when nothing else can make the thread wait: a start may, too. */
static void *crowd_thread(void *arg)
{
	const struct crowd_member *c = arg;

	set_name(subject_name());
	c->source->hang(c->what, c->fd);
	set_name("frbpf-done");
	return NULL;
}

static void crowd_run(const struct pending_source *s, int fd)
{
	static struct crowd_member members[CROWD];
	pthread_t threads[CROWD];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < CROWD; i++) {
		members[i] = (struct crowd_member){ s, i, fd };
		if (pthread_create(&threads[i], &small, crowd_thread, &members[i]))
			_exit(2);
	}
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

static void test_a_thousand_at_once(void **state)
{
	const struct pending_source *s = *state;
	/* others may take places in the queues of disks */
	size_t hidden = s->fuzzy || s->let_go ? CROWD_HIDDEN : 0;
	struct hanger h = { 0 };

	BEGIN(s);
	if (s->hang == hang_for_memory)
		assert_true(group_fill(FILL_CROWD));
	rules[0] = pending_rule(10, s, s->threshold);
	rules[0].quiet = true;
	detect(1);
	assert_int_equal(pipe(h.go), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (!h.pid) {
		close(h.go[1]);
		crowd_run(s, h.go[0]);
	}
	close(h.go[0]);
	await_at_least(d, slots[0], CROWD - hidden);
	end_hang(s, &h, CROWD);
	if (s->fuzzy)
		return;
	assert_in_range(matched(d, slots[0]), CROWD - hidden, CROWD);
	assert_int_equal(missing(d), 0);
}

/* ---- death and reload ---- */

static void test_dies_and_its_number_is_used_again(void **state)
{
	const struct pending_source *s = *state;
	struct hanger first, second;
	struct frbpf_ended end;
	struct sink got;

	BEGIN(s);
	rules[0] = pending_rule(10, s, s->threshold);
	detect(1);
	first = hang_in(s->hang, 1, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, first.pid);
	assert_int_equal(kill(first.pid, SIGKILL), 0);
	if (s->let_go) /* these cannot die before */
		s->let_go(first.pid);
	assert_int_equal(await(first.pid), -SIGKILL);
	end = first_end();
	assert_int_equal(end.of.begin, got.last.time - got.last.value);
	if (s->again)
		assert_true(s->again());
	second = hang_in(s->hang, 2, first.pid);
	await_at_least(d, slots[0], 2); /* a later look */
	got = collect(d, LONG_MS);
	assert_once(s, got.n);
	assert_int_equal(got.last.subject.tid, first.pid);
	assert_true(got.last.time - got.last.value > end.of.begin);
	end_hang(s, &second, 1);
	close(first.go[1]);
}

static void test_a_reload_in_between(void **state)
{
	const struct pending_source *s = *state;
	struct frbpf_ended end;
	struct hanger h;
	struct sink got;

	BEGIN(s);
	rules[0] = pending_rule(10, s, s->threshold / 2);
	rules[1] = pending_rule(11, s, s->threshold);
	rules[0].quiet = true;
	detect(1);
	h = hang_in(s->hang, 1, 0);
	await_at_least(d, slots[0], 1);
	update(d, rules, ARRAY_SIZE(rules), slots);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, h.pid);
	update(d, rules, ARRAY_SIZE(rules), slots);
	end_hang(s, &h, 1);
	end = first_end();
	assert_int_equal(end.of.begin, got.last.time - got.last.value);
	assert_once(s, matched(d, slots[0]));
	assert_once(s, matched(d, slots[1]));
}

/* ---- the table ---- */

static const struct {
	const char *name;
	CMUnitTestFunction fn;
} cases[] = {
	{ "it hangs", test_it_hangs },
	{ "it does not hang", test_it_does_not_hang },
	{ "the very moment", test_the_very_moment },
	{ "a thousand at once", test_a_thousand_at_once },
	{ "dies, number used again", test_dies_and_its_number_is_used_again },
	{ "a reload in between", test_a_reload_in_between },
};

/* With an argument: only the tests of such names, as 'blkio: *'. */
int main(int argc, char **argv)
{
	static struct CMUnitTest tests[ARRAY_SIZE(pending_sources) * ARRAY_SIZE(cases)];
	static char names[ARRAY_SIZE(tests)][64];

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		const struct pending_source *s = &pending_sources[i / ARRAY_SIZE(cases)];

		snprintf(names[i], sizeof(names[i]), "%s: %s", s->name,
			 cases[i % ARRAY_SIZE(cases)].name);
		tests[i] = (struct CMUnitTest){ names[i], cases[i % ARRAY_SIZE(cases)].fn,
						begin_nothing, end_all, (void *)s };
	}
	test_pid();
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
