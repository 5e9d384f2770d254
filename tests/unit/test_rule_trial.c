// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random rules on random events, also rules about other rules: a trial on recordings must answer
 * like the engine in the kernel. Fields include paths, addresses and strings; the kernel reads the
 * strings from our memory. A second test has conditions with unknown fields; only the first one
 * skips without root or kernel BTF.
 * with: others
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/rule_table.h"
#include "detect/engine/text_set.h"
#include "rules/rule_units.h"
#include "trial/rule_trial.h"
#include "engine_event.h"
#include "random_draw.h"

#define STREAMS 150
#define EVENTS	200
#define RULES	12
#define ABOUT	4 /* the last ones are about other rules */
#define MS	1000000ULL

/* The buffer of the engine for a path or a string, when rules look at either. */
struct path_buffer {
	char text[2][3][768]; /* [task][of the cgroup, of the executable, of the event] */
};

struct stream {
	bool has_texts; /* events have strings at arguments; otherwise they have a path */
	struct rule_conf rules[RULES];
	struct rule_trial *trials[RULES];
	struct trial_event events[EVENTS];
	struct rule_table table;
	uint32_t slots[RULES];
	struct rule_units units;
	struct trial_parts parts[RULES * WHEN_MAX_PARTS]; /* of each unit */
};

static const char *const names[] = { "a", "ab", "bash" };
static const char *const conditions[] = {
	"",
	"",
	"pid == 1",
	"comm == a && tid < 3",
	"comm ~ \"*b*\" || cpu == 0",
	"!(process in (a, bash)) || value > 3ms",
	"current.pid != 2 && prio & 1",
	"value < 4ms && !(uid == 1 && comm ~ \"a*\")",
	"peer in (10.0.0.0/8, \"2001:db8::/32\")",
	"peer != 10.1.0.0/16 && port == 443",
	"family == inet6 || peer == 127.0.0.1",
};
static const char *const path_conditions[] = {
	"path ~ \"/srv/*\"",
	"path != /srv/a && pid < 3",
	"!(path ~ \"*.log\" || path == /srv/a)",
	"path in (/, /srv/x.log) || port < 100",
};
static const char *const text_conditions[] = {
	"str(arg4) ~ \"*.example.com\"",
	"str(arg4) != a.example.com && pid < 3",
	"!(str(arg5) ~ \"*.log\" || str(arg4) == /srv/a)",
	"str(arg5) in (/, /srv/x.log) || str(arg4) ~ \"a*\"",
};
static const char *const texts[] = { "",      "/",     "/srv/a",	"/srv/x.log",
				     "/srv/", "a.log", "a.example.com", "x.example.com" };
static const struct {
	uint64_t peer[2];
	uint32_t port, family;
} peers[] = { { { 0, 0 }, 0, 0 },
	      { { 0, 0xffff7f000001 }, 80, 2 },
	      { { 0, 0xffff0a000001 }, 443, 2 },
	      { { 0, 0xffff0a010203 }, 443, 2 },
	      { { 0, 1 }, 443, 10 },
	      { { 0x20010db800000000, 1 }, 80, 10 } };
static const uint64_t windows[] = { 0, 1, 3 * MS, 20 * MS, 400 * MS };
static const uint64_t share_windows[] = { 10 * MS, 10 * MS + 12345, 33 * MS, 400 * MS };
static const enum frbpf_field fields[] = { FRBPF_FIELD_PID, FRBPF_FIELD_COMM, FRBPF_FIELD_CPU };

static void parse_condition(const char *text, struct expr *ret)
{
	struct source_text *src;
	struct diags d = { 0 };

	*ret = (struct expr){ 0 };
	if (!*text)
		return;
	assert_int_equal(source_text__from_string("f", text, &src), 0);
	diags__keep(&d, src);
	if (expr__parse(src, (struct span){ 0, src->len }, &(struct field_scope){ 0 }, &d, ret))
		fail_msg("%s: %s", text, d.v[0].msg);
	diags__free(&d);
}

static struct rate random_rate(bool counted)
{
	struct rate r = { .time = PICK(windows), .per = draw(FRBPF_PER_FIELD + 1) };

	if (r.per == FRBPF_PER_FIELD)
		r.field = PICK(fields);
	if (!counted)
		return r;
	r.n = 1 + draw(draw(3) ? 4 : FRBPF_COUNT_MAX);
	r.time += !r.time;
	return r;
}

