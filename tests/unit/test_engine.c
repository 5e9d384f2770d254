// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random conditions on random events: the reference in user space and the engine in the kernel must
 * agree. Skips without root or kernel BTF.
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
#include <bpf/libbpf.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/rule_table.h"
#include "detect/engine/text_set.h"
#include "random_draw.h"
#include "engine_test.skel.h"

#define EXPRESSIONS 10000
#define BATCH	    64 /* fewer patterns than BPF has room for */

/* The first members of struct match in bpf/engine.bpf.h, with room for the rest. */
struct event {
	char path[2][3][768]; /* [task][of the cgroup, of the executable, of the call] */
	__u64 val[2][FRBPF_FIELD_MAX][2];
	__u64 cgroup[2][FRBPF_CGROUP_DEPTH];
	__u64 rest[32];
};

struct batch {
	struct rule_conf rules[BATCH];
	struct expr_subject subjects[BATCH];
	uint32_t slots[BATCH];
	struct rule_table table;
	struct cgroups *cgroups;
	struct slots in_force; /* the slots of the patterns of the last batch */
};

static const char *const names[] = {
	"", "a", "ab", "abab", "bash", "fifteen-letters", "kworker/0:1H"
};
static const char *const patterns[] = { "*",	 "a*",	    "*b",     "?",	     "a?",
					"[ab]*", "[!a]*",   "*ab*ab", "*-*s",	     "k*/[0-9]:*H",
					"a*b*",	 "??????*", "",	      "fifteen-*rs", "[^k]*[]r]" };
static const long long numbers[] = { -516, -11, -1, 0, 1, 2, 3, 7, 64, 120, 139, 4096, 1LL << 40 };
/* level and path of cgroup i; its ancestors are the cgroups whose path is a prefix of its own */
static const char *const paths[] = { "/", "/a", "/b", "/a/b", "/a/b/c", "/ab" };

/* of cgroups and of executables */
static const char *const path_patterns[] = {
	"/",
	"/*",
	"*",
	"/a",
	"/?",
	"/a/*",
	"*/b",
	"/[!a]*",
	"/a/b/c",
	"/*/*/*",
	"/a*/b*",
	"*/c*b",
	"?*?*?*",
	"/*b*",
	"/*c",
	"[/]",
	"*\\\"*",
	"/usr/*/postgresql/*/bin/post*",
	"/usr/lib/a-rather-long-name/of-a-path/with-more-than-64/elements-in-it/and-still-one/*x",
	"*/elements*",
	"*elements-in-it/*",
	"*1",
	"*/*/*/*/*/*/*/*/*/*"
};
static const char *const exes[] = {
	"",
	"/",
	"/a",
	"/a/b",
	"/usr/lib/postgresql/15/bin/postgres",
	"/memfd:x",
	"/a/[b]*",
	"/usr/lib/a-rather-long-name/of-a-path/with-more-than-64/elements-in-it/and-still-one/ax",
	"/usr/lib/a-rather-long-name/of-a-path/with-more-than-64/elements-in-it/and-still-one/b",
};

static void random_path(const struct expr_field_desc *f, struct buf *out)
{
	static const char *const ops[] = { "==", "!=" };
	const char *exe;

	if (draw(2)) {
		buf__printf(out, "~ \"%s\"", PICK(path_patterns));
	} else if (f->type == EXPR_PATH) {
		buf__printf(out, "%s %s", ops[draw(2)], PICK(paths));
	} else {
		do
			exe = PICK(exes);
		while (!*exe);
		if (draw(2))
			buf__printf(out, "%s \"%s\"", ops[draw(2)], exe);
		else
			buf__printf(out, "in (/a/b, \"%s\")", exe);
	}
}

static void random_value(const struct expr_field_desc *f, struct buf *out)
{
	long long n;

	if (f->type == EXPR_STRING) {
		buf__printf(out, "\"%s\"", PICK(names));
		return;
	}
	do {
		n = PICK(numbers);
	} while (n < f->min || n > f->max);
	buf__printf(out, "%lld%s", n, f->type == EXPR_DURATION ? "ns" : "");
}

