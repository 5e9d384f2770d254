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
		log_setup(LOG_WARN, false);
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
	.help = "Records while CMD and all that it forks run, without a daemon, and writes a "
		"folder of\n"
		"reports and dumps. Rules and sessions are about CMD and its descendants: they "
		"are\n"
		"marked by the kernel when they are forked, so one whose parent has ended is one, "
		"too.\n\n"
		"      --rules FILE    rules, and sessions if it has any\n"
		"      --when WHEN     one more rule, as `when` of a rules file; again for others\n"
		"      --if E          only when that holds; of the --when before it\n"
		"      --session LINE  what is recorded, as perf record takes it, instead of the "
		"sessions\n"
		"                      of a file without any; again for others. Default: stacks of "
		"what\n"
		"                      runs, and of what is switched away or woken\n"
		"  -a, --all           rules and sessions are about the whole machine\n"
		"  -p, --pid PID       about this process, its threads and what they fork from now "
		"on\n"
		"      --cgroup PATH   about this cgroup (v2) and those below it\n"
		"      --for T         stop recording after T (such as 30s); CMD goes on to its "
		"end\n"
		"      --dumps N       stop recording after N dumps; likewise\n"
		"  -o, --output DIR    the folder, which must not exist; default: frbpf-TIME\n"
		"      --exit-code N   the status when a rule fired and CMD did not fail; default: "
		"2\n"
		"      --optional      where recording is not possible run CMD all the same, and "
		"say so\n"
		"      --user[=NAME]   run CMD as NAME, or as who called sudo; the folder becomes "
		"theirs\n"
		"      --last-window[=no]\n"
		"                      save the last window of the run, too; without any rule that "
		"is\n"
		"                      done anyhow, but for `no`\n"
		"      --matches-only  do not measure values below the thresholds: cheaper, and "
		"the\n"
		"                      distributions are those of matches\n"
		"      --threshold RULE=T\n"
		"                      RULE fires from T on, whatever it says itself; again for "
		"others\n"
		"      --quiet         say errors and warnings only, and nothing to a CI service\n"
		"      --log FILE      what frbpf has to say goes there instead of to standard "
		"error\n\n"
		"Exit status: that of CMD if it is not 0; else 2 when a rule fired; 125 when "
		"nothing\n"
		"could be recorded, and CMD was not run; 126, 127 and 128+signal as of a shell. A "
		"rule\n"
		"with `dump = none` counts and fails no run. SIGINT and the like go to CMD. "
		"`frbpf bench`\n"
		"makes several runs and compares them.\n",
};