static void random_share(struct when *when)
{
	struct rate per = random_rate(false);

	when->share = (struct when_share){ .time = PICK(share_windows),
					   .per = per.per,
					   .field = per.field };
	when->threshold = when->share.time / 100 * (1 + draw(150));
}

static void random_rule(struct rule_conf *rule, uint64_t id)
{
	memset(rule, 0, sizeof(*rule));
	rule->id = id;
	rule->when.source = FRBPF_SOURCE_SYSCALL;
	rule->when.threshold = (1 + draw(8)) * MS / 2;
	rule->when.all_calls = draw(4) == 0;
	rule->when.keys[0] = 1 + draw(7);
	if (draw(4) == 0) {
		rule->when.threshold = 0;
		rule->when.fails = true;
		rule->when.any_errno = draw(2);
		rule->when.errnos[0] = draw(4);
	} else if (draw(6) == 0) {
		rule->when.threshold = 0;
		rule->when.hit = true;
	} else if (draw(3) == 0) {
		random_share(&rule->when);
	}
	rule->quiet = draw(5) == 0;
	rule->cooldown = random_rate(false);
	rule->escalate = draw(2) && !rule->when.share.time ? 200 : 0;
	if (draw(2))
		rule->count = random_rate(true);
}

static void random_condition(const struct stream *s, struct rule_conf *rule)
{
	unsigned int of_event = draw(3);

	if (of_event)
		parse_condition(PICK(conditions), &rule->expr);
	else if (s->has_texts)
		parse_condition(PICK(text_conditions), &rule->expr);
	else
		parse_condition(PICK(path_conditions), &rule->expr);
}

/* A rule about two or three of the rules that have a source. */
static void random_rule_about(const struct stream *s, struct rule_conf *rule, uint64_t id)
{
	struct when_parts *parts = &rule->when.parts;
	unsigned int first = draw(RULES - ABOUT);

	memset(rule, 0, sizeof(*rule));
	rule->id = id;
	rule->when.source = FRBPF_SOURCE_RULES;
	rule->when.hit = true;
	parts->ordered = draw(2);
	parts->n = parts->ordered ? 2 : 2 + draw(2);
	for (uint32_t i = 0; i < parts->n; i++)
		parts->v[i].id = s->rules[(first + 3 * i) % (RULES - ABOUT)].id;
	do
		parts->within = PICK(windows);
	while (!parts->within);
	rule->quiet = draw(5) == 0;
	rule->cooldown = random_rate(false);
	rule->escalate = 400; /* the default of rules files; it has no effect on these rules */
	if (draw(3) == 0)
		rule->count = random_rate(true);
}

/* An address that cannot be read stands for a string on a page that is swapped out. */
static void random_texts(struct trial_event *e)
{
	for (int i = 4; i < 6; i++) {
		const char *text = draw(8) ? PICK(texts) : NULL;

		e->subject.text[i] = text;
		e->subject.val[0][FRBPF_FIELD_ARG + i][0] = text ? (uintptr_t)text : 8;
	}
}

static void random_peer(struct trial_event *e)
{
	unsigned int i = draw(ARRAY_SIZE(peers));

	memcpy(e->subject.val[0][FRBPF_SYSCALL_PEER], peers[i].peer, sizeof(peers[i].peer));
	e->subject.val[0][FRBPF_SYSCALL_PORT][0] = peers[i].port;
	e->subject.val[0][FRBPF_SYSCALL_FAMILY][0] = peers[i].family;
}

static void random_event(struct trial_event *e, uint64_t time)
{
	memset(e, 0, sizeof(*e));
	e->time = time;
	e->value = draw(10) * MS / 2;
	e->key = draw(3);
	e->error = draw(3) ? 0 : 1 + draw(3);
	e->waits = draw(5) ? EXPR_HOLDS_NOT : EXPR_HOLDS;
	e->process[0] = draw(3);
	e->thread[0] = draw(4);
	e->own_cgroup = draw(2);
	for (int who = 0; who < 2; who++) {
		for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
			__u64 *val = e->subject.val[who][f->field];

			if (f->type == EXPR_STRING)
				strncpy((char *)val, PICK(names), FRBPF_COMM_LEN);
			else
				val[0] = draw(4);
		}
	}
	e->subject.val[0][FRBPF_FIELD_VALUE][0] = e->value;
	e->subject.path = PICK(texts);
	random_peer(e);
	random_texts(e);
}

