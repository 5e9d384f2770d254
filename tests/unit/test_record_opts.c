// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/record_opts.h"

#define PAGE 4096

struct parsed {
	struct source_text *src;
	struct record_opts *o; /* NULL: refused */
	struct diags d;
};

static struct parsed parse(const char *line)
{
	struct parsed p = { 0 };
	int err;

	assert_int_equal(source_text__from_string("run", line, &p.src), 0);
	err = record_opts__parse(p.src, (struct span){ 0, p.src->len }, PAGE, &p.d, &p.o);
	assert_int_equal(err, p.d.n_errors ? -22 : 0);
	assert_int_equal(err == 0, p.o != NULL);
	return p;
}

static void release(struct parsed *p)
{
	record_opts__free(p->o);
	diags__free(&p->d);
	source_text__free(p->src);
}

/* Options as their effect, in one line of text. */
static void test_values(void **state)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ "", "" },
		{ "-a", "a " },
		{ "--all-cpus --no-all-cpus", "" },
		{ "-F99", "F99 " },
		{ "-F 99 --freq=100", "F100 " },
		{ "--freq max", "Fmax " },
		{ "--freq max -F 7", "F7 " },
		{ "-c 1000", "c1000 " },
		{ "--cou=5", "c5 " },
		{ "-g", "g0 " },
		{ "-agm1", "a g0 m4096 " },
		{ "--call-graph fp", "g0 " },
		{ "--call-graph=fp,16", "g16 " },
		{ "--call-graph fp,16 --no-call-graph", "" },
		{ "-g --no-call", "" },
		{ "-m 128", "m524288 " },
		{ "-m 3", "m16384 " },
		{ "-m 10M", "m16777216 " },
		{ "-m16K", "m16384 " },
		{ "-m 1B", "m4096 " },
		{ "-m 1G --mmap-pages=8", "m32768 " },
		{ "--overwrite", "w " },
		{ "--overw --no-over", "" },
		{ "--switch-output", "s " },
		{ "--switch-output=signal", "s " },
		{ "--switch-output --no-switch-output", "" },
		{ "-a --", "a " },
		{ "-e cycles", "e[cycles] " },
		{ "-ecs,faults -e a:b", "e[cs] e[faults] e[a:b] " },
		{ "-e x/p=1,q=2/u,{a,b}:S,y", "e[x/p=1,q=2/u] e[{a,b}:S] e[y] " },
		{ "-e 'a b'", "e[a b] " },
		{ "-e \"a\\\"b\\c\"", "e[a\"b\\c] " },
		{ "-e a\\ b", "e[a b] " },
		{ "-a \\\n\t-g", "a g0 " },
		{ "\"-a -e cs\"", "a e[cs] " },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct parsed p = parse(rows[i].line);
		const struct record_opts *o = p.o;
		struct buf b = { 0 };

		if (!o)
			fail_msg("refused: %s", rows[i].line);
		buf__add_str(&b, o->system_wide ? "a " : "");
		buf__add_str(&b, o->freq_max ? "Fmax " : "");
		if (o->freq)
			buf__printf(&b, "F%llu ", (unsigned long long)o->freq);
		if (o->period)
			buf__printf(&b, "c%llu ", (unsigned long long)o->period);
		if (o->callchain)
			buf__printf(&b, "g%u ", o->max_stack);
		if (o->mmap_bytes)
			buf__printf(&b, "m%llu ", (unsigned long long)o->mmap_bytes);
		buf__add_str(&b, o->overwrite ? "w " : "");
		buf__add_str(&b, o->switch_output ? "s " : "");
		for (size_t e = 0; e < o->n_events; e++)
			buf__printf(&b, "e[%s] ", o->events[e].text);
		assert_string_equal(b.data, rows[i].want);
		buf__free(&b);
		release(&p);
	}
}

