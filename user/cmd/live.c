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
#include "common/log.h"
#include "detect/detectors.h"
#include "rules/units.h"

static void ignore_trigger(const struct frbpf_trigger *t, void *arg)
{
}

static int open_live_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Wait, and drain the trigger queue: if it is full, dropped triggers count as suppressed. */
static void wait_until_end(struct detectors *d, int signals, uint64_t end)
{
	struct pollfd fds[2] = { { detectors__fd(d), POLLIN }, { signals, POLLIN } };
	uint64_t now;

	while ((now = now_ns()) < end) {
		struct timespec left = { (end - now) / NSEC_PER_SEC, (end - now) % NSEC_PER_SEC };

		if (ppoll(fds, 2, &left, NULL) < 0)
			continue;
		if (fds[1].revents)
			break;
		detectors__consume(d, INT_MAX, ignore_trigger, NULL);
	}
}

/*
 * The rules, followed by copies without a threshold, as many as fit. All are shallow copies: the
 * ruleset owns what they point to.
 */
struct trial {
	struct rule_conf *rules;
	size_t *shadow_of; /* for each copy: index of its rule */
	size_t n_shadows;
	struct frbpf_rule_state *states; /* one per rule and copy */
};

/* Can a copy of the rule without a threshold see the values that the rule compares? */
static bool is_shadowed(const struct rule_conf *rule)
{
	const struct when *when = &rule->when;

	if (when->source == FRBPF_SOURCE_APP) /* only the recorder receives messages */
		return false;
	if (when->silence || when__has_values(when))
		return true;
	/* after its end, a span may have another subject than while it was pending */
	return when->pending && !(rule->expr.n_nodes && (when->source == FRBPF_SOURCE_SPAN ||
							 when->source == FRBPF_SOURCE_PROBE_SPAN));
}

/* Take the threshold away: @when then matches every value. */
static void when_lower(struct when *when)
{
	if (when->silence) {
		when->silence = 0;
		return;
	}
	when->pending = false;
	when->threshold = 0;
	when->learn = (struct when_learn){ 0 };
}

static int trial__make(const struct ruleset *rs, struct trial *t)
{
	*t = (struct trial){
		.rules = calloc(2 * rs->n_rules + 1, sizeof(*t->rules)),
		.shadow_of = calloc(rs->n_rules + 1, sizeof(*t->shadow_of)),
		.states = calloc(2 * rs->n_rules + 1, sizeof(*t->states)),
	};
	if (!t->rules || !t->shadow_of || !t->states)
		return -ENOMEM;
	for (size_t i = 0; i < rs->n_rules; i++)
		t->rules[i] = rs->rules[i];
	for (size_t i = 0; i < rs->n_rules && rs->n_rules + t->n_shadows < FRBPF_MAX_RULES; i++) {
		struct rule_conf *shadow = &t->rules[rs->n_rules + t->n_shadows];

		if (!is_shadowed(&rs->rules[i]))
			continue;
		*shadow = rs->rules[i];
		shadow->id = ~shadow->id;
		when_lower(&shadow->when);
		shadow->quiet = true;
		shadow->count = shadow->cooldown = (struct rate){ 0 };
		t->shadow_of[t->n_shadows++] = i;
	}
	return 0;
}

static void trial__free(struct trial *t)
{
	free(t->rules);
	free(t->shadow_of);
	free(t->states);
}

static void trial__report(const struct ruleset *rs, const struct trial *t, struct live_rule *ret)
{
	for (size_t i = 0; i < rs->n_rules; i++)
		ret[i].counted = t->states[i];
	for (size_t i = 0; i < t->n_shadows; i++) {
		struct live_rule *of = &ret[t->shadow_of[i]];

		of->seen = t->states[rs->n_rules + i];
		of->has_seen = true;
	}
}

static int read_live_states(const struct detectors *d, const uint32_t *slots, size_t n,
			    struct frbpf_rule_state *ret, struct err *err)
{
	int code = 0;

	for (size_t i = 0; i < n && !code; i++)
		code = detectors__rule_state(d, slots[i], &ret[i]);
	if (code)
		err_set(err, code, "cannot read the counters of rules: %s", strerror(-code));
	return code;
}

int live__watch(const struct rule_conf *rules, size_t n, uint64_t ns, const char *app,
		struct frbpf_rule_state *ret, uint64_t *ret_ns, struct err *err)
{
	_cleanup_free_ uint32_t *slots = calloc(n + 1, sizeof(*slots));
	_cleanup_close_ int signals = -1;
	struct detectors *d = NULL;
	char length[32];
	uint64_t begin;
	int code;

	if (!slots)
		return err_set(err, -ENOMEM, "out of memory");
	code = detectors__open(err, &d);
	if (!code && app)
		detectors__set_app_path(d, app, -1);
	code = code ?: detectors__update(d, rules, n, slots, err);
	if (!code) {
		signals = open_live_signals(); /* before the log says that signals end the trial */
		log_info("watching for %s; nothing is recorded, Ctrl-C ends it",
			 units__format_duration(ns, length, sizeof(length)));
		begin = now_ns();
		wait_until_end(d, signals, begin + ns);
		*ret_ns = now_ns() - begin;
		code = read_live_states(d, slots, n, ret, err);
	}
	detectors__free(d);
	return code;
}

int live__run(const struct ruleset *rs, const char *app, uint64_t ns, struct live_rule *ret,
	      uint64_t *ret_ns, struct err *err)
{
	struct trial t;
	int code = trial__make(rs, &t);

	if (code)
		err_set(err, code, "out of memory");
	code = code
		       ?: live__watch(t.rules, rs->n_rules + t.n_shadows, ns, app, t.states, ret_ns,
				      err);
	if (!code)
		trial__report(rs, &t, ret);
	trial__free(&t);
	return code;
}