/* Room for keys, as in bpf/engine.bpf.h, shared by all streams: each has its own rules. */
static void give_room(int maps, size_t value_size)
{
	for (uint32_t slot = 0; slot < RULES; slot++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(struct frbpf_key),
					value_size, STREAMS * 64, NULL);

		assert_true(fd >= 0);
		assert_int_equal(bpf_map_update_elem(maps, &slot, &fd, BPF_ANY), 0);
		close(fd);
	}
}

static void put_rules(struct stream *s, struct engine_test_bpf *skel)
{
	int rules = bpf_map__fd(skel->maps.rules), globs = bpf_map__fd(skel->maps.globs);
	int states = bpf_map__fd(skel->maps.states);
	int suppress_times = bpf_map__fd(skel->maps.suppress_times);
	static const struct frbpf_rule_state fresh;
	struct slots in_force = { 0 };
	struct pattern_set *patterns;

	assert_int_equal(pattern_set__make(&in_force, s->rules, RULES, &patterns), 0);
	assert_int_equal(pattern_set__write(patterns, bpf_map__fd(skel->maps.path_globs)), 0);
	assert_int_equal(rule_table__build(&s->rules[0].when, s->units.v, s->units.n,
					   s->units.slots, NULL, patterns, &s->table),
			 0);
	pattern_set__free(patterns);
	for (uint32_t i = 0; i < s->table.bank.n_rules; i++)
		assert_int_equal(bpf_map_update_elem(rules, &(uint32_t){ 2 * i },
						     &s->table.rules[i], BPF_ANY),
				 0);
	for (uint32_t i = 0; i < RULES; i++) {
		uint64_t until = draw(3) ? 0 : draw(600) * MS;

		assert_int_equal(bpf_map_update_elem(states, &i, &fresh, BPF_ANY), 0);
		assert_int_equal(bpf_map_update_elem(suppress_times, &i, &until, BPF_ANY), 0);
		rule_trial__suppress(s->trials[i], FRBPF_CAUSE_RULE_CAP, until);
	}
	for (uint32_t i = 0; i < s->table.n_globs; i++)
		assert_int_equal(bpf_map_update_elem(globs, &(uint32_t){ 2 * i },
						     &s->table.globs[i], BPF_ANY),
				 0);
	skel->bss->control.bank[0] = s->table.bank;
}

static void put_event(const struct stream *s, const struct trial_event *from,
		      const struct engine_test_bpf *skel)
{
	const uint32_t text = !s->has_texts;
	struct path_buffer paths = { 0 };
	const uint32_t waits = from->waits == EXPR_HOLDS, first = 0,
		       cpu = from->subject.val[0][FRBPF_FIELD_CPU][0];
	struct event e;

	event_begin(&e, skel);
	event_set(&e, "now", &from->time, sizeof(from->time));
	event_set(&e, "value", &from->value, sizeof(from->value));
	event_set(&e, "key", &from->key, sizeof(from->key));
	event_set(&e, "error", &from->error, sizeof(from->error));
	event_set(&e, "waits", &waits, sizeof(waits));
	if (!s->has_texts)
		strcpy(paths.text[0][2], from->subject.path);
	event_set(&e, "path", &paths, sizeof(paths));
	event_set(&e, "text", &text, sizeof(text));
	event_set(&e, "cpu", &cpu, sizeof(cpu));
	event_set(&e, "own_cgroup", &from->own_cgroup, sizeof(from->own_cgroup));
	event_set(&e, "val", from->subject.val, sizeof(from->subject.val));
	event_set(&e, "process", from->process, sizeof(from->process));
	event_set(&e, "thread", from->thread, sizeof(from->thread));
	assert_int_equal(
		bpf_map_update_elem(bpf_map__fd(skel->maps.events), &first, e.bytes, BPF_ANY), 0);
}

static uint64_t shares_fired, abouts_fired;

static int ignore(void *ctx, void *data, size_t size)
{
	return 0;
}

