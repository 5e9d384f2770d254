// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/cleanup.h"
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

/* The effect of options, in one line of text. */
static const struct {
	const char *line, *want;
} value_rows[] = {
	{ "", "" },
	{ "-a", "a " },
	{ "--all-cpus --no-all-cpus", "" },
	{ "-F99", "F99 " },
	{ "-F 99 --freq=100", "F100 " },
	{ "--freq max", "Fmax " },
	{ "--freq max -F 7", "F7 " },
	{ "-c 1000", "c1000 " },
	{ "--off-cpu", "off=1000000ns " },
	{ "--off-cpu --off-cpu-thresh 20", "off=20000000ns " },
	{ "--off-cpu-thresh=0 --off-cpu", "off=0ns " },
	{ "--off-cpu --no-off-cpu", "" },
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
	{ "--switch-output=10s", "s every=10000000000ns " },
	{ "--switch-output=2m", "s every=120000000000ns " },
	{ "--switch-output=2M", "s every=2097152B " },
	{ "--switch-output=1d --switch-output=4K", "s every=4096B " },
	{ "--switch-output=10s --switch-output", "s " },
	{ "--switch-output=10s --no-switch-output", "" },
	{ "--switch-max-files 3", "files=3 " },
	{ "-o x", "o[x] " },
	{ "--output=/var/tmp/x.data", "o[x.data] " },
	{ "-o x --no-output", "" },
	{ "-z", "z1 " },
	{ "-z0", "z1 " },
	{ "-z22", "z22 " },
	{ "--compression-level=99", "z22 " },
	{ "-z5 --no-compression-level", "" },
	{ "-a --", "a " },
	{ "-e cycles", "e[cycles] " },
	{ "-ecs,faults -e a:b", "e[cs] e[faults] e[a:b] " },
	{ "-e x/p=1,q=2/u,{a,b}:S,y", "e[x/p=1,q=2/u] e[{a,b}:S] e[y] " },
	{ "-e 'a b'", "e[a b] " },
	{ "-e \"a\\\"b\\c\"", "e[a\"b\\c] " },
	{ "-e a\\ b", "e[a b] " },
	{ "-a \\\n\t-g", "a g0 " },
	{ "\"-a -e cs\"", "a e[cs] " },
	{ "-a sleep 1", "a $[sleep] $[1] " },
	{ "-a -- sleep -a", "a $[sleep] $[-a] " },
	{ "sh -c 'sleep 1' -- -g", "$[sh] $[-c] $[sleep 1] $[--] $[-g] " },
	{ "-a -", "a $[-] " },
	{ "--latency --sample-mem-info -p 1", "sw mem " },
	{ "--latency -C 0", "sw " },
	{ "--latency true", "sw $[true] " },
	{ "-a --latency --no-latency", "a " },
};

static void print_output(const struct record_output *o, struct buf *b)
{
	if (o->every_ns)
		buf__printf(b, "every=%lluns ", (unsigned long long)o->every_ns);
	if (o->every_bytes)
		buf__printf(b, "every=%lluB ", (unsigned long long)o->every_bytes);
	if (o->max_files)
		buf__printf(b, "files=%u ", o->max_files);
	if (o->name[0])
		buf__printf(b, "o[%s] ", o->name);
	if (o->compression)
		buf__printf(b, "z%u ", o->compression);
}

