// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random rules on values that programs pass: paths of system calls, addresses of sockets, strings
 * at arguments. The running kernel reads them from the memory and sockets of a child. The evaluator
 * for recordings gets the values that the child knows. Both must give the same answers. Skips
 * without root, kernel BTF or uprobes.
 * with: others
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "trial/rule_trial.h"
#include "random_draw.h"
#include "user_probe_fixture.h"

#define BATCHES 4
#define RULES	12
#define CALLS	240

enum act { OPEN, CONNECT, SEND, TEXT, PROBE };

/* An action of the child, and the values that it gives the evaluator. */
struct act_args {
	enum act act;
	const char *text[2]; /* NULL: it cannot be read */
	struct sockaddr_storage to;
	socklen_t len;
	uint64_t peer[2];
	uint16_t port;
	uint32_t family;
};

static struct act_args acts[CALLS];

struct batch {
	struct rule_conf rules[RULES];
	char conditions[RULES][256];
	struct rule_trial *trials[RULES];
	uint32_t slots[RULES];
};

/* ---- strings: on a page that the children share ---- */

static const char *const words[] = {
	"",	 "/",	   "/srv/frbpf-none/a", "/srv/frbpf-none/b.log", "/frbpf-none",
	"a.log", "a-none", "api.example.org",	"example.org",		 "/srv/frbpf-none/*",
};
static char *copies[ARRAY_SIZE(words)];
static char *hidden; /* a page that nobody may read */

static void make_strings(void)
{
	char *page =
		mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	hidden = page + 4096;
	assert_int_equal(mprotect(hidden, 4096, PROT_NONE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		copies[i] = page;
		page = stpcpy(page, words[i]) + 1;
	}
}

static const char *random_text(void)
{
	return draw(8) ? PICK(copies) : NULL;
}

/* ---- what a child does ---- */

static void random_address(struct act_args *a)
{
	struct sockaddr_in6 *a6 = (void *)&a->to;
	struct sockaddr_in *a4 = (void *)&a->to;
	uint32_t v4 = 0x7f000000 | draw(3) << 16 | (1 + draw(3));

	a->port = draw(3) ? 9 : 443;
	a->peer[0] = 0;
	a->peer[1] = 0xffffULL << 32 | v4;
	a->family = AF_INET;
	a->len = sizeof(*a4);
	*a4 = (struct sockaddr_in){ AF_INET, htons(a->port), { htonl(v4) } };
	if (draw(3) || access("/proc/net/if_inet6", F_OK))
		return;
	a->family = AF_INET6;
	a->len = sizeof(*a6);
	*a6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(a->port) };
	a6->sin6_addr.s6_addr[15] = 1;
	a->peer[1] = 1;
	if (draw(2)) /* an IPv4 address of an IPv6 socket */
		return;
	a->peer[1] = 0xffffULL << 32 | v4;
	memset(a6->sin6_addr.s6_addr + 10, 0xff, 2);
	memcpy(a6->sin6_addr.s6_addr + 12, &(uint32_t){ htonl(v4) }, 4);
}

static void random_acts(enum act first, unsigned int kinds)
{
	for (int i = 0; i < CALLS; i++) {
		acts[i] = (struct act_args){ .act = first + draw(kinds) };
		acts[i].text[0] = random_text();
		acts[i].text[1] = random_text();
		random_address(&acts[i]);
	}
}

WATCHED long watched_texts(const char *a, const char *b);
WATCHED long watched_texts(const char *a, const char *b)
{
	__asm__ volatile("" : "+r"(a), "+r"(b));
	return a == b;
}

static const char *place_or_hidden(const char *text)
{
	return text ?: hidden;
}

static void act_on_socket(const struct act_args *a)
{
	int fd = socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&a->to, a->len))
		_exit(1);
	if (a->act == SEND)
		send(fd, "x", 1, MSG_DONTWAIT); /* to nobody */
	close(fd);
}

