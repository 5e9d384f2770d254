// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/diff_report.h"
#include "analyse/recordings.h"
#include "cmd/cmd.h"
#include "cmd/operand.h"
#include "common/json_text.h"
#include "common/log.h"
#include "common/printable.h"
#include "rules/units.h"

struct diff {
	struct diff_options opts;
	const char *operands[2];
	struct recordings sides[2];
	struct profile_tables tables;
	json_t *sessions;
	bool differs;
};

static int add_diff_files(struct profile *p, const struct recording_session *s)
{
	struct err err = { 0 };

	for (size_t i = 0; i < s->n_files; i++) {
		if (profile__add_file(p, s->files[i], &err)) {
			log_error("%s", make_printable(err.msg));
			return EXIT_FAILED;
		}
	}
	return 0;
}

static int compare_session(struct diff *d, const struct recording_session *a,
			   const struct recording_session *b)
{
	struct profile pa, pb;
	int status;

	profile__init(&pa, &d->tables);
	profile__init(&pb, &d->tables);
	status = add_diff_files(&pa, a) ?: add_diff_files(&pb, b);
	if (!status && d->opts.json) {
		json_t *s = diff_json__session(a->name, &pa, &pb, &d->opts);

		status = s ? 0 : EXIT_FAILED;
		json_array_append_new(d->sessions, s);
	} else if (!status) {
		status = diff_text__session(a->name, &pa, &pb, &d->opts, &d->differs) ? EXIT_FAILED
										      : 0;
	}
	profile__free(&pa);
	profile__free(&pb);
	return status;
}

static void note_alone(const struct recordings *of, const struct recordings *other, char side)
{
	for (size_t i = 0; i < of->n; i++)
		if (!recordings__session(other, of->v[i].name))
			log_info("session %s is only in %c: not compared",
				 of->v[i].name[0] ? of->v[i].name : "(without a name)", side);
}

static int compare_diff_sessions(struct diff *d)
{
	const struct recordings *a = &d->sides[0], *b = &d->sides[1];
	size_t i, n = 0;
	int status = 0;

	if (a->n == 1 && b->n == 1) /* whatever their names */
		return compare_session(d, &a->v[0], &b->v[0]);
	for (i = 0; i < a->n && !status; i++) {
		const struct recording_session *s = recordings__session(b, a->v[i].name);

		if (!s)
			continue;
		n++;
		status = compare_session(d, &a->v[i], s);
	}
	if (status)
		return status;
	if (!n) {
		log_error("%s and %s have no session in common", d->operands[0], d->operands[1]);
		return EXIT_FAILED;
	}
	note_alone(a, b, 'A');
	note_alone(b, a, 'B');
	return 0;
}

static int print_missing(const char *path, const char *why, void *arg)
{
	const struct diff *d = arg;
	char *name = d->opts.verbose ? strdup(path) : NULL;

	if (name)
		log_info("%s %s", make_printable(name), why);
	free(name);
	return 0;
}

static int count_missing(const char *path, const char *why, void *arg)
{
	++*(int *)arg;
	return 0;
}

static int print_json(const struct diff *d)
{
	json_t *out = json_pack("{s:i, s:o, s:o, s:O}", "schema", 1, "a",
				json_text(d->operands[0], SIZE_MAX), "b",
				json_text(d->operands[1], SIZE_MAX), "sessions", d->sessions);
	int failed = !out || json_dumpf(out, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));

	json_decref(out);
	if (failed)
		log_error("out of memory, or the output cannot be written");
	else
		putchar('\n');
	return failed ? EXIT_FAILED : EXIT_DONE;
}

static int finish_diff(struct diff *d)
{
	int missing = 0;

	if (d->opts.json)
		return print_json(d);
	if (!d->differs)
		printf("no difference\n");
	symbols__each_missing(d->tables.symbols, print_missing, d);
	symbols__each_missing(d->tables.symbols, count_missing, &missing);
	if (missing && !d->opts.verbose)
		log_info("%d module%s without symbols: -v says which and why", missing,
			 missing == 1 ? "" : "s");
	return EXIT_DONE;
}

static int run_diff_with(struct diff *d, const struct location_hint *hint)
{
	int status;

	status = cmd_find_recordings(hint, d->operands[0], &d->sides[0])
			 ?: cmd_find_recordings(hint, d->operands[1], &d->sides[1])
			 ?: cmd_read_only();
	if (status)
		return status;
	d->sessions = json_array();
	if (!d->sessions || profile_tables__init(&d->tables)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	return compare_diff_sessions(d) ?: finish_diff(d);
}

/* 0 or EXIT_FAILED. */
static int set_option(struct diff_options *o, int opt)
{
	const char *why = "";
	char what[128];
	uint64_t n;

	switch (opt) {
	case 'j':
		o->json = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case 'n':
		if (units__number(optarg, strlen(optarg), &n, &why)) {
			snprintf(what, sizeof(what), "--limit %.32s: %.64s", optarg, why);
			return cmd_usage_error(&cmd_diff, what);
		}
		o->limit = n;
		return 0;
	default: /* 's' */
		if (strcmp(optarg, "self") && strcmp(optarg, "total")) {
			snprintf(what, sizeof(what), "--sort %.32s: self or total", optarg);
			return cmd_usage_error(&cmd_diff, what);
		}
		o->order = strcmp(optarg, "self") ? CHANGE_BY_TOTAL : CHANGE_BY_SELF;
		return 0;
	}
}

static int run_diff(int argc, char **argv)
{
	static const struct option long_opts[] = { { "json", no_argument, NULL, 'j' },
						   { "limit", required_argument, NULL, 'n' },
						   { "sort", required_argument, NULL, 's' },
						   { "verbose", no_argument, NULL, 'v' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct diff d = { .opts.limit = 20 };
	struct location_hint hint = { 0 };
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_diff, argc, argv, ":vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION)
		if (set_option(&d.opts, opt))
			return EXIT_FAILED;
	if (p == CMD_EXIT)
		return opt;
	if (argc - optind != 2)
		return cmd_usage_error(&cmd_diff, "takes two recordings, A and B");
	d.operands[0] = argv[optind];
	d.operands[1] = argv[optind + 1];
	opt = run_diff_with(&d, &hint);
	json_decref(d.sessions);
	profile_tables__free(&d.tables);
	recordings__free(&d.sides[0]);
	recordings__free(&d.sides[1]);
	return opt;
}

const struct command cmd_diff = {
	.name = "diff",
	.run = run_diff,
	.usage = "[-v] [--limit N] [--sort self|total] [--json] A B",
	.summary = "what grew and what shrank between two recordings",
	.help = "A and B are each a perf.data file, such as a dump; a directory (all perf.data*\n"
		"below it, grouped by session); or an incident as for `frbpf show`. For each\n"
		"session and event, it prints the functions whose share of the samples changed,\n"
		"alone (self) and with their callees (total), and the change per second of\n"
		"window. A change marked ~ may be chance, given the number of samples. If\n"
		"sched:sched_switch was recorded, it also prints the time off CPU, by stack and\n"
		"state.\n\n"
		"      --limit N       rows of each table (20; 0: all)\n"
		"      --sort WHAT     by the change of `self` or of `total`\n"
		"      --json          everything as JSON\n"
		"  -v, --verbose       also modules without symbols, and why\n",
};
