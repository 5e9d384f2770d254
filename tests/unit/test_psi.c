// SPDX-License-Identifier: GPL-2.0-only
/* psi on the running kernel: whose stall it is while a dump is written. */
#include <signal.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "detect/detectors_core.h"
#include "detect_fixture.h"

#define HOGS_MAX 256
#define WAIT_MS	 30000 /* pressure is reported once per window of 2 s */

struct hogs {
	pid_t pid[HOGS_MAX];
	int n;
};

/* More busy processes than CPUs. */
static void hogs_start(struct hogs *h)
{
	for (h->n = 0; h->n < 2 * get_nprocs() + 2 && h->n < HOGS_MAX; h->n++) {
		h->pid[h->n] = fork();
		assert_true(h->pid[h->n] >= 0);
		if (h->pid[h->n])
			continue;
		alarm(120); /* if the test is killed */
		for (;;)
			;
	}
}

static void hogs_end(struct hogs *h)
{
	for (int i = 0; i < h->n; i++)
		kill(h->pid[i], SIGKILL);
	for (int i = 0; i < h->n; i++)
		waitpid(h->pid[i], NULL, 0);
}

static bool is_ours_soon(struct detectors *d, uint32_t slot)
{
	for (int ms = 0; ms < WAIT_MS; ms += 100) {
		collect(d, 100);
		if (state_of(d, slot).suppressed[FRBPF_CAUSE_SELF])
			return true;
	}
	return false;
}

/* The stall counts as ours while a dump is written, and for a short time after. */
static void test_while_a_dump_is_written(void **state)
{
	struct rule_conf rule;
	struct detectors *d;
	struct hogs hogs;
	uint32_t slot;
	size_t fired;

	SKIP_IF(geteuid(), "needs root");
	SKIP_IF(access("/proc/pressure/cpu", W_OK), "no PSI: /proc/pressure");
	rule = rule_of(1, "psi:cpu some > 300ms in 2s", NULL);
	d = detectors_with(&rule, 1, &slot);
	detectors__suppress(d, FRBPF_SUPPRESS_SELF, now_ns() + 3600000000000ULL);
	hogs_start(&hogs);
	fired = collect(d, WAIT_MS).n;
	detectors__note_writing(d, true);
	if (fired)
		assert_true(is_ours_soon(d, slot));
	hogs_end(&hogs);
	assert_true(fired);
	detectors__free(d);
	rule_free(&rule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_while_a_dump_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
