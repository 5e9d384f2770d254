// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hard cases of pending events, on the running kernel. The tests are all cases for all sources of
 * pending_sources.h, so none is left out:
 *	it hangs		fires once while it hangs, with its stack, is followed to its end
 *	it does not hang	many short events are never taken for a long one
 *	the very moment		an event that is found has lasted that long, and is found once
 *	one look misses it	the next one finds it
 *	a thousand at once	each is found, while others of the source begin and end
 *	dies, number used again	another task with its number is another event
 *	a reload in between	a new rule finds what is pending, an old one does not find it again
 * Independent of speed: once a look has found a later event, it has also examined the earlier ones.
 * Events that lasted long are also counted when they end.
 */
#include "common/call_filter.h"
#include "pending_sources.h"

/* A rule of this test's children: @before SOURCE @after. */
static struct rule_conf rule_on(uint64_t id, const struct pending_source *s, const char *before,
				const char *after)
{
	char when[256], condition[128];

	snprintf(when, sizeof(when), "%s%s%s", before, s->when, after);
	snprintf(condition, sizeof(condition), "comm == \"%s\"%s", subject_name(),
		 s->condition ? s->condition : "");
	return rule_when(id, when, condition);
}

static struct rule_conf pending_rule(uint64_t id, const struct pending_source *s, uint64_t ms)
{
	char after[32];

	snprintf(after, sizeof(after), ") > %dms", (int)ms);
	return rule_on(id, s, "pending(", after);
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

static struct ends ends_seen; /* ends of followed events, since the detectors were made */

static void detect(size_t n)
{
	ends_seen = (struct ends){ .n = 0 };
	d = detectors_with(rules, n, slots);
	detectors__on_ended(d, take_end, &ends_seen);
}

/*
 * The event may have ended before the test waits for that, if the kernel lets a hanging task run.
 */
static struct frbpf_ended first_end(void)
{
	uint64_t until = now_ns() + LONG_MS * MS;
	struct sink sink = { .n = 0 };

	while (!ends_seen.n && now_ns() < until) {
		detectors__consume(d, INT_MAX, take_trigger, &sink);
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

/* Release all threads of a child that hangs. It ends without an error. */
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
		got = collect(d, 100); /* stacks are sent after the trigger */
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

/* ---- events that end by themselves ---- */

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
	char after[32];
	pid_t pids[8];

	snprintf(after, sizeof(after), " > %dms", (int)ms);
	rules[0] = pending_rule(10, s, ms);
	rules[1] = rule_on(11, s, "", after);
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
	/* exit_group(), the last call of each child, may be such an event, and has no end */
	assert_in_range(matched(d, slots[0]), 0,
			matched(d, slots[1]) + (s->fuzzy ? s->n_at_once : 0));
}

/* Each event is short, but together they last longer than the threshold. */
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

/* ---- missed ---- */

/*
 * Find a table of these detectors by its descriptor, because other processes have maps of the same
 * name.
 */
static int table_named(const char *name)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	char path[32], what[32];
	ssize_t n;

	for (int fd = 3; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, what, sizeof(what) - 1);
		what[n > 0 ? n : 0] = '\0';
		if (!strcmp(what, "anon_inode:bpf-map") &&
		    !bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, name))
			return fd;
	}
	fail_msg("there is no table %s", name);
	return -1;
}

/* The entries of a table that are hidden from looks. */
struct hidden {
	int fd;
	size_t n;
	struct {
		char key[64], value[512];
	} v[FRBPF_MAX_IN_FLIGHT + FRBPF_MAX_KEPT];
};

/* Wait until the child sleeps in the read that it hangs in. */
static void await_read(pid_t pid)
{
	char path[64];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	while (nr != SYS_read && nr != SYS_pread64) {
		usleep(1000);
		f = fopen(path, "re");
		assert_non_null(f);
		if (fscanf(f, "%ld", &nr) != 1)
			nr = -1; /* the task runs */
		fclose(f);
	}
}

static void table_hide(struct hidden *h, const char *name)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	const char *last = NULL;

	h->fd = table_named(name);
	assert_int_equal(bpf_obj_get_info_by_fd(h->fd, &info, &size), 0);
	assert_in_range(info.key_size, 1, sizeof(h->v[0].key));
	assert_in_range(info.value_size, 1, sizeof(h->v[0].value));
	for (h->n = 0; h->n < ARRAY_SIZE(h->v); h->n++) {
		if (bpf_map_get_next_key(h->fd, last, h->v[h->n].key))
			break;
		last = h->v[h->n].key;
	}
	for (size_t i = 0; i < h->n; i++) {
		if (!bpf_map_lookup_elem(h->fd, h->v[i].key, h->v[i].value))
			bpf_map_delete_elem(h->fd, h->v[i].key);
	}
}

/* Put the hidden entries back. What has begun meanwhile stays. */
static void table_show(const struct hidden *h)
{
	for (size_t i = 0; i < h->n; i++)
		bpf_map_update_elem(h->fd, h->v[i].key, h->v[i].value, BPF_NOEXIST);
}

