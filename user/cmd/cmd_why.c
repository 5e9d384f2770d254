// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyse/recordings.h"
#include "analyse/why/why_incident.h"
#include "analyse/why/why_text.h"
#include "cmd/cmd.h"
#include "cmd/incident_list.h"
#include "cmd/json_fields.h"
#include "cmd/operand.h"
#include "cmd/show_trigger.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/version.h"
#include "rules/units.h"

#define STORED_LINES	4   /* what print_stored() takes of a screen, with a long verdict */
#define EXPLAIN_SECONDS 300 /* for an incident of the daemon: the machine may be busy */

struct why_options {
	const char *input; /* -i; NULL: ask about an incident */
	struct why_question q;
	bool verbose, json;
	struct why_screen screen;
};

/* The size of standard output, if it is a terminal */
static struct why_screen screen_of_output(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return (struct why_screen){ WHY_LINES, 0 };
	return (struct why_screen){ size.ws_row, size.ws_col };
}

/* Parse a time printed by perf script, "4241.246881", into ns. 0 or EXIT_FAILED. */
static int parse_time(const char *option, const char *text, uint64_t *ret)
{
	uint64_t v = 0, scale = 1000000000;
	const char *p = text;
	char what[128];
	bool dot = false;

	for (; *p && scale; p++) {
		if (*p == '.' && !dot) {
			dot = true;
		} else if (*p < '0' || *p > '9' || v > UINT64_MAX / 100) {
			break;
		} else {
			v = v * 10 + (*p - '0');
			scale /= dot ? 10 : 1;
		}
	}
	if (p == text || *p || !scale || __builtin_mul_overflow(v, scale, ret)) {
		snprintf(what, sizeof(what),
			 "--%s %.32s: seconds as perf script has them, such as 4241.246881", option,
			 text);
		return cmd_usage_error(&cmd_why, what);
	}
	return 0;
}

static json_t *read_own_manifest(int fd, const char *base, const char *name)
{
	char dir[PATH_MAX + 16];
	struct err err = { 0 };

	snprintf(dir, sizeof(dir), "%s/incidents", base);
	return incident_list__parse_manifest(fd, name, dir, &err);
}

static json_t *explain_manifest(const json_t *manifest, const char *base)
{
	return why_incident__verdict(manifest, base, units__format_duration);
}

const struct explainer_fns cmd_why_explain = {
	.read = read_own_manifest,
	.explain = { [EXPLAINER_WHY] = explain_manifest,
		     [EXPLAINER_KERNEL_SYMBOLS] = why_incident__kernel_symbols },
	.seconds_max = EXPLAIN_SECONDS,
};

/* Ask about one task, in all recordings below a path. */
static int explain_files(const struct why_options *o, struct err *err, struct why **ret)
{
	struct recordings r = { 0 };
	struct why *w = NULL;
	int code = recordings__find(o->input, err, &r);

	if (!code && cmd_read_only())
		code = err_set(err, -EPERM, "nothing was read");
	if (!code && why__new(&w))
		code = err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !code && i < r.n; i++)
		for (size_t k = 0; !code && k < r.v[i].n_files; k++)
			code = why__add_file(w, r.v[i].files[k], 0, err);
	recordings__free(&r);
	code = code ?: why__ask(w, &o->q, err);
	if (code) {
		why__free(w);
		return code;
	}
	*ret = w;
	return 0;
}

/*
 * Ask about an incident. If that fails for a dump, ask about the trigger in its marker.
 * *ret_manifest: its manifest, owned by the caller, also on failure; NULL: none was found.
 */
static int ask_incident(const struct location_hint *hint, const char *what, struct err *err,
			struct why **ret, json_t **ret_manifest)
{
	struct incident_operand o = { 0 };
	int code = incident_operand__find(hint, what, INCIDENT_LAST_FIRED, err, &o);