/* Each refused line gives one error, at the token and with these words. */
static const struct {
	const char *line, *token, *words;
} error_rows[] = {
	{ "-a --proc-map-timeout 500", "--proc-map-timeout",
	  "option '--proc-map-timeout' of perf record is not supported in a session" },
	{ "-ap1", "p", "option '-p' of perf record is not supported" },
	{ "-p 1 -a", "-p", "option '-p' of perf" },
	{ "--inherit", "--inherit", "option '--inherit' of perf record is not supported" },
	{ "--no-inh", "--no-inh", "option '--no-inherit' of perf record is not supported" },
	{ "--tail=1", "--tail", "option '--tail-synthesize' of perf record is not" },
	{ "-a sleep 1", "sleep", "a session runs no command" },
	{ "-a -- sleep", "--", "a session runs no command" },
	{ "-a -", "-", "a session runs no command" },
	{ "--overwrit3", "--overwrit3", "did you mean '--overwrite'?" },
	{ "--bogus-thing=3 -a", "--bogus-thing", "unknown option '--bogus-thing'" },
	{ "-x", "-x", "unknown option '-x'" },
	{ "-ax", "x", "unknown option '-x'" },
	{ "--sw", "--sw", "'--sw' is ambiguous" },
	{ "--no", "--no", "ambiguous" },
	{ "--overwrite=1", "--overwrite", "takes no value" },
	{ "--no-overwrite=1", "--no-overwrite", "takes no value" },
	{ "--no-freq", "--no-freq", "there is no option '--no-freq'" },
	{ "-a -e", "-e", "option '-e' needs a value" },
	{ "-F 99 -c 5", "5", "exclude each other" },
	{ "-F max -c 5", "5", "exclude each other" },
	{ "-F 0", "0", "a frequency of 0 records nothing" },
	{ "-Fmin", "min", "a frequency 'min'" },
	{ "-F -5", "-5", "a frequency '-5'" },
	{ "-F 5000000000", "5000000000", "out of range" },
	{ "-F ''", "", "a frequency ''" },
	{ "-c 0", "0", "a period of 0" },
	{ "-c 1e6", "1e6", "a period '1e6'" },
	{ "-c 18446744073709551615", "18446744073709551615", "out of range" },
	{ "-c 18446744073709551616", "18446744073709551616", "a period" },
	{ "-m 0", "0", "at least one page" },
	{ "-m 0K", "0K", "at least one page" },
	{ "-m x", "x", "ring size 'x'" },
	{ "-m 10T", "10T", "ring size '10T'" },
	{ "-m 8589934592", "8589934592", "too large" },
	{ "-m 8,8", ",8", "AUX area" },
	{ "--call-graph dwarf,8192", "dwarf", "not supported yet: use --call-graph fp" },
	{ "--call-graph lbr", "lbr", "not supported yet" },
	{ "--call-graph fpp", "fpp", "unknown kind of call graph" },
	{ "--call-graph fp,0", "0", "a stack depth of 0" },
	{ "--call-graph fp,x", "x", "a stack depth 'x'" },
	{ "--call-graph fp,70000", "70000", "out of range" },
	{ "--switch-output=10M", "10M", "write --switch-output" },
	{ "-e cs,,faults", "", "an event is missing" },
	{ "-e ''", "", "an event is missing" },
	{ "-e cs,", "", "an event is missing" },
	{ "-a -e 'cs", "'", "no closing one" },
	{ "-a -e \"cs", "\"", "no closing one" },
};

static void test_errors(void **state)
{
	for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
		struct parsed p = parse(error_rows[i].line);
		const struct diag *error = NULL;

		for (size_t m = 0; m < p.d.n; m++)
			if (p.d.v[m].level == DIAG_ERROR)
				error = &p.d.v[m];
		if (!error || p.d.n_errors != 1)
			fail_msg("%zu errors: %s", p.d.n_errors, error_rows[i].line);
		if (!strstr(error->msg, error_rows[i].words))
			fail_msg("%s\ngives: %s\nnot:   %s", error_rows[i].line, error->msg,
				 error_rows[i].words);
		if (error->span.len != strlen(error_rows[i].token) ||
		    strncmp(p.src->text + error->span.off, error_rows[i].token, error->span.len))
			fail_msg("%s\nplace: '%.*s'", error_rows[i].line, (int)error->span.len,
				 p.src->text + error->span.off);
		release(&p);
	}
}

static void test_all_errors_are_told(void **state)
{
	struct parsed p = parse("-F 0 --bogus -p 1 -m x sleep -z");

	assert_int_equal(p.d.n_errors, 5);
	release(&p);
}

static void test_overwrite_warning(void **state)
{
	static const struct {
		const char *line;
		size_t warnings;
	} rows[] = { { "-a", 1 }, { "-a --overwrite", 0 }, { "-a --switch-output", 0 } };

	for (size_t i = 0; i < 3; i++) {
		struct parsed p = parse(rows[i].line);

		assert_int_equal(p.d.n, rows[i].warnings);
		release(&p);
	}
}

/* The span of an item is what stands in the file, quotes inside it included. */
static void test_places(void **state)
{
	struct parsed p = parse("-a -e cs,'fau'lts --freq=99");
	const struct event_item *e;

	assert_non_null(p.o);
	e = p.o->events;
	assert_int_equal(e[0].span.off, 6);
	assert_int_equal(e[0].span.len, 2);
	assert_string_equal(e[1].text, "faults");
	assert_int_equal(e[1].span.off, 10);
	assert_int_equal(e[1].span.len, 7);
	assert_int_equal(p.o->freq_span.off, 25);
	assert_int_equal(p.o->freq_span.len, 2);
	release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_all_errors_are_told),
		cmocka_unit_test(test_overwrite_warning),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
