// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/baseline.h"
#include "bench/bench.h"
#include "bench/bench_report.h"
#include "bench/run_process.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "run/output_dir.h"
#include "run/outcome.h"

#define TREE_DEPTH 4 /* of directories in the directory of a run; there are two levels */

struct bench {
	const struct bench_opts *opts;
	struct child_user user;
	sigset_t mask; /* for the runs */
	struct tracefs *tracefs;
	struct run_rules rules;
	bool blind; /* no tracepoints here: rules cannot be read on this machine */
	struct prober *prober;
	struct series before, now; /* before: the baseline, or the other command */
	size_t wanted, n_runs;	   /* n_runs: started processes */
	struct output_dir directory;
	char log[PATH_MAX + 8];
	struct comparison comparison;
	struct bench_result result;
	bool broken; /* a requested step failed */
	int ended;   /* exit status if everything must end; 0: go on */
};

static int bench__refuse(const struct err *err)
{
	log_error("%s", err->msg);
	return RUN_EXIT_NOT_RECORDED;
}

/* ---- before anything is run ---- */

static int bench__print_diags(struct diags *diags)
{
	struct buf text = { 0 };

	if (diags__format(diags, &text) == 0 && text.len)
		log_text(text.data);
	buf__free(&text);
	diags__free(diags);
	return RUN_EXIT_NOT_RECORDED;
}

/* Read the rules as the runs will. The runs show the warnings. 0 or an exit status. */
static int bench__read_rules(struct bench *b)
{
	struct diags diags = { 0 }, plain = { 0 };
	struct err err;

	if (tracefs__open(&err, &b->tracefs))
		b->tracefs = NULL;
	if (!run_rules__make(&b->opts->run, b->tracefs, &diags, &b->rules)) {
		diags__free(&diags);
		return 0;
	}
	if (b->tracefs)
		return bench__print_diags(&diags);
	diags__free(&diags);
	if (run_rules__check(&b->opts->run, &plain))
		return bench__print_diags(&plain);
	diags__free(&plain);
	b->blind = true;
	return 0;
}

