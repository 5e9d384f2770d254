// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin/admin.h"
#include "cmd/cmd.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "dump/base/base_dir.h"
#include "record/privilege.h"
#include "examine/probe/probe_reader.h"
#include "rules/rules_files.h"

struct load_opts {
	struct location_hint hint;
	char *const *rules; /* n_rules paths; 0: LOCATION_RULES */
	int n_rules;
	bool foreground;
	bool only_start; /* `start`: a running daemon is an error */
};

/* Rules files that were read and checked */
struct loaded {
	char rules[RULES_FILES_LIST_MAX]; /* absolute paths */
	char base[PATH_MAX];
	struct ruleset *rs;
	struct tracefs *tracefs;
	struct plan *plan;
	struct examiner *examiner;
	struct explainer *explainer;
	struct buf warnings; /* for `start`: printed after its result */
	struct buf said;     /* warnings already shown to the user */
	struct err less;     /* capabilities that are missing; "": none */
	bool only_start;     /* errors are worded like those of perf daemon: "failed: ..." */
};

static void loaded__free(struct loaded *l)
{
	probe_reader__use(NULL);
	examiner__free(TAKE_PTR(l->examiner));
	explainer__free(TAKE_PTR(l->explainer));
	plan__free(l->plan);
	tracefs__free(l->tracefs);
	ruleset__free(l->rs);
	buf__free(&l->warnings);
	buf__free(&l->said);
	l->plan = NULL;
	l->tracefs = NULL;
	l->rs = NULL;
}

/*
 * Choose the base, in this order: --base, the base of the --config file, FRBPF_BASE, the base of
 * the rules, or the base that is found without these.
 */
static int choose_base(struct loaded *l, const struct location_hint *hint)
{
	struct location_hint only_base = { .base = hint->base };
	const char *env = getenv("FRBPF_BASE"), *said = l->rs->daemon.base;
	bool by_env = env && env[0] && !hint->config;

	if (!hint->base && said && !by_env) {
		snprintf(l->base, sizeof(l->base), "%s", said);
		return 0;
	}
	if (!hint->base && said && strcmp(env, said) != 0)
		log_info("the base is FRBPF_BASE=%s, not the %s of the rules", env, said);
	/* the file names no base: this reports the error */
	if (!hint->base && hint->config)
		only_base.config = hint->config;
	return cmd_find_base(&only_base, l->base);
}

/*
 * Make the path absolute, as the daemon leaves the current directory. Symbolic links are kept: they
 * may be switched later.
 */
