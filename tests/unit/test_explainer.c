// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incidents are explained by processes of their own: one that hangs or dies costs its answer only.
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

#include "daemon/explainer.h"

#define WAIT_MS 30000

static char base[] = "/tmp/frbpf-test.XXXXXX";
static struct explainer *explainer;
static char answered[64];

static json_t *read_manifest(int fd, const char *at, const char *name)
{
	json_t *m = json_loadfd(fd, 0, NULL);

	close(fd);
	return m;
}

/* What it is to do is in the manifest. */
static json_t *explain(const json_t *manifest, const char *at)
{
	const char *what = json_string_value(json_object_get(manifest, "what"));

	while (!strcmp(what, "hang"))
		usleep(100000);
	if (!strcmp(what, "die"))
		abort();
	return json_pack("{s:s}", "verdict", what);
}

static void note_answer(const char *name, json_t *why, void *arg)
{
	snprintf(answered, sizeof(answered), "%s %s", name,
		 json_string_value(json_object_get(why, "verdict")));
}

static void ask_about(const char *name, const char *what)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/incidents/%s.json", base, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "{\"what\": \"%s\"}", what);
	fclose(f);
	assert_int_equal(explainer__ask(explainer, base, name), 0);
}

/* Process what comes until there is an answer, or, without @answer, until a worker has started. */
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

static void who_explains_has_nothing_before_there_is_a_question(void **state)
{
	const pid_t *pids = explainer__pids(explainer);

	await(false);
	assert_true(pids[0] > 0 && pids[1] > 0);
	assert_int_equal(number_in_status(pids[0], "CapPrm:"), 0);
	assert_int_equal(number_in_status(pids[0], "Seccomp:"), 2);
	/* the opener may still begin; until then it serves nobody */
	while (number_in_status(pids[1], "Seccomp:") != 2)
		usleep(10000);
}

static void who_hangs_or_dies_is_replaced(void **state)
{
	ask_about("1", "hang");
	ask_about("2", "die");
	ask_about("3", "good");
	await(true);
	assert_string_equal(answered, "3 good");
}

static int begin(void **state)
{
	static const struct explainer_fns fns = { read_manifest, explain, 1 };
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
		cmocka_unit_test(who_explains_has_nothing_before_there_is_a_question),
		cmocka_unit_test(who_hangs_or_dies_is_replaced),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
