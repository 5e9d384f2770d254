// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/cmd.h"
#include "cmd/run_args.h"
#include "common/log.h"
#include "run/outcome.h"
#include "run/run.h"

static int run_logged(const struct run_opts *opts)
{
	FILE *log;
	int status;

	if (!run_args__log_to(opts->log, &log))
		return RUN_EXIT_NOT_RECORDED;
	if (opts->quiet)
		log_setup(LOG_LEVEL_WARN, false);
	if (log)
		setvbuf(log, NULL, _IOLBF, 0); /* so that the log can be followed */
	status = run__run(opts);
	log_to(NULL);
	if (log)
		fclose(log);
	return status;
}

static int run_run(int argc, char **argv)
{
	struct run_opts opts;
	int status;

	if (run_args__parse(&cmd_run, argc, argv, &opts, &status))
		status = run_logged(&opts);
	run_args__free(&opts);
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.run = run_run,
	.no_base = true,
	.usage = "[OPTIONS] [-a | -p PID | --cgroup PATH] [-- CMD ARGS]",
	.summary = "record a command, and fail when a rule fires (CI)",
	.help = "Records CMD and all of its descendants while they run, without a daemon, and\n"
		"writes a directory of reports and dumps. Rules and sessions are about CMD and "
		"its\n"
		"descendants. The kernel marks these when they are forked, so orphans belong to\n"
		"them, too.\n\n"
		"      --rules FILE    rules, and sessions if it has any\n"
		"      --when WHEN     one more rule, as `when` in a rules file; may be\n"
		"                      repeated\n"
		"      --if E          the condition of the --when before it\n"
		"      --session LINE  what to record, as for perf record, if FILE has no\n"
		"                      sessions; may be repeated. Default: stacks of running\n"
		"                      tasks, and of tasks that are switched out or woken\n"
		"  -a, --all           rules and sessions are about the whole machine\n"
		"  -p, --pid PID       about this process, its threads and its future children\n"
		"      --cgroup PATH   about this cgroup (v2) and those below it\n"
		"      --for T         stop recording after T (such as 30s); CMD continues\n"
		"      --dumps N       stop recording after N dumps; CMD continues\n"
		"  -o, --output DIR    the directory, which must not exist; default: frbpf-TIME\n"
		"      --exit-code N   the status if a rule fired and CMD did not fail;\n"
		"                      default: 2\n"
		"      --optional      run CMD even if recording is not possible, with a\n"
		"                      message\n"
		"      --user[=NAME]   run CMD as NAME, or as the user who called sudo; the\n"
		"                      directory becomes theirs\n"
		"      --last-window[=no]\n"
		"                      save the last window of the run, too. Without any rule\n"
		"                      that is the default; `no` prevents it\n"
		"      --matches-only  do not measure values below the thresholds: cheaper, but\n"
		"                      distributions only contain matches\n"
		"      --threshold RULE=T\n"
		"                      replaces the threshold of RULE; may be repeated\n"
		"      --quiet         only print errors and warnings, and nothing for a CI\n"
		"                      service\n"
		"      --log FILE      write messages to FILE, not to standard error\n\n"
		"Exit status: that of CMD if it is not 0; else 2 if a rule fired; 125 if\n"
		"nothing could be recorded, and CMD did not run; 126, 127 and 128+signal as in\n"
		"a shell. A rule with `dump = none` counts and fails no run. SIGINT and other\n"
		"signals go to CMD. `frbpf bench` makes several runs and compares them.\n",
};