static void print_effect(const struct record_opts *o, struct buf *b)
{
	buf__add_str(b, o->system_wide ? "a " : "");
	buf__add_str(b, o->freq_max ? "Fmax " : "");
	if (o->off_cpu)
		buf__printf(b, "off=%luns ", (unsigned long)o->off_cpu_least);
	if (o->freq)
		buf__printf(b, "F%llu ", (unsigned long long)o->freq);
	if (o->period)
		buf__printf(b, "c%llu ", (unsigned long long)o->period);
	if (o->call_graph != CALL_GRAPH_NONE)
		buf__printf(b, "g%u ", o->max_stack);
	if (o->mmap_bytes)
		buf__printf(b, "m%llu ", (unsigned long long)o->mmap_bytes);
	buf__add_str(b, o->overwrite ? "w " : "");
	buf__add_str(b, o->switch_output ? "s " : "");
	buf__add_str(b, o->switch_events ? "sw " : "");
	buf__add_str(b, o->mem_info ? "mem " : "");
	print_output(&o->output, b);
	for (size_t e = 0; e < o->n_events; e++)
		buf__printf(b, "e[%s] ", o->events[e].text);
	for (char **w = o->command; w && *w; w++)
		buf__printf(b, "$[%s] ", *w);
}

static void test_values(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(value_rows); i++) {
		struct parsed p = parse(value_rows[i].line);
		struct buf b = { 0 };

		if (!p.o)
			fail_msg("refused: %s", value_rows[i].line);
		print_effect(p.o, &b);
		assert_string_equal(b.data, value_rows[i].want);
		buf__free(&b);
		release(&p);
	}
}