static void random_comparison(struct buf *out)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };
	const struct expr_field_desc *f = &expr_fields[draw(FRBPF_FIELD_ARG - 1)];
	unsigned int kind = draw(4);

	buf__printf(out, "%s%s ", !f->of_event && draw(3) == 0 ? "current." : "", f->name);
	if (f->type == EXPR_PATH || f->type == EXPR_EXE || f->type == EXPR_NAME) {
		random_path(f, out);
	} else if (f->type == EXPR_STRING && kind < 2) {
		buf__printf(out, "~ \"%s\"", PICK(patterns));
	} else if (kind == 2) {
		buf__add_str(out, "in (");
		random_value(f, out);
		buf__add_str(out, ", ");
		random_value(f, out);
		buf__add_str(out, ")");
	} else if (f->type == EXPR_NUMBER && kind == 3) {
		buf__printf(out, "& %u", 1 + draw(f->max < 512 ? 127 : 4000));
	} else {
		buf__printf(out, "%s ", ops[draw(f->type == EXPR_STRING ? 2 : 6)]);
		random_value(f, out);
	}
}

static void random_expr(struct buf *out, int depth)
{
	int n = 1 + draw(3);

	for (int i = 0; i < n; i++) {
		if (i)
			buf__add_str(out, draw(2) ? " && " : " || ");
		if (draw(4) == 0)
			buf__add_str(out, "!");
		buf__add_str(out, "(");
		if (depth && draw(2))
			random_expr(out, depth - 1);
		else
			random_comparison(out);
		buf__add_str(out, ")");
	}
}

static void random_subject(struct expr_subject *s)
{
	memset(s, 0, sizeof(*s));
	for (int who = 0; who < 2; who++) {
		for (const struct expr_field_desc *f = expr_fields; f->name; f++) {
			__u64 *val = s->val[who][f->field];

			if (f->type == EXPR_STRING)
				strncpy((char *)val, PICK(names), FRBPF_COMM_LEN);
			else
				val[0] = PICK(numbers);
		}
		s->cgroup[who] = PICK(paths);
		s->exe[who] = PICK(exes);
	}
	s->path = PICK(exes);
}

/* The id of a cgroup is its index plus 1. Its ancestors come first, by level, as in the kernel. */
static void put_cgroup(const char *path, __u64 *ids)
{
	ids[0] = 1;
	for (size_t i = 1, level = 0; i < ARRAY_SIZE(paths); i++) {
		size_t len = strlen(paths[i]);

		if (!strncmp(path, paths[i], len) && (!path[len] || path[len] == '/'))
			ids[++level] = i + 1;
	}
}

/* The bytes after the NUL are garbage, as they are undefined in BPF. */
static void put_paths(const struct expr_subject *s, int who, struct event *e)
{
	put_cgroup(s->cgroup[who], e->cgroup[who]);
	memset(e->path[who], 'x', sizeof(e->path[who]));
	strcpy(e->path[who][0], s->cgroup[who]);
	strcpy(e->path[who][1], s->exe[who]);
	strcpy(e->path[who][2], s->path);
}

/* A condition within the limits, and its rule. */
static void random_rule(struct rule_conf *rule, struct buf *text)
{
	int err;

	memset(rule, 0, sizeof(*rule));
	rule->when.source = FRBPF_SOURCE_RUNQLAT;
	rule->when.threshold = 1;
	do {
		struct source_text *src;
		struct diags d = { 0 };

		text->len = 0;
		random_expr(text, 2);
		assert_int_equal(source_text__from_string("f", text->data, &src), 0);
		diags__keep(&d, src);
		err = expr__parse(src, (struct span){ 0, src->len }, &(struct field_scope){ 0 }, &d,
				  &rule->expr);
		if (err && !strstr(d.v[0].msg, "a rule has at most"))
			fail_msg("%s: %s", text->data, d.v[0].msg);
		diags__free(&d);
	} while (err);
}