static void compare(const struct stream *s, struct engine_test_bpf *skel, uint64_t *fired)
{
	for (uint32_t i = 0; i < RULES; i++) {
		const struct trial_counts *c = rule_trial__counts(s->trials[i]);
		struct frbpf_rule_state st;

		assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.states), &i, &st), 0);
		if (st.fired != c->fired)
			fail_msg("rule %u fired %llu times, and is tried %llu", i,
				 (unsigned long long)st.fired, (unsigned long long)c->fired);
		for (int k = 0; k < FRBPF_CAUSE_MAX; k++)
			if (st.suppressed[k] != c->suppressed[k])
				fail_msg("rule %u: cause %d %llu times, and is tried %llu", i, k,
					 (unsigned long long)st.suppressed[k],
					 (unsigned long long)c->suppressed[k]);
		assert_int_equal(st.max_value, c->max_value);
		*fired += c->fired;
		shares_fired += s->rules[i].when.share.time ? c->fired : 0;
		abouts_fired += s->rules[i].when.parts.n ? c->fired : 0;
	}
}

static struct rule_trial *trial_of(const struct stream *s, uint64_t id)
{
	uint32_t i = 0;

	while (s->rules[i].id != id)
		i++;
	return s->trials[i];
}

static void make_parts(struct stream *s, size_t unit)
{
	const struct rule_conf *conf = &s->units.v[unit];
	struct trial_parts *parts = &s->parts[unit];

	*parts = (struct trial_parts){ .n_others = conf->n_others };
	for (uint32_t i = 0; i < conf->n_others; i++)
		parts->others[i] = s->trials[conf->others[i]];
	for (uint32_t i = 0; i < conf->when.parts.n; i++) {
		struct rule_trial *t = trial_of(s, conf->when.parts.v[i].id);

		if (t != parts->others[0] && t != parts->others[1])
			parts->last = t;
	}
}

static void make_stream(struct stream *s)
{
	static uint64_t n_rules;
	struct err err;

	s->has_texts = draw(2);
	for (uint32_t i = 0; i < RULES; i++) {
		if (i < RULES - ABOUT) {
			random_rule(&s->rules[i], ++n_rules);
			random_condition(s, &s->rules[i]);
		} else {
			random_rule_about(s, &s->rules[i], ++n_rules);
		}
		s->slots[i] = i;
		assert_int_equal(rule_trial__new(&s->rules[i], &s->trials[i]), 0);
	}
	assert_int_equal(rule_units__make(s->rules, RULES, s->slots, &s->units, &err), 0);
	for (size_t i = 0; i < s->units.n; i++)
		make_parts(s, i);
}

/* Returns how many matches were suppressed. */
static uint64_t try_event(struct stream *s, const size_t *order, const struct trial_event *e)
{
	enum frbpf_cause cause;
	uint64_t suppressed = 0;
	int outcome;

	for (size_t i = 0; i < s->units.n; i++) {
		struct rule_trial *t = s->trials[s->units.slots[order[i]]];
		const struct trial_parts *parts = &s->parts[order[i]];

		outcome = parts->last ? rule_trial__try_after(t, parts, e, &cause)
				      : rule_trial__try(t, e, &cause);
		assert_true(outcome >= 0);
		suppressed += outcome == TRIAL_SUPPRESSED;
	}
	return suppressed;
}

static void run_stream(struct stream *s, struct engine_test_bpf *skel, uint64_t *fired,
		       uint64_t *suppressed)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct ring_buffer *ring =
		ring_buffer__new(bpf_map__fd(skel->maps.triggers), ignore, NULL, NULL);
	size_t order[RULES * WHEN_MAX_PARTS];
	uint64_t time = MS;

	assert_non_null(ring);
	make_stream(s);
	put_rules(s, skel);
	rule_units__order(&s->units, order);
	for (uint32_t i = 0; i < EVENTS; i++) {
		time += draw(3) ? draw(2000) : draw(9 * MS);
		random_event(&s->events[i], time);
		/* one at a time, so that the trigger queue is never full */
		put_event(s, &s->events[i], skel);
		skel->bss->n_events = 1;
		assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skel->progs.stream), &opts),
				 0);
		ring_buffer__consume(ring);
		*suppressed += try_event(s, order, &s->events[i]);
	}
	compare(s, skel, fired);
	rule_units__free(&s->units);
	for (uint32_t i = 0; i < RULES; i++) {
		rule_trial__free(s->trials[i]);
		expr__free(&s->rules[i].expr);
	}
	ring_buffer__free(ring);
}