static int bench__read_baseline(struct bench *b, struct err *err)
{
	const char *path = b->opts->baseline;
	char notes[COMPARE_NOTES_MAX];
	int code = baseline__read(path, err, &b->before);

	if (code)
		return code;
	code = series__check_same(&b->before, &b->now, err);
	if (code)
		return err_prefix(err, code, "--baseline %s: ", path);
	if (b->before.n_runs < SERIES_LEAST)
		return err_set(err, -EINVAL,
			       "--baseline %s: it has %zu runs, too few to tell anything: at "
			       "least %d are needed",
			       path, b->before.n_runs, SERIES_LEAST);
	comparison__note_differences(&b->before, &b->now, notes);
	for (char *line = notes, *end; (end = strchr(line, '\n')); line = end + 1)
		log_warn("%.*s", (int)(end - line), line);
	return 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Search like execvp(3). */
static bool is_executable(const char *name)
{
	const char *at = getenv("PATH") ?: "/bin:/usr/bin";
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return is_program(name);
	for (;; at++) {
		int len = strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s%s%s", len, at, len ? "/" : "", name);
		if (is_program(path))
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

/* Check the named files, and prepare everything. 0 or negative errno with a message. */
static int bench__prepare(struct bench *b, struct err *err)
{
	const struct bench_opts *o = b->opts;
	int code = 0;

	b->prober = prober__open();
	if (!b->prober || series__describe(o->run.command, &o->run, &b->rules, &b->now) ||
	    (o->against && series__describe(o->against, &o->run, &b->rules, &b->before)))
		return err_set(err, -ENOMEM, "out of memory");
	if (o->save_baseline)
		code = baseline__check_writable(o->save_baseline, o->force, err);
	if (!code && o->baseline)
		code = bench__read_baseline(b, err);
	if (!code && o->against && !is_executable(o->against[0]))
		code = err_set(err, -ENOENT, "--against %s: no such program", o->against[0]);
	if (!code)
		b->wanted = schedule__wanted(o, &b->before);
	return code;
}

/* ---- one run ---- */

/* Remove @name below @dir with its contents. What cannot be removed stays. */
static void remove_tree(int dir, const char *name, int depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!entries) {
		if (fd >= 0)
			close(fd);
		unlinkat(dir, name, 0);
		return;
	}
	while ((e = readdir(entries))) {
		if (depth && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_tree(fd, e->d_name, depth - 1);
	}
	closedir(entries);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* The options of one run. Runs after the first log to a file, as their messages are the same. */
static struct run_opts bench__run_opts(const struct bench *b, bool other, bool capture)
{
	struct run_opts o = b->opts->run;

	if (other)
		o.command = b->opts->against;
	o.last_window = capture || (o.last_window && !other);
	if (!o.log && b->n_runs > 1)
		o.log = b->log;
	return o;
}

/*
 * Run the command once, with @opts. *ret_dir: the directory of the run; -1: it has none, and
 * *ret_status says why. Negative errno: the run could not be started.
 */
static int bench__spawn(struct bench *b, const struct run_opts *opts, const char *name,
			struct err *err, int *ret_dir, int *ret_status)
{
	char path[PATH_MAX + 64];
	int code;

	snprintf(path, sizeof(path), "%s/%s", b->directory.base.path, name);
	code = run_process__run(opts, path, &b->mask, err, ret_status);
	*ret_dir =
		openat(b->directory.base.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return code;
}

/*
 * The other command must end well, too; otherwise nothing can be compared. A signal that ends the
 * recording, or a key that ends the command, ends all runs.
 */
static void bench__other_failed(struct bench *b, const struct run_summary *s)
{
	static const int keys[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (s->signal == keys[i])
			b->ended = s->status;
	}
	if (!s->signal && !s->command_ended)
		b->ended = b->ended ?: RUN_EXIT_NOT_RECORDED;
	if (b->ended)
		return;
	log_error("--against: %s ended with %s %d: nothing is compared", b->opts->against[0],
		  s->signal ? "signal" : "status", s->signal ?: s->status);
	b->broken = true;
}

static void bench__log_fired(const struct bench *b, const struct run_summary *s, const char *name)
{
	const json_t *rule;
	size_t i;

	json_array_foreach (s->rules, i, rule) {
		if (json_is_true(json_object_get(rule, "failed")))
			log_info("rule %s fired: %s/%s",
				 json_string_value(json_object_get(rule, "name")) ?: "",
				 b->directory.base.path, name);
	}
}

static bool ended_well(const struct run_summary *s)
{
	return s->recorded && s->command_ended && !s->status;
}

/* Take a finished run: of the command, or the one after a regression. */
static void bench__take(struct bench *b, const struct run_summary *s, const char *name,
			bool capture)
{
	struct bench_result *r = &b->result;

	if (bench_result__add(r, s, b->n_runs, capture)) {
		log_error("a run is not in the summary: out of memory");
		b->broken = true;
	}
	if (capture)
		return;
	bench__log_fired(b, s, name);
	r->recorded = s->recorded;
	snprintf(r->reason, sizeof(r->reason), "%s", s->reason);
	if (!ended_well(s)) {
		r->exit_status = s->status;
		b->ended = s->status ?: -1;
	}
}

/* Take the measurements of a complete run. */
static void bench__measure(struct bench *b, const struct run_summary *s, bool other,
			   const struct machine_probe *probe)
{
	struct series *to = other ? &b->before : &b->now;
	struct err err = { 0 };

	if (run_summary__sample(s, to, &err)) {
		log_error("run %zu: %s", b->n_runs, err.msg);
		b->broken = true;
		return;
	}
	to->runs[to->n_runs - 1].probe = *probe;
}

/* Make one more run, and take its results. */
static void bench__run_once(struct bench *b, bool other, bool capture)
{
	struct machine_probe probe = { 0 };
	struct run_summary s = { 0 };
	struct run_opts opts;
	struct err err = { 0 };
	int dir = -1, status = 0, code;
	char name[32];

	snprintf(name, sizeof(name), "run-%zu", ++b->n_runs);
	opts = bench__run_opts(b, other, capture);
	prober__run(b->prober, &probe);
	code = bench__spawn(b, &opts, name, &err, &dir, &status);
	prober__run(b->prober, &probe);
	if (!code && dir >= 0)
		code = run_summary__read(dir, &err, &s);
	if (code || dir < 0) { /* without an error here, the run has said why */
		if (code)
			log_error("run %zu: %s", b->n_runs, err.msg);
		b->ended = status ?: RUN_EXIT_NOT_RECORDED;
		b->broken = b->n_runs > 1;
	} else {
		if (other && !ended_well(&s))
			bench__other_failed(b, &s);
		if (!other)
			bench__take(b, &s, name, capture);
		if (!capture && ended_well(&s) && !b->blind)
			bench__measure(b, &s, other, &probe);
		if (other || (!capture && ended_well(&s) && !json_array_size(s.incidents)))
			remove_tree(b->directory.base.fd, name, TREE_DEPTH);
	}
	if (dir >= 0)
		close(dir);
	run_summary__free(&s);
}

/* ---- all of them ---- */

static bool bench__compare(struct bench *b)
{
	struct compare_opts opts = schedule__compare_opts(b->opts);
	struct comparison *c = &b->comparison;

	if (comparison__make(&b->before, &b->now, &opts, c)) {
		log_error("the runs cannot be compared: out of memory");
		return false;
	}
	b->result.comparison = c;
	if (c->verdict == VERDICT_REGRESSED)
		log_error("regressed: %s", c->why);
	else if (c->verdict == VERDICT_DISTURBED)
		log_warn("disturbed, so there is no verdict: %s", c->why);
	else
		log_info("pass: as fast as %s, or within %g %% of it",
			 c->paired ? b->before.command : "the baseline", c->tolerance * 100);
	return true;
}

static bool bench__save(const struct bench *b)
{
	const char *path = b->opts->save_baseline;
	struct err err = { 0 };
	size_t quiet = series__quiet_runs(&b->now, SERIES_WALL, b->opts->others_limit);

	if (baseline__write(path, &b->now, b->opts->force, &err)) {
		log_error("%s", err.msg);
		return false;
	}
	log_info("%s: baseline of %zu runs", path, b->now.n_runs);
	if (quiet < SERIES_LEAST)
		log_warn("others used the machine while the baseline was recorded: %zu of %zu runs "
			 "were undisturbed; a comparison with it can say `regressed` or "
			 "`disturbed`, but not `pass`",
			 quiet, b->now.n_runs);
	return true;
}

/* Make one more run, in which rules fire at values that are rare in the baseline. */
static void bench__capture(struct bench *b)
{
	const struct run_rules *rules = &b->rules;
	struct run_threshold *v = calloc(rules->n_own ?: 1, sizeof(*v));
	const struct bench_opts *given = b->opts;
	struct bench_opts opts = *given;
	size_t n = 0;

	log_info("one more run, with thresholds of %s, to see what is slower",
		 b->opts->against ? "the other" : "the baseline");
	for (size_t i = 0; v && i < rules->n_own; i++) {
		const struct rule_conf *rule = &rules->rs->rules[i];

		if (rule->when.threshold)
			v[n++] = (struct run_threshold){
				rule->name, comparison__threshold(&b->comparison, &b->before, i,
								  rule->when.threshold)
			};
	}
	opts.run.thresholds = v;
	opts.run.n_thresholds = n;
	b->opts = &opts;
	bench__run_once(b, false, true);
	b->opts = given;
	free(v);
}

static bool is_compared(const struct bench_opts *o)
{
	return o->baseline || o->save_baseline || o->against;
}

/* All runs were fine: compare, save. */
static void bench__conclude(struct bench *b)
{
	const struct bench_opts *o = b->opts;

	if ((o->baseline || o->against) && !bench__compare(b))
		b->broken = true;
	if (o->save_baseline && !bench__save(b))
		b->broken = true;
	if (!b->result.comparison)
		return;
	if (o->against)
		b->result.against = &b->before;
	if (b->comparison.verdict == VERDICT_REGRESSED)
		bench__capture(b);
}

static void bench__run_all(struct bench *b)
{
	do
		bench__run_once(b, schedule__is_other(b->opts, &b->before, &b->now), false);
	while (!b->broken && !b->ended && !b->blind &&
	       schedule__continues(b->opts, &b->before, &b->now, b->wanted));
	b->result.now = &b->now;
	if (!b->broken && !b->ended && !b->blind)
		bench__conclude(b);
	else if (b->result.incidents && !b->result.recorded)
		log_warn("this machine cannot record: the command ran once, nothing is measured or "
			 "saved");
	else if (is_compared(b->opts) && !b->broken) /* if it is broken, an error was logged */
		log_warn("the command failed: nothing is compared%s",
			 b->opts->save_baseline ? ", no baseline is written" : "");
}

static int bench__exit_status(const struct bench *b)
{
	const struct comparison *c = b->result.comparison;
	bool slow = c && (c->verdict == VERDICT_REGRESSED ||
			  (c->verdict == VERDICT_DISTURBED && b->opts->strict));

	if (b->ended > 0)
		return b->ended;
	if (b->broken)
		return RUN_EXIT_NOT_RECORDED;
	return bench_result__fired(&b->result) || slow ? b->opts->run.exit_code : 0;
}

static void bench__report(struct bench *b)
{
	struct err err = { 0 };
	struct stat log;

	b->result.exit_status = bench__exit_status(b);
	if (bench_report__write(&b->result, b->directory.base.fd, &err))
		log_error("%s: %s", b->directory.base.path, err.msg);
	err = (struct err){ 0 };
	/* a directory of runs has incidents only within the runs */
	unlinkat(b->directory.base.fd, "incidents", AT_REMOVEDIR);
	if (fstatat(b->directory.base.fd, "log", &log, AT_SYMLINK_NOFOLLOW) == 0 && !log.st_size)
		unlinkat(b->directory.base.fd, "log", 0);
	if (output_dir__finish(&b->directory, &b->user, &err))
		log_error("%s", err.msg);
	log_info("%s", b->result.directory);
}

static int bench__make_and_run(struct bench *b)
{
	struct err err = { 0 };
	char path[PATH_MAX];
	int status = bench__read_rules(b);

	if (status)
		return status;
	if (bench__prepare(b, &err) || output_dir__make(b->opts->run.out, &b->directory, &err))
		return bench__refuse(&err);
	snprintf(path, sizeof(path), "%s", b->directory.base.path);
	snprintf(b->log, sizeof(b->log), "%s/log", path);
	b->result.command = b->opts->run.command;
	b->result.directory = path;
	bench__run_all(b);
	status = bench__exit_status(b);
	if (!b->result.incidents) /* nothing was run, so nothing is left behind */
		output_dir__undo(&b->directory);
	else
		bench__report(b);
	return status;
}

int bench__run(const struct bench_opts *opts)
{
	struct bench b = { .opts = opts };
	struct err err = { 0 };
	int status;

	if (opts->run.as_user && child_user__find(opts->run.user, &b.user, &err))
		return bench__refuse(&err);
	if (run_process__block_signals(&b.mask)) {
		err_set(&err, -errno, "signals: %s", strerror(errno));
		return bench__refuse(&err);
	}
	status = bench__make_and_run(&b);
	output_dir__undo(&b.directory);
	bench_result__free(&b.result);
	comparison__free(&b.comparison);
	series__free(&b.before);
	series__free(&b.now);
	prober__free(b.prober);
	run_rules__free(&b.rules);
	tracefs__free(b.tracefs);
	return status;
}

size_t schedule__wanted(const struct bench_opts *opts, const struct series *before)
{
	size_t n;

	if (opts->repeat)
		return opts->repeat;
	if (!opts->baseline)
		return REPEAT_DEFAULT;
	/* as many as the baseline has undisturbed runs */
	n = series__quiet_runs(before, SERIES_WALL, opts->others_limit);
	return n >= SERIES_LEAST ? n : SERIES_LEAST;
}

/*
 * The order is: our command, the other one twice, our command, and so on. So drift affects both
 * alike.
 */
bool schedule__is_other(const struct bench_opts *opts, const struct series *before,
			const struct series *now)
{
	size_t place = (now->n_runs + before->n_runs) % 4;

	return opts->against && (place == 1 || place == 2);
}

struct compare_opts schedule__compare_opts(const struct bench_opts *opts)
{
	return (struct compare_opts){ opts->tolerance, opts->others_limit,
				      .paired = opts->against };
}

bool schedule__enough_pairs(const struct series *other, const struct series *this, size_t wanted,
			    const struct compare_opts *opts)
{
	size_t n = this->n_runs;
	struct comparison c;
	bool precise;

	if (n < wanted || n != other->n_runs) /* half of a pair may be complete */
		return false;
	if (n >= PAIRS_EXTRA * wanted || n >= SERIES_RUNS_MAX ||
	    comparison__make(other, this, opts, &c))
		return true;
	precise = comparison__is_precise(&c);
	comparison__free(&c);
	return precise;
}

bool schedule__continues(const struct bench_opts *opts, const struct series *before,
			 const struct series *now, size_t wanted)
{
	struct compare_opts compare = schedule__compare_opts(opts);
	size_t n = now->n_runs;

	if (opts->against)
		return !schedule__enough_pairs(before, now, wanted, &compare);
	if (!opts->baseline && !opts->save_baseline)
		return n < wanted;
	return series__quiet_runs(now, SERIES_WALL, opts->others_limit) < wanted &&
	       n < REPEAT_EXTRA * wanted && n < SERIES_RUNS_MAX;
}
