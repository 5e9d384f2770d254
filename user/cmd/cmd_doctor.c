// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/doctor.h"

struct report {
	json_t *findings; /* NULL: print them */
	size_t n[FINDING_NO + 1];
};

static const char *const level_names[] = {
	[FINDING_OK] = "ok",
	[FINDING_LESS] = "less",
	[FINDING_NO] = "no",
};

/* Print @text; its further lines are indented. */
static void print_lines(const char *text, int indent)
{
	for (const char *p = text; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("%*s", indent, "");
	}
	putchar('\n');
}

static void report__add(const struct finding *f, void *arg)
{
	struct report *r = arg;

	r->n[f->level]++;
	if (r->findings) {
		json_array_append_new(r->findings,
				      json_pack("{s:s, s:s, s:s, s:s*}", "part", f->part, "level",
						level_names[f->level], "text", f->text, "remedy",
						f->remedy));
		return;
	}
	printf("%-4s  %-24s  ", level_names[f->level], f->part);
	print_lines(f->text, 32);
	if (f->remedy) {
		printf("%30s> ", "");
		print_lines(f->remedy, 32);
	}
	fflush(stdout);
}

static int run_doctor(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	struct report r = { 0 };
	bool json = false;
	enum cmd_parse p;
	json_t *out;
	int opt;

	while ((p = cmd_next_option(&cmd_doctor, argc, argv, ":h", long_opts, &hint, &opt)) ==
	       CMD_OPTION)
		json = true;
	if (p == CMD_EXIT)
		return opt;
	if (optind < argc)
		return cmd_usage_error(&cmd_doctor, "it takes no arguments");
	r.findings = json ? json_array() : NULL;
	doctor__examine(&hint, report__add, &r);
	if (json) {
		out = json_pack("{s:b, s:o}", "ok", !r.n[FINDING_NO], "findings", r.findings);
		if (out && json_dumpf(out, stdout, JSON_INDENT(2)) == 0)
			putchar('\n');
		json_decref(out);
	} else {
		printf("\n%zu work%s, %zu with less, %zu not\n", r.n[FINDING_OK],
		       r.n[FINDING_OK] == 1 ? "s" : "", r.n[FINDING_LESS], r.n[FINDING_NO]);
	}
	return r.n[FINDING_NO] ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.run = run_doctor,
	.usage = "[--json]",
	.summary = "what this kernel and these privileges allow, and how to get the rest",
	.help = "Each line is one part. ok: it works. less: it works, but knows less or costs\n"
		"more. no: it does not work here. After > is the remedy. A rule of each source\n"
		"is attached for a moment; it cannot fire. evidence: what frbpf why reads can be\n"
		"recorded, or what why cannot tell then. BPF programs of other tools that take\n"
		"events from our sessions are listed. Exit status 1: a part does not work.\n\n"
		"      --json          everything as JSON\n",
};