static void make_batch(struct batch *b, struct buf *texts)
{
	for (int i = 0; i < BATCH; i++) {
		random_rule(&b->rules[i], &texts[i]);
		random_subject(&b->subjects[i]);
	}
}

static void put_batch(struct batch *b, struct engine_test_bpf *skel)
{
	int rules = bpf_map__fd(skel->maps.rules), globs = bpf_map__fd(skel->maps.globs);
	int events = bpf_map__fd(skel->maps.events), ids = bpf_map__fd(skel->maps.cgroups);
	struct pattern_set *wanted;
	struct cgroup_set *set;

	assert_int_equal(cgroup_set__make(b->cgroups, b->rules, BATCH, &set), 0);
	assert_int_equal(pattern_set__make(&b->in_force, b->rules, BATCH, &wanted), 0);
	assert_int_equal(pattern_set__write(wanted, bpf_map__fd(skel->maps.path_globs)), 0);
	assert_int_equal(rule_table__build(&b->rules[0].when, b->rules, BATCH, b->slots, set,
					   wanted, &b->table),
			 0);
	b->in_force = *pattern_set__slots(wanted);
	pattern_set__free(wanted);
	for (uint32_t i = 0; i < ARRAY_SIZE(paths); i++) {
		__u64 id = i + 1;
		uint32_t index;

		if (cgroup_set__has(set, paths[i], &index))
			assert_int_equal(bpf_map_update_elem(ids, &index, &id, BPF_ANY), 0);
	}
	cgroup_set__free(set);
	for (uint32_t i = 0; i < BATCH; i++) {
		struct event e = { 0 };

		memcpy(e.val, b->subjects[i].val, sizeof(e.val));
		for (int who = 0; who < 2; who++)
			put_paths(&b->subjects[i], who, &e);
		assert_int_equal(bpf_map_update_elem(events, &i, &e, BPF_ANY), 0);
		assert_int_equal(bpf_map_update_elem(rules, &(uint32_t){ 2 * i },
						     &b->table.rules[i], BPF_ANY),
				 0);
	}
	for (uint32_t i = 0; i < b->table.n_globs; i++)
		assert_int_equal(bpf_map_update_elem(globs, &(uint32_t){ 2 * i },
						     &b->table.globs[i], BPF_ANY),
				 0);
	skel->bss->n_events = BATCH;
}

static void test_conditions(void **state)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct batch *b = calloc(1, sizeof(*b));
	struct buf texts[BATCH] = { 0 };
	struct engine_test_bpf *skel;
	int done = 0, held = 0;

	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK)) {
		free(b);
		print_message("skipped: needs root and kernel BTF\n");
		skip();
	}
	assert_non_null(b);
	skel = engine_test_bpf__open_and_load();
	assert_non_null(skel);
	assert_in_range(bpf_map__value_size(skel->maps.events), offsetof(struct event, rest),
			sizeof(struct event));
	b->cgroups = cgroups__new(-1);
	assert_non_null(b->cgroups);
	while (done < EXPRESSIONS) {
		make_batch(b, texts);
		put_batch(b, skel);
		assert_int_equal(
			bpf_prog_test_run_opts(bpf_program__fd(skel->progs.conditions), &opts), 0);
		for (int i = 0; i < BATCH; i++, done++) {
			bool expected = expr__eval(&b->rules[i].expr, &b->subjects[i]);

			if (skel->bss->held[i] != expected)
				fail_msg("'%s' is %d", texts[i].data, expected);
			held += expected;
			expr__free(&b->rules[i].expr);
		}
	}
	print_message("%d conditions, %d held\n", done, held);
	assert_in_range(held, done / 4, done / 4 * 3);
	for (int i = 0; i < BATCH; i++)
		buf__free(&texts[i]);
	cgroups__free(b->cgroups);
	engine_test_bpf__destroy(skel);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