/* A walk of a hash table may miss an entry while others are deleted. */
static void test_one_look_misses_it(void **state)
{
	const struct pending_source *s = *state;
	static struct hidden hidden;
	struct hanger missed, seen;
	struct sink got;

	BEGIN(s);
	rules[0] = pending_rule(10, s, 3600000);
	rules[1] = pending_rule(11, s, s->threshold);
	detect(1);
	missed = hang_in(s->hang, 1, 0);
	await_read(missed.pid);
	table_hide(&hidden, s->table);
	update(d, rules, ARRAY_SIZE(rules), slots);
	seen = hang_in(s->hang, 2, 0);
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, seen.pid);
	table_show(&hidden);
	await_at_least(d, slots[1], 2); /* until then, collect() may get only the other's stacks */
	got = collect(d, LONG_MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.subject.tid, missed.pid);
	end_hang(s, &missed, 1);
	end_hang(s, &seen, 1);
}

/* ---- a thousand ---- */

/*
 * Threads begin ten times slower with sanitizers. Those look for other errors than a missed event.
 */
#define CROWD (IS_SANITIZED ? 100 : 1000)

struct crowd_member {
	const struct pending_source *source;
	long what;
	int fd;
};

static pthread_barrier_t crowd_complete; /* a start may need a lock of a waiting task */

/* Set the name only when nothing else can block the thread: its start may block, too. */
static void *crowd_thread(void *arg)
{
	const struct crowd_member *c = arg;

	pthread_barrier_wait(&crowd_complete);
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

	pthread_barrier_init(&crowd_complete, NULL, CROWD);
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

/* Other events of the source begin and end, so that its table changes while looks walk it. */
static void bustle(struct findings *f, long source)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_name("frbpf-bustle");
	while (getppid() == test_pid())
		pending_sources[source].rest(1);
}

static pid_t bustle_begin(const struct pending_source *s)
{
	return s->begin ? 0 : spawn(bustle, NULL, s - pending_sources);
}

static void bustle_end(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGKILL);
	assert_int_equal(await(pid), -SIGKILL);
}

/* How many threads have matched: each one's cooldown lasts longer than the test. */
static uint64_t threads_found(void)
{
	return state_of(d, slots[0]).fired;
}

/*
 * The kernel may refuse task storage at a fork. The next look makes up for that, but cannot know
 * when the current wait began. Therefore let the tasks wait anew.
 */
static void await_threads(const struct pending_source *s, uint64_t n)
{
	uint64_t begin = now_ns(), anew = begin + LONG_MS / 10 * MS;

	while (threads_found() < n && now_ns() < begin + LONG_MS * MS) {
		usleep(1000);
		if (!s->wait_anew || now_ns() < anew)
			continue;
		s->wait_anew();
		anew = now_ns() + LONG_MS / 10 * MS;
	}
}

static void test_a_thousand_at_once(void **state)
{
	const struct pending_source *s = *state;
	struct hanger h = { 0 };
	pid_t others;

	BEGIN(s);
	if (s->hang == hang_for_memory)
		assert_true(group_fill(FILL_CROWD));
	rules[0] = pending_rule(10, s, s->threshold);
	rules[0].quiet = true;
	rules[0].cooldown = (struct rate){ .time = 60 * LONG_MS * MS, .per = FRBPF_PER_THREAD };
	detect(1);
	others = bustle_begin(s);
	assert_int_equal(pipe(h.go), 0);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (!h.pid) {
		close(h.go[1]);
		crowd_run(s, h.go[0]);
	}
	close(h.go[0]);
	await_threads(s, CROWD);
	bustle_end(others);
	end_hang(s, &h, CROWD);
	assert_int_equal(threads_found(), CROWD);
	if (s->fuzzy)
		return;
	assert_int_equal(matched(d, slots[0]), CROWD);
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
	if (s->let_go) /* these cannot die before that */
		s->let_go(first.pid);
	assert_int_equal(await(first.pid), -SIGKILL);
	end = first_end();
	assert_int_equal(end.of.begin, got.last.time - got.last.value);
	if (s->again)
		assert_true(s->again());
	second = hang_in(s->hang, 2, first.pid);
	await_at_least(d, slots[0], 2); /* found by a later look */
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
	{ "one look misses it", test_one_look_misses_it },
	{ "a thousand at once", test_a_thousand_at_once },
	{ "dies, number used again", test_dies_and_its_number_is_used_again },
	{ "a reload in between", test_a_reload_in_between },
};

/* Looks at the sources without a table walk the tasks. */
static bool has_case(const struct pending_source *s, size_t n)
{
	return cases[n].fn != test_one_look_misses_it || s->table;
}

/* With an argument: only the tests of such names, as 'blkio: *'. */
int main(int argc, char **argv)
{
	static struct CMUnitTest tests[ARRAY_SIZE(pending_sources) * ARRAY_SIZE(cases)];
	static char names[ARRAY_SIZE(tests)][64];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		const struct pending_source *s = &pending_sources[i / ARRAY_SIZE(cases)];

		if (!has_case(s, i % ARRAY_SIZE(cases)))
			continue;
		snprintf(names[n], sizeof(names[n]), "%s: %s", s->name,
			 cases[i % ARRAY_SIZE(cases)].name);
		tests[n] = (struct CMUnitTest){ names[n], cases[i % ARRAY_SIZE(cases)].fn,
						begin_nothing, end_all, (void *)s };
		n++;
	}
	fuse_fixture__confine();
	test_pid();
	cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
	return _cmocka_run_group_tests("pending", tests, n, start_reader, stop_reader);
}
