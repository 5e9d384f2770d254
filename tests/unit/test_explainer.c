// SPDX-License-Identifier: GPL-2.0-only
/*
 * Separate processes explain incidents: one that hangs or dies costs only its own answer.
 * with: others
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/opening.h"
#include "daemon/explainer.h"
#include "fuse_fixture.h"

#define WAIT_MS 30000

static char base[] = "/tmp/frbpf-test.XXXXXX";
static struct explainer *explainer;
static char answered[64], symbols_of[64];

static json_t *read_manifest(int fd, const char *at, const char *name)
{
	json_t *m = json_loadfd(fd, 0, NULL);

	close(fd);
	return m;
}

/* The manifest says what to do. */
static json_t *explain(const json_t *manifest, const char *at)
{
	const char *what = json_string_value(json_object_get(manifest, "what"));

	while (!strcmp(what, "hang"))
		usleep(100000);
	if (!strcmp(what, "die"))
		abort();
	if (what[0] == '/')
		opening__recording(what);
	return json_pack("{s:s}", "verdict", what);
}

/* Add as many symbols as @symbols of the manifest says. */
static json_t *find_symbols(const json_t *manifest, const char *at)
{
	json_int_t n = json_integer_value(json_object_get(manifest, "symbols"));
	json_t *list = n ? json_array() : NULL;

	for (json_int_t i = 0; i < n; i++)
		json_array_append_new(list, json_sprintf("%016llx t name\t[module]", (long long)i));
	return list;
}

static void note_answer(const char *name, enum explainer_part part, json_t *value, void *arg)
{
	if (part == EXPLAINER_WHY)
		snprintf(answered, sizeof(answered), "%s %s", name,
			 json_string_value(json_object_get(value, "verdict")));
	else
		snprintf(symbols_of, sizeof(symbols_of), "%s %zu %s", name, json_array_size(value),
			 json_string_value(json_array_get(value, 0)));
}

static void ask_about_symbols(const char *name, const char *what, int symbols)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/incidents/%s.json", base, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "{\"what\": \"%s\", \"symbols\": %d}", what, symbols);
	fclose(f);
	assert_int_equal(explainer__ask(explainer, base, name), 0);
}

static void ask_about_incident(const char *name, const char *what)
{
	ask_about_symbols(name, what, 0);
}

/* Process messages until an answer comes. If @answer is false: until a worker has started. */
static void await(bool answer)
{
	struct pollfd p = { .fd = explainer__fd(explainer), .events = POLLIN };

	answered[0] = '\0';
	do {
		assert_int_equal(poll(&p, 1, WAIT_MS), 1);
		explainer__process(explainer, note_answer, NULL);
	} while (answer && !answered[0]);
}

static unsigned long long number_in_status(pid_t pid, const char *field)
{
	char path[64], line[256];
	unsigned long long n = ~0ULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			n = strtoull(line + strlen(field), NULL, 16);
	fclose(f);
	return n;
}

static void worker_is_confined_before_a_question(void **state)
{
	const pid_t *pids = explainer__pids(explainer);

	await(false);
	assert_true(pids[0] > 0 && pids[1] > 0);
	assert_int_equal(number_in_status(pids[0], "CapPrm:"), 0);
	assert_int_equal(number_in_status(pids[0], "Seccomp:"), 2);
	/* the opener may not be confined yet; until then it serves nobody */
	while (number_in_status(pids[1], "Seccomp:") != 2)
		usleep(10000);
}

static void who_hangs_or_dies_is_replaced(void **state)
{
	ask_about_incident("1", "hang");
	ask_about_incident("2", "die");
	ask_about_incident("3", "good");
	await(true);
	assert_string_equal(answered, "3 good");
}

/*
 * The symbols come after the answer. If there are too many, all are left out: a part would give
 * wrong names.
 */
static void symbols_of_the_kernel_come_too(void **state)
{
	struct pollfd p = { .fd = explainer__fd(explainer), .events = POLLIN };

	ask_about_symbols("1", "many", 100000);
	ask_about_symbols("2", "some", 3000);
	await(true);
	assert_string_equal(answered, "1 many");
	while (!symbols_of[0]) {
		assert_int_equal(poll(&p, 1, WAIT_MS), 1);
		explainer__process(explainer, note_answer, NULL);
	}
	assert_string_equal(answered, "2 some");
	assert_string_equal(symbols_of, "2 3000 0000000000000000 t name\t[module]");
}

/* How many openers may hang at once. After that no worker begins. */
#define STUCK_MAX 8

/* Wait for a worker whose opener is not @before. Returns that opener. */
static pid_t next_opener(pid_t before)
{
	const pid_t *pids = explainer__pids(explainer);

	while (!pids[1] || pids[1] == before)
		await(false);
	return pids[1];
}

/* A user whose incidents need files that never answer leaves a bounded number of processes. */
static void hung_openers_are_bounded(void **state)
{
	struct pollfd p = { .fd = explainer__fd(explainer), .events = POLLIN };
	struct fuse_fixture fuse;
	pid_t openers[STUCK_MAX];

	if (!fuse_fixture__mount(&fuse, "/proc/self/exe")) {
		print_message("skipped: no FUSE\n");
		skip();
	}
	fuse_fixture__hang(&fuse);
	for (int i = 0; i < STUCK_MAX; i++) {
		openers[i] = next_opener(i ? openers[i - 1] : 0);
		ask_about_incident("1", fuse.path);
	}
	ask_about_incident("2", "good");
	while (poll(&p, 1, 5000) > 0) /* no other worker begins */
		explainer__process(explainer, note_answer, NULL);
	assert_int_equal(explainer__pids(explainer)[1], openers[STUCK_MAX - 1]);
	for (int i = 0; i < STUCK_MAX; i++)
		assert_int_equal(kill(openers[i], 0), 0);
	fuse_fixture__unmount(&fuse);
	await(true);
	assert_string_equal(answered, "2 good");
}

static int begin(void **state)
{
	static const struct explainer_fns fns = { read_manifest, { explain, find_symbols }, 1 };
	char path[64];

	assert_non_null(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/incidents", base);
	assert_int_equal(mkdir(path, 0700), 0);
	return explainer__new(&fns, &explainer);
}

static int end(void **state)
{
	char path[64];

	explainer__free(explainer);
	for (int i = 1; i <= 3; i++) {
		snprintf(path, sizeof(path), "%s/incidents/%d.json", base, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/incidents", base);
	return rmdir(path) || rmdir(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker_is_confined_before_a_question),
		cmocka_unit_test(who_hangs_or_dies_is_replaced),
		cmocka_unit_test(symbols_of_the_kernel_come_too),
		cmocka_unit_test(hung_openers_are_bounded),
	};

	fuse_fixture__confine();
	return cmocka_run_group_tests(tests, begin, end);
}