static void perform(struct findings *f, long unused)
{
	set_name(subject_name());
	for (int i = 0; i < CALLS; i++) {
		const struct act_args *a = &acts[i];
		const char *first = place_or_hidden(a->text[0]),
			   *second = place_or_hidden(a->text[1]);

		if (a->act == OPEN)
			syscall(SYS_openat, -1, first, O_RDONLY | O_DIRECTORY, 0);
		else if (a->act == TEXT)
			watched_texts(first, second);
		else if (a->act == PROBE)
			watched_probe(0, (uintptr_t)first);
		else
			act_on_socket(a);
	}
}

/* ---- rules ---- */

static void random_string_comparison(const char *field, char *to, size_t size)
{
	static const char *const globs[] = {
		"/srv/*", "*.log", "*none*", "?", "/srv/frbpf-none/[ab]*", "[!/]*", "*example*"
	};
	unsigned int kind = draw(4);
	const char *word;

	do
		word = PICK(words);
	while (!*word);
	if (kind < 2)
		snprintf(to, size, "%s ~ \"%s\"", field, PICK(globs));
	else if (kind == 2)
		snprintf(to, size, "%s %s \"%s\"", field, draw(2) ? "==" : "!=", word);
	else
		snprintf(to, size, "%s in (/, \"%s\")", field, word);
}

static void random_peer_comparison(char *to, size_t size)
{
	static const char *const cases[] = {
		"peer == 127.0.0.0/8",
		"peer != 127.1.0.0/16",
		"peer in (127.0.0.1, 127.2.0.0/15)",
		"peer == \"::1\"",
		"peer in (\"::/96\", 127.0.0.2)",
		"port == 443",
		"port > 100",
		"family == inet6",
		"family != inet",
	};

	snprintf(to, size, "%s", PICK(cases));
}

static void random_condition(enum act first, char *to, size_t size)
{
	size_t n = 1 + draw(2), len;
	char one[96];

	len = snprintf(to, size, "comm == %s && (", subject_name());
	for (size_t i = 0; i < n; i++) {
		if (first == TEXT)
			random_string_comparison(draw(2) ? "str(arg0)" : "str(arg1)", one,
						 sizeof(one));
		else if (first == PROBE)
			random_string_comparison("str(arg1)", one, sizeof(one));
		else if (draw(2))
			random_string_comparison("path", one, sizeof(one));
		else
			random_peer_comparison(one, sizeof(one));
		len += snprintf(to + len, size - len, "%s%s(%s)",
				!i	  ? ""
				: draw(2) ? " && "
					  : " || ",
				draw(3) ? "" : "!", one);
	}
	snprintf(to + len, size - len, ")");
}

static void make_batch(struct batch *b, enum act first, const char *when)
{
	static uint64_t id;

	for (uint32_t i = 0; i < RULES; i++) {
		struct rule_conf *r = &b->rules[i];

		random_condition(first, b->conditions[i], sizeof(b->conditions[i]));
		*r = rule_when(++id, when, b->conditions[i]);
		r->quiet = true;
		r->cooldown.time = draw(2) ? 3600000 * MS : 0;
		r->count = (struct rate){ .n = 1 + draw(4), .time = 3600000 * MS };
		assert_int_equal(rule_trial__new(r, &b->trials[i]), 0);
	}
}

static void batch_free(struct batch *b)
{
	for (uint32_t i = 0; i < RULES; i++)
		rule_trial__free(b->trials[i]);
	free_rules(b->rules, RULES);
}

/* ---- the same rules in the evaluator for recordings ---- */

static struct trial_event event_of(const struct act_args *a, uint64_t time, bool connects)
{
	struct trial_event e = { .time = time, .value = 1000 };
	__u64(*val)[2] = e.subject.val[0];