	if (!code && cmd_read_only())
		code = err_set(err, -EPERM, "nothing was read");
	code = code ?: why_incident__ask(o.manifest, o.base, err, ret);
	if (code && what && incident_operand__is_dump(what))
		code = why_incident__ask_dump(what, err, ret);
	*ret_manifest = json_incref(o.manifest);
	incident_operand__free(&o);
	return code;
}

/*
 * The verdict in the manifest, made when the incident was recorded; NULL: none, or it says nothing.
 */
static json_t *stored_why(const json_t *manifest)
{
	json_t *why = json_object_get(manifest, "why");

	return num(why, "of_ns") && str(why, "verdict")[0] ? why : NULL;
}

/* There is no answer, for @reason: print what the manifest says. */
static void print_known(const struct why_options *o, json_t *manifest, const char *reason)
{
	json_t *trigger = json_array_get(json_object_get(manifest, "triggers"), 0), *j, *stored;

	if (o->json) {
		j = json_pack("{s:i, s:s, s:s, s:n, s:s, s:s, s:O?, s:O?}", "schema", 1, "verdict",
			      reason, "cause", "unknown", "culprit", "chain", "unknown", "missing",
			      "evidence", "stored", stored_why(manifest), "trigger", trigger);
		if (j && !json_dumpf(j, stdout, JSON_INDENT(2)))
			putchar('\n');
		json_decref(j);
		return;
	}
	cmd_make_printable(manifest);
	stored = stored_why(manifest);
	if (stored)
		printf("stored verdict: %s\n", str(stored, "verdict"));
	if (trigger)
		show_trigger__print(trigger, "fired");
}

/*
 * Does the verdict lack what the recorder had? The functions of programs are read from the program
 * files. Another machine may have other files, or none, and a dump may be gone. If another version
 * of frbpf made the verdict in the manifest, ours may just know better.
 */
static bool lacks_names(const struct why *w, const struct why_verdict *v, const json_t *manifest)
{
	return strcmp(str(stored_why(manifest), "verdict"), v->text.data) &&
	       (why__lacks_kernel_names(w) || !strcmp(str(manifest, "frbpf"), frbpf_version));
}

/* If less is known here, first print the verdict in the manifest, or add it to @j. */
static void print_stored(const struct why *w, const struct why_verdict *v, json_t *manifest,
			 struct why_screen *screen, json_t *j)
{
	json_t *stored = stored_why(manifest);

	if (!stored || !lacks_names(w, v, manifest))
		return;
	if (j) {
		json_object_set(j, "stored", stored);
		return;
	}
	cmd_make_printable(stored);
	printf("stored verdict: %s\n", str(stored, "verdict"));
	printf("Names or dumps are missing here, so only this is known:\n");
	screen->lines -= screen->lines > STORED_LINES ? STORED_LINES : 0;
}

/* @manifest: of the incident; NULL: none. */
static int print_answer(struct why_options *o, const struct why *w, json_t *manifest)
{
	struct why_verdict v = { 0 };
	struct buf b = { 0 };
	json_t *j = NULL;
	int err = why_verdict__make(&v, w, units__format_duration);

	if (!err && o->json) {
		j = why_json__new(w, &v);
		print_stored(w, &v, manifest, NULL, j);
		err = j && !json_dumpf(j, stdout, JSON_INDENT(2)) ? 0 : -ENOMEM;
		putchar('\n');
	} else if (!err) {
		print_stored(w, &v, manifest, &o->screen, NULL);
		err = why_text__answer(&b, w, &v, units__format_duration,
				       o->verbose ? NULL : &o->screen);
		if (!err)
			fwrite(b.data, 1, b.len, stdout);
	}
	json_decref(j);
	buf__free(&b);
	why_verdict__free(&v);
	if (err)
		log_error("out of memory, or the output cannot be written");
	return err ? EXIT_FAILED : EXIT_DONE;
}