static int find_rules(const char *path, char ret[static PATH_MAX])
{
	char resolved[PATH_MAX], cwd[PATH_MAX] = "";

	if (!realpath(path, resolved) || (path[0] != '/' && !getcwd(cwd, sizeof(cwd))))
		return -errno;
	if (snprintf(ret, PATH_MAX, "%s%s%s", cwd, cwd[0] ? "/" : "", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/* Report a missing file, and suggest what else could be meant. */
static void report_missing_file(const char *path)
{
	char name[PATH_MAX + 1], shipped[PATH_MAX];
	struct err err;

	snprintf(name, sizeof(name), "@%s", path);
	if (!strcmp(path, LOCATION_RULES))
		log_error("%s: No such file or directory: write one, or start with a shipped one: "
			  "`frbpf load @latency`",
			  path);
	else if (!strchr(path, '/') && !shipped_rules__path(name, shipped, &err))
		log_error("%s: No such file or directory (did you mean %s?)", path, name);
	else
		log_error("%s: cannot read it: No such file or directory", path);
}

/* Add a file to both lists: to @list as named, to l->rules as an absolute path for the daemon. */
static int add_rules(struct loaded *l, const char *arg, char list[static RULES_FILES_LIST_MAX])
{
	char one[RULES_FILES_LIST_MAX] = "", path[PATH_MAX];
	int err;

	if (cmd_add_rules(arg, one))
		return EXIT_FAILED;
	err = find_rules(one, path);
	if (err == -ENOENT) {
		report_missing_file(one);
		return EXIT_FAILED;
	}
	if (err) {
		log_error("%s: cannot read it: %s", one, strerror(-err));
		return EXIT_FAILED;
	}
	return cmd_add_rules(one, list) || cmd_add_rules(path, l->rules) ? EXIT_FAILED : EXIT_DONE;
}

static void print_warnings(const struct loaded *l)
{
	if (l->warnings.len)
		fputs(l->warnings.data, stderr);
	if (l->less.msg[0])
		log_warn("recording without %s", l->less.msg);
}

/* Make the names of rules files absolute: the daemon leaves the current directory. */
static int keep_paths(const struct loaded *l)
{
	char cwd[PATH_MAX];

	if (getcwd(cwd, sizeof(cwd)) && !source_text__anchor(l->rs->config->src, cwd))
		return EXIT_DONE;
	log_error("the names of the rules files: %s", strerror(errno));
	return EXIT_FAILED;
}

/*
 * Read and plan the files. A running daemon repeats that itself; here errors are shown before it is
 * asked.
 */
static int read_loaded_rules(const struct load_opts *opts, struct loaded *l)
{
	char list[RULES_FILES_LIST_MAX] = "";
	struct diags diags = { 0 };
	struct err err = { 0 };
	int code;

	for (int i = 0; i < opts->n_rules; i++) {
		if (add_rules(l, opts->rules[i], list))
			return EXIT_FAILED;
	}
	/* events that need tracefs report that it is missing */
	if (tracefs__open(&err, &l->tracefs))
		l->tracefs = NULL;
	code = plan__load(list, l->only_start, l->tracefs, &diags, &l->rs, &l->plan);
	if (code || !l->only_start || diags__format(&diags, &l->warnings)) {
		cmd_print_diags(&diags);
		diags__format(&diags, &l->said);
	}
	if (code == -ENOMEM && !diags.n)
		log_error("out of memory");
	diags__free(&diags);
	return code ? EXIT_FAILED : keep_paths(l);
}

static int ask_to_load(const char *path, const char *rules, struct err *err, json_t **ret)
{
	return control__request(path, json_pack("{s:s, s:s}", "cmd", "load", "path", rules), err,
				ret);
}

/* 0: reloaded; -ENOENT: no daemon runs there; otherwise EXIT_FAILED with an error printed. */
static int reload_running(const struct loaded *l)
{
	char path[PATH_MAX + 16], words[RULES_FILES_LIST_MAX];
	struct err err = { 0 };
	json_t *reply;
	int code;

	snprintf(path, sizeof(path), "%s/control", l->base);
	code = ask_to_load(path, l->rules, &err, &reply);
	if (code == -ECONNRESET) /* it has died meanwhile, and may not have closed its socket yet */
		code = ask_to_load(path, l->rules, &err, &reply);
	if (code == -ENOENT || code == -ECONNREFUSED || code == -ENOTDIR)
		return -ENOENT;
	if (code) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	rules_files__describe(l->rules, words, sizeof(words));
	if (json_is_true(json_object_get(reply, "ok"))) {
		const char *warnings = json_string_value(json_object_get(reply, "warnings")) ?: "";

		/* the daemon knows more, such as settings that need a restart */
		if (strcmp(warnings, l->said.len ? l->said.data : "") != 0)
			fputs(warnings, stderr);
		log_info("%s: the daemon at %s (pid %d) has the new rules", words, l->base,
			 (int)json_integer_value(json_object_get(reply, "pid")));
	} else {
		fputs(json_string_value(json_object_get(reply, "error")) ?: "", stderr);
		log_error("not loaded: the daemon at %s keeps its old rules", l->base);
		code = EXIT_FAILED;
	}
	json_decref(reply);
	return code;
}

/* ---- background ---- */

struct ready_note {
	int fd; /* to the parent; -1: in the foreground */
	const struct loaded *l;
};

/* Redirect the standard streams of a daemon: no input, output to BASE/output. */
static void redirect_streams(const char *base)
{
	char path[PATH_MAX + 16];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out;

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
	snprintf(path, sizeof(path), "%s/output", base);
	out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out < 0)
		return;
	dup2(out, STDERR_FILENO);
	close(out);
}

static void report_ready(const char *error, void *arg)
{
	struct ready_note *note = arg;

	if (note->fd < 0) {
		if (error && note->l->only_start)
			fprintf(stderr, "failed: %s\n", error);
		else if (error)
			log_error("%s", error);
		print_warnings(note->l);
		return;
	}
	if (!error)
		redirect_streams(note->l->base);
	/* one NUL: started; otherwise the error message */
	if (write(note->fd, error ? error : "", error ? strlen(error) : 1) < 0)
		log_warn("the process that started us has ended");
	close(note->fd);
	note->fd = -1;
}

static int run_loaded_daemon(struct loaded *l, int ready_fd)
{
	struct ready_note note = { .fd = ready_fd, .l = l };
	char program[PATH_MAX] = "frbpf";
	struct daemon_opts opts = {
		.base = l->base,
		.rules_path = l->rules,
		.program = program,
		.examiner = l->examiner,
		.explainer = l->explainer,
		.perf_habits = l->only_start,
	};
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int status;

	if (n > 0)
		program[n] = '\0';
	log_setup(LOG_LEVEL_INFO, true);
	status = daemon__run(&opts, TAKE_PTR(l->rs), TAKE_PTR(l->plan), l->tracefs, report_ready,
			     &note);
	loaded__free(l);
	return status;
}

/* " --base BASE" if a command would not find @base without it; otherwise "". */
static void base_option(const char *base, char ret[static PATH_MAX + 16])
{
	const struct location_hint none = { 0 };
	char found[PATH_MAX];
	struct err err;

	ret[0] = '\0';
	if (location__find(&none, found, &err) || strcmp(found, base) != 0)
		snprintf(ret, PATH_MAX + 16, " --base %s", base);
}

static int wait_for_daemon(const struct loaded *l, pid_t child, int fd)
{
	char option[PATH_MAX + 16];
	struct buf text = { 0 };
	int err = buf__read_fd(&text, fd, 64 * 1024);

	if (!err && text.len == 1 && text.data[0] == '\0') {
		base_option(l->base, option);
		log_info("recording, pid %d, base %s; `frbpf status%s` shows it, `frbpf stop%s` "
			 "ends it",
			 child, l->base, option, option);
		print_warnings(l);
		buf__free(&text);
		return EXIT_DONE;
	}
	if (text.len && l->only_start)
		fprintf(stderr, "failed: %s\n", text.data);
	else if (text.len)
		log_error("%s", text.data);
	else
		log_error("the daemon died while it started; its messages are above, if any");
	print_warnings(l);
	waitpid(child, NULL, 0);
	buf__free(&text);
	return EXIT_FAILED;
}

static int start_in_background(struct loaded *l)
{
	int fds[2], status;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		log_error("pipe: %s", strerror(errno));
		return EXIT_FAILED;
	}
	fflush(NULL);
	child = fork();
	if (child < 0) {
		log_error("fork: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (child == 0) {
		close(fds[0]);
		setsid();
		if (chdir("/") < 0)
			_exit(EXIT_FAILED);
		_exit(run_loaded_daemon(l, fds[1]));
	}
	probe_reader__use(NULL);
	examiner__leave(TAKE_PTR(l->examiner));
	explainer__free(TAKE_PTR(l->explainer)); /* the child owns it */
	close(fds[1]);
	status = wait_for_daemon(l, child, fds[0]);
	close(fds[0]);
	return status;
}

static int start_loaded(struct loaded *l, bool foreground)
{
	return foreground ? run_loaded_daemon(l, -1) : start_in_background(l);
}

/* Check once, first: without privileges, every event of the rules would cause an error. */
static int check_privileges(struct loaded *l)
{
	struct err err = { 0 };

	if (privilege__check(&l->less, &err) == 0)
		return 0;
	log_error("%s", err.msg);
	return EXIT_FAILED;
}

/* Start the helper processes now, so that they inherit nothing from memory. */
static int start_helpers(struct loaded *l)
{
	int err = examiner__new(&l->examiner) ?: explainer__new(&cmd_why_explain, &l->explainer);

	err = err ?: admin__start();
	if (err)
		log_error("cannot start a process: %s", strerror(-err));
	else
		probe_reader__use(l->examiner);
	return err ? EXIT_FAILED : 0;
}

static int check_targets(const struct loaded *l)
{
	struct diags diags = { 0 };
	int err = plan__check_targets(l->plan, l->rs, NULL, &diags);

	cmd_print_diags(&diags);
	diags__free(&diags);
	return err ? EXIT_FAILED : 0;
}

static int load_rules(const struct load_opts *opts)
{
	struct loaded l = { .only_start = opts->only_start };
	int status;

	/*
	 * first of all: the daemon must not keep open files of the caller, such as a pipe that
	 * would never end
	 */
	if (!opts->foreground)
		close_range(3, ~0U, 0);
	status = check_privileges(&l) ?: start_helpers(&l);
	status = status ?: read_loaded_rules(opts, &l);
	status = status ?: choose_base(&l, &opts->hint);
	if (!status) {
		status = opts->only_start || opts->foreground ? -ENOENT : reload_running(&l);
		if (status == -ENOENT)
			status = check_targets(&l) ?: start_loaded(&l, opts->foreground);
	}
	loaded__free(&l);
	return status;
}

static int load_command(const struct command *cmd, int argc, char **argv, bool only_start)
{
	static const struct option of_load[] = { { "foreground", no_argument, NULL, 'f' },
						 CMD_COMMON_OPTIONS,
						 { 0 } };
	static const struct option of_start[] = { { "foreground", no_argument, NULL, 'f' },
						  CMD_PERF_OPTIONS,
						  CMD_COMMON_OPTIONS,
						  { 0 } };
	const struct option *long_opts = only_start ? of_start : of_load;
	const char *short_opts = only_start ? ":fh" CMD_PERF_SHORT : ":fh";
	char path[PATH_MAX] = LOCATION_RULES, *default_rules[] = { path };
	struct load_opts opts = { .rules = default_rules, .n_rules = 1, .only_start = only_start };
	enum cmd_parse p;
	char *config[1];
	int opt;

	while ((p = cmd_next_option(cmd, argc, argv, short_opts, long_opts, &opts.hint, &opt)) ==
	       CMD_OPTION)
		opts.foreground |= opt == 'f';
	if (p == CMD_EXIT)
		return opt;
	if (only_start && optind < argc)
		return cmd_usage_error(
			cmd, "takes no rules file: use `frbpf load FILE` or --config FILE");
	config[0] = (char *)opts.hint.config;
	if (optind < argc) {
		opts.rules = argv + optind;
		opts.n_rules = argc - optind;
	} else if (config[0]) {
		opts.rules = config;
	} else if (only_start && access(path, F_OK) < 0) {
		location__perf_config(opts.hint.base != NULL, path);
	}
	return load_rules(&opts);
}

static int run_load(int argc, char **argv)
{
	return load_command(&cmd_load, argc, argv, false);
}

static int run_start(int argc, char **argv)
{
	return load_command(&cmd_start, argc, argv, true);
}

const struct command cmd_load = {
	.name = "load",
	.run = run_load,
	.usage = "[-f] [RULES|@NAME]...",
	.summary = "check RULES, then start the daemon with them or give them to the running one",
	.help = "RULES defaults to " LOCATION_RULES "; @NAME is a shipped file: @latency @disk\n"
		"@memory @crash @network @function @interrupts. Of several files, each rule\n"
		"dumps the sessions of its own file, and equal sessions are recorded once. It\n"
		"returns when all sessions record and all rules are attached. On an error it\n"
		"changes nothing.\n\n"
		"  -f, --foreground    start one in the foreground, log to standard error\n",
};

const struct command cmd_start = {
	.name = "start",
	.run = run_start,
	.usage = "[-f] [--config FILE]",
	.summary = "start the daemon, as perf daemon does; fails when one runs already",
	.help = "FILE defaults to " LOCATION_RULES ", then to perf's own configuration\n"
		"(/etc/perfconfig, ~/.perfconfig) if that names a base. When the file changes,\n"
		"it is loaded again, unless it has watch = no. Sessions that end are dumped.\n\n"
		"  -f, --foreground    stay in the foreground, log to standard error\n",
};
