// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/live.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "detect/detectors.h"
#include "rules/units.h"

static void ignore(const struct frbpf_trigger *t, void *arg)
{
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* The trigger ring is kept empty: a full one would be counted as held back. */
static void wait_until(struct detectors *d, uint64_t end)
{
	_cleanup_close_ int signals = open_signals();
	struct pollfd fds[2] = { { detectors__fd(d), POLLIN }, { signals, POLLIN } };
	uint64_t now;

	while ((now = now_ns()) < end) {
		struct timespec left = { (end - now) / NSEC_PER_SEC, (end - now) % NSEC_PER_SEC };

		if (ppoll(fds, 2, &left, NULL) < 0)
			continue;
		if (fds[1].revents)
			break;
		detectors__consume(d, INT_MAX, ignore, NULL);
	}
}

int live__run(const struct ruleset *rs, uint64_t ns, struct frbpf_rule_state *ret, uint64_t *ret_ns,
	      struct err *err)
{
	_cleanup_free_ uint32_t *slots = calloc(rs->n_rules + 1, sizeof(*slots));
	struct detectors *d = NULL;
	uint64_t begin;
	int code;

	if (!slots)
		return err_set(err, -ENOMEM, "out of memory");
	code = detectors__open(err, &d);
	code = code ?: detectors__update(d, rs->rules, rs->n_rules, slots, err);
	if (!code) {
		begin = now_ns();
		wait_until(d, begin + ns);
		*ret_ns = now_ns() - begin;
	}
	for (size_t i = 0; !code && i < rs->n_rules; i++) {
		code = detectors__rule_state(d, slots[i], &ret[i]);
		if (code)
			err_set(err, code, "cannot read the counters of rule '%s': %s",
				rs->rules[i].name, strerror(-code));
	}
	detectors__free(d);
	return code;
}