	snprintf((char *)val[FRBPF_FIELD_COMM], FRBPF_COMM_LEN, "%s", subject_name());
	if (a->act == TEXT) {
		e.subject.text[0] = a->text[0];
		e.subject.text[1] = a->text[1];
	} else if (a->act == PROBE) {
		e.subject.text[1] = a->text[0];
	} else if (a->act == OPEN) {
		e.key = SYS_openat;
		e.subject.path = a->text[0];
	} else {
		e.key = connects ? SYS_connect : SYS_sendto;
		memcpy(val[FRBPF_SYSCALL_PEER], a->peer, sizeof(a->peer));
		val[FRBPF_SYSCALL_PORT][0] = a->port;
		val[FRBPF_SYSCALL_FAMILY][0] = a->family;
	}
	return e;
}

static void try_event(const struct batch *b, const struct trial_event *e)
{
	enum frbpf_cause cause;

	for (uint32_t i = 0; i < RULES; i++)
		assert_true(rule_trial__try(b->trials[i], e, &cause) >= 0);
}

static void try_acts(const struct batch *b)
{
	for (int i = 0; i < CALLS; i++) {
		struct trial_event e = event_of(&acts[i], 2 * i + 1, true);

		try_event(b, &e);
		if (acts[i].act != SEND)
			continue;
		e = event_of(&acts[i], 2 * i + 2, false);
		try_event(b, &e);
	}
}

static uint64_t compare(const struct batch *b, const struct detectors *d)
{
	uint64_t fired = 0;

	for (uint32_t i = 0; i < RULES; i++) {
		const struct trial_counts *c = rule_trial__counts(b->trials[i]);
		struct frbpf_rule_state st = state_of(d, b->slots[i]);

		if (st.fired != c->fired || st.matched != c->matched)
			fail_msg("%s: %llu matched, %llu fired, and are tried %llu, %llu",
				 b->conditions[i], (unsigned long long)st.matched,
				 (unsigned long long)st.fired, (unsigned long long)c->matched,
				 (unsigned long long)c->fired);
		for (int k = 0; k < FRBPF_CAUSE_MAX; k++)
			assert_int_equal(st.suppressed[k], c->suppressed[k]);
		fired += c->fired;
	}
	return fired;
}

/* Each batch of rules replaces the one before, as a reload does. */
static void run_batches(enum act first, unsigned int kinds, const char *when)
{
	struct detectors *d = open_detectors();
	struct batch *b = calloc(BATCHES, sizeof(*b));
	uint64_t fired = 0, lost = 0;
	int compared = 0;

	assert_non_null(b);
	for (int i = 0; i < BATCHES; i++) {
		make_batch(&b[i], first, when);
		random_acts(first, kinds);
		update(d, b[i].rules, RULES, b[i].slots);
		lost = missing(d);
		await_success(spawn(perform, NULL, 0));
		if (missing(d) != lost)
			continue;
		try_acts(&b[i]);
		fired += compare(&b[i], d);
		compared++;
	}
	print_message("%d batches, %llu fired\n", compared, (unsigned long long)fired);
	assert_true(compared > BATCHES / 2 && fired > (uint64_t)compared * RULES);
	detectors__free(d);
	for (int i = 0; i < BATCHES; i++)
		batch_free(&b[i]);
	free(b);
}

static void test_paths_and_peers(void **state)
{
	SKIP_UNLESS_POSSIBLE();
	run_batches(OPEN, SEND - OPEN + 1, "syscall:openat,connect,sendto > 1ns");
}

static void test_strings_of_functions(void **state)
{
	SKIP_UNLESS_UPROBES();
	run_batches(TEXT, 1, "uprobe:SELF:watched_texts");
}

static void test_strings_of_calls(void **state)
{
	SKIP_UNLESS_UPROBES();
	run_batches(TEXT, 1, "uprobe:SELF:watched_texts > 1ns");
}

static void test_strings_of_static_probes(void **state)
{
	SKIP_UNLESS_UPROBES();
	run_batches(PROBE, 1, "usdt:SELF:frbpf_unit:tick");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_and_peers),
		cmocka_unit_test(test_strings_of_functions),
		cmocka_unit_test(test_strings_of_calls),
		cmocka_unit_test(test_strings_of_static_probes),
	};

	test_pid();
	make_strings();
	return cmocka_run_group_tests(tests, start_reader, stop_reader);
}