/* 0 or EXIT_FAILED. */
static int set_why_option(struct why_options *o, int opt)
{
	const char *why = "";
	char what[128];
	uint64_t n;

	switch (opt) {
	case 'i':
		o->input = optarg;
		return 0;
	case 't':
		if (units__number(optarg, strlen(optarg), &n, &why) || !n || n > INT32_MAX) {
			snprintf(what, sizeof(what), "--tid %.32s: the id of a thread", optarg);
			return cmd_usage_error(&cmd_why, what);
		}
		o->q.tid = n;
		return 0;
	case 'f':
		return parse_time("from", optarg, &o->q.from);
	case 'T':
		return parse_time("to", optarg, &o->q.to);
	case 'v':
		o->verbose = true;
		return 0;
	default: /* 'j' */
		o->json = true;
		return 0;
	}
}

static int check_options(const struct why_options *o, int operands)
{
	if (operands > 1 || (o->input && operands))
		return cmd_usage_error(&cmd_why, "takes one incident, or -i FILE");
	if (o->input && !o->q.tid)
		return cmd_usage_error(&cmd_why, "-i FILE needs --tid, the task to explain");
	if (!o->input && (o->q.tid || o->q.from || o->q.to))
		return cmd_usage_error(&cmd_why, "--tid, --from and --to need -i FILE");
	return 0;
}

static int run_why(int argc, char **argv)
{
	static const struct option long_opts[] = { { "input", required_argument, NULL, 'i' },
						   { "tid", required_argument, NULL, 't' },
						   { "from", required_argument, NULL, 'f' },
						   { "to", required_argument, NULL, 'T' },
						   { "verbose", no_argument, NULL, 'v' },
						   { "json", no_argument, NULL, 'j' },
						   CMD_COMMON_OPTIONS,
						   { 0 } };
	struct location_hint hint = { 0 };
	struct why_options o = { .screen = screen_of_output() };
	struct err err = { 0 };
	json_t *manifest = NULL;
	struct why *w = NULL;
	enum cmd_parse p;
	int opt;

	while ((p = cmd_next_option(&cmd_why, argc, argv, ":i:vh", long_opts, &hint, &opt)) ==
	       CMD_OPTION)
		if (set_why_option(&o, opt))
			return EXIT_FAILED;
	if (p == CMD_EXIT)
		return opt;
	if (check_options(&o, argc - optind))
		return EXIT_FAILED;
	opt = o.input ? explain_files(&o, &err, &w)
		      : ask_incident(&hint, optind < argc ? argv[optind] : NULL, &err, &w,
				     &manifest);
	if (opt) {
		log_error("%s", make_printable(err.msg));
		if (manifest)
			print_known(&o, manifest, err.msg);
		opt = EXIT_FAILED;
	} else {
		opt = print_answer(&o, w, manifest);
	}
	why__free(w);
	json_decref(manifest);
	return opt;
}

const struct command cmd_why = {
	.name = "why",
	.run = run_why,
	.usage = "[-v] [--json] [INCIDENT | -i FILE --tid TID [--from T] [--to T]]",
	.summary = "who made the subject wait, with the proof",
	.help = "Uses only recordings, so it needs neither root nor a daemon. The first line is\n"
		"the verdict. Below it are the parts of the time with their causes, as many as\n"
		"fit, and what the waker of each wait did meanwhile. Time that no event explains\n"
		"is unknown.\n"
		"INCIDENT is as for `frbpf show`, or the path of a manifest, a dump, or a\n"
		"directory with incidents.\n\n"
		"  -i, --input FILE    a perf.data file with sched:sched_switch, or a directory "
		"of\n"
		"                      them\n"
		"      --tid TID       the thread to explain\n"
		"      --from SECONDS  begin of the interval, in the time of perf script\n"
		"      --to SECONDS    end of the interval\n"
		"  -v, --verbose       the whole tree, with points in time and functions\n"
		"      --json          everything as JSON\n",
};