static void rules_are_tried_as_the_kernel_does(void **state)
{
	struct stream *s = calloc(1, sizeof(*s));
	uint64_t fired = 0, suppressed = 0;
	struct engine_test_bpf *skel;

	assert_non_null(s);
	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK)) {
		free(s);
		print_message("skipped: needs root and kernel BTF\n");
		skip();
	}
	skel = engine_test_bpf__open_and_load();
	assert_non_null(skel);
	give_room(bpf_map__fd(skel->maps.cooling), sizeof(struct frbpf_cooling));
	give_room(bpf_map__fd(skel->maps.counting), sizeof(struct frbpf_count));
	give_room(bpf_map__fd(skel->maps.sharing), sizeof(struct frbpf_share));
	for (int i = 0; i < STREAMS; i++)
		run_stream(s, skel, &fired, &suppressed);
	print_message("%llu fired, %llu suppressed\n", (unsigned long long)fired,
		      (unsigned long long)suppressed);
	assert_true(fired > STREAMS * RULES && suppressed > STREAMS * RULES);
	assert_true(shares_fired > STREAMS && abouts_fired > STREAMS);
	assert_true(skel->bss->texts_unread > STREAMS);
	engine_test_bpf__destroy(skel);
	free(s);
}

/* An answer that was given holds for each value of the unknown field. */
static void answers_hold_for_all_unknown_values(void **state)
{
	int maybe = 0, sure = 0;

	for (int i = 0; i < 4000; i++) {
		struct trial_event e;
		enum expr_holds holds;
		struct expr expr;
		__u64 *hidden;

		parse_condition(PICK(conditions), &expr);
		random_event(&e, 1);
		hidden = e.subject.val[0][FRBPF_FIELD_TID];
		e.subject.unknown[0] = 1U << FRBPF_FIELD_TID | 1U << FRBPF_FIELD_PID;
		holds = expr__holds(&expr, &e.subject);
		e.subject.unknown[0] = 0;
		for (unsigned int k = 0; k < 16 && holds != EXPR_MAY_HOLD; k++) {
			hidden[0] = k % 4;
			e.subject.val[0][FRBPF_FIELD_PID][0] = k / 4;
			assert_int_equal(expr__eval(&expr, &e.subject), holds == EXPR_HOLDS);
		}
		maybe += holds == EXPR_MAY_HOLD;
		sure += holds != EXPR_MAY_HOLD;
		expr__free(&expr);
	}
	assert_true(maybe > 100 && sure > 1000);
}

static struct trial_event event_at(uint64_t time)
{
	return (struct trial_event){ .time = time };
}

static void silence_fires_once_and_again_after_it_was_heard(void **state)
{
	struct rule_conf rule = {
		.when = { .source = FRBPF_SOURCE_TRACEPOINT, .hit = true, .silence = 5 }
	};
	struct trial_event e = event_at(12), made;
	enum frbpf_cause cause;
	struct rule_trial *t;

	assert_int_equal(rule_trial__new(&rule, &t), 0);
	assert_int_equal(rule_trial__pass(t, 10, &made, &cause), TRIAL_NO);
	assert_int_equal(rule_trial__try(t, &e, &cause), TRIAL_HEARD);
	assert_int_equal(rule_trial__pass(t, 17, &made, &cause), TRIAL_NO);
	assert_int_equal(rule_trial__pass(t, 18, &made, &cause), TRIAL_FIRED);
	assert_int_equal(made.time, 17);
	assert_int_equal(rule_trial__pass(t, 99, &made, &cause), TRIAL_NO);
	e = event_at(100);
	assert_int_equal(rule_trial__try(t, &e, &cause), TRIAL_HEARD);
	assert_int_equal(rule_trial__pass(t, 106, &made, &cause), TRIAL_FIRED);
	/* nothing is known between two recordings */
	rule_trial__break(t);
	assert_int_equal(rule_trial__pass(t, 200, &made, &cause), TRIAL_NO);
	assert_int_equal(rule_trial__pass(t, 206, &made, &cause), TRIAL_FIRED);
	assert_int_equal(rule_trial__counts(t)->fired, 3);
	rule_trial__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_tried_as_the_kernel_does),
		cmocka_unit_test(answers_hold_for_all_unknown_values),
		cmocka_unit_test(silence_fires_once_and_again_after_it_was_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