/* Each refused line gives one error, at the token and with these words. */
static const struct {
	const char *line, *token, *words;
} error_rows[] = {
	{ "-a --proc-map-timeout x", "x", "'x' is not a number" },
	{ "-ap1x", "1x", "'1x' is not the number of a process" },
	{ "-p ''", "", "not the number of a process" },
	{ "-p 1,,2", "", "not the number of a process" },
	{ "-t 0", "0", "not the number of a process" },
	{ "-C 3-1", "3-1", "'3-1' is not a CPU" },
	{ "-C x", "x", "'x' is not a CPU" },
	{ "-u ''", "", "a user is missing" },
	{ "-a -G foo", "foo", "define events before cgroups" },
	{ "-e cs -G foo -p 1", "foo", "remove -p, -t or -u" },
	{ "--tail=1", "--tail", "takes no value" },
	{ "-a --control fd:1,2", "--control", "is not for a session: a session has its own fifos" },
	{ "-a --dry-run", "--dry-run", "use `frbpf check`" },
	{ "--off-cpu --off-cpu-thresh 1x", "1x", "'1x' is not a number of milliseconds" },
	{ "--off-cpu --off-cpu-thresh -5", "-5", "'-5' is not a number of milliseconds" },
	{ "--off-cpu-thresh 9223372036855", "9223372036855", "out of range" },
	{ "--no-off-cpu-thresh", "--no-off-cpu-thresh", "there is no option" },
	{ "-p $(pidof x)", "$(pidof x)", "what the command prints instead of '$(pidof x)'" },
	{ "-p $(pidof -s x) -e cs", "$(pidof -s x)", "instead of '$(pidof -s x)'" },
	{ "-p `pidof x` -e cs", "`pidof x`", "instead of '`pidof x`'" },
	{ "-t$(cat x)", "$(cat x)", "instead of '$(cat x)'" },
	{ "-a -o $(date)", "$(date)", "instead of '$(date)'" },
	{ "-C $(nproc --all", "$(nproc --all", "instead of '$(nproc --all'" },
	{ "-a --switch-output-event cs", "--switch-output-event", "write a rule" },
	{ "-a -S", "-S", "is not for a session: there is no AUX area" },
	{ "-a --aux-sample", "--aux-sample", "use -b, -j or --call-graph lbr" },
	{ "-a --filter x", "x", "must come after the -e" },
	{ "-e a:b --filter ''", "", "a filter is missing" },
	{ "--exclude-perf -e a:b", "--exclude-perf", "must come after the -e" },
	{ "--all-user --all-kernel", "--all-user --all-kernel", "exclude each other" },
	{ "-b -j any", "any", "exclude each other" },
	{ "-j any,foo", "foo", "unknown branch filter 'foo'" },
	{ "-j ''", "", "unknown branch filter" },
	{ "-Ifoo", "foo", "unknown register 'foo'" },
	{ "--user-regs=ip,", "", "unknown register ''" },
	{ "-D x", "x", "'x' is not a delay" },
	{ "-D -5", "-5", "'-5' is not a delay" },
	{ "-D 20-10", "20-10", "is not a delay" },
	{ "-D 10-20,15-30", "10-20,15-30", "must be in order" },
	{ "-D 10-20,30", "10-20,30", "write FROM-TO" },
	{ "-k foo", "foo", "unknown clock 'foo'" },
	{ "-k monotonik", "monotonik", "did you mean 'monotonic'" },
	{ "--synth=foo", "foo", "unknown kind 'foo'" },
	{ "--affinity x", "x", "unknown affinity" },
	{ "--max-size x", "x", "'x' is not a size" },
	{ "-zx", "x", "'x' is not a number" },
	{ "-r x", "x", "'x' is not a number" },
	{ "-C ''", "", "'' is not a CPU" },
	{ "-C 0,,1", "", "'' is not a CPU" },
	{ "-C 0-", "0-", "'0-' is not a CPU" },
	{ "-t x", "x", "not the number of a process" },
	{ "-p -1", "-1", "not the number of a process" },
	{ "--call-graph dwarf,x", "x", "a stack size 'x'" },
	{ "--call-graph ''", "", "unknown kind of call graph" },
	{ "--user-regs=zz", "zz", "unknown register 'zz'" },
	{ "-D ''", "", "'' is not a delay" },
	{ "-k ''", "", "unknown clock ''" },
	{ "--aio=x", "x", "'x' is not a number" },
	{ "--latency", "--latency", "--latency is not for all tasks" },
	{ "-a --latency -p 1", "--latency", "--latency is not for all tasks" },
	{ "--setup-filter=pin", "--setup-filter", "it prepares BPF filters" },
	{ "--pfm-events x", "--pfm-events", "names of libpfm4 are not known here" },
	{ "--call-graph fp,defer", "defer", "deferred callchains are records" },
	{ "--no-pid", "--no-pid", "there is no option '--no-pid'" },
	{ "--no-mmap-pages", "--no-mmap-pages", "there is no option" },
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
	{ "--call-graph dwarf,65529", "65529", "out of range" },
	{ "--call-graph dwarf,0", "0", "a stack size of 0" },
	{ "--call-graph lbr,5", "5", "lbr takes no size" },
	{ "--call-graph fpp", "fpp", "unknown kind of call graph" },
	{ "--call-graph fp,0", "0", "a stack depth of 0" },
	{ "--call-graph fp,x", "x", "a stack depth 'x'" },
	{ "--call-graph fp,70000", "70000", "out of range" },
	{ "--switch-output=10", "10", "'10' is not when to dump" },
	{ "--switch-output=10T", "10T", "is not when to dump" },
	{ "--switch-output=10ms", "10ms", "is not when to dump" },
	{ "--switch-output=1B", "1B", "too often" },
	{ "--switch-output=0s", "0s", "too often" },
	{ "--switch-output=", "", "is not when to dump" },
	{ "--switch-max-files 0", "0", "a number of dumps of 0" },
	{ "--switch-max-files 4294967296", "4294967296", "out of range" },
	{ "-o ''", "", "names no file" },
	{ "-o dir/", "dir/", "names no file" },
	{ "-o .x", ".x", "names no file" },
	{ "-o 123456789012345678901234567890123", "123456789012345678901234567890123", "too long" },
	{ "-o -", "-", "a session writes files, not a pipe" },
	{ "-e cs,,faults", "", "an event is missing" },
	{ "-e ''", "", "an event is missing" },
	{ "-e cs,", "", "an event is missing" },
	{ "-a -e 'cs", "'", "is not closed" },
	{ "-a -e \"cs", "\"", "is not closed" },
};

static void test_errors(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(error_rows); i++) {
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
	struct parsed p = parse("-F 0 --bogus -p x -m x sleep -z");

	assert_int_equal(p.d.n_errors, 4); /* options after the command belong to the command */
	release(&p);
}

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
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
