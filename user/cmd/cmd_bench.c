// SPDX-License-Identifier: GPL-2.0-only
#include "bench/bench.h"
#include "cmd/cmd.h"
#include "cmd/run_args.h"
#include "common/log.h"
#include "run/outcome.h"

static int bench_logged(const struct bench_opts *opts)
{
	FILE *log;
	int status;

	if (!run_args__log_to(opts->run.log, &log))
		return RUN_EXIT_NOT_RECORDED;
	status = bench__run(opts);
	log_to(NULL);
	if (log)
		fclose(log);
	return status;
}

static int run_bench(int argc, char **argv)
{
	struct bench_opts opts;
	int status;

	if (bench_args__parse(&cmd_bench, argc, argv, &opts, &status))
		status = bench_logged(&opts);
	bench_args__free(&opts);
	return status;
}

const struct command cmd_bench = {
	.name = "bench",
	.run = run_bench,
	.no_base = true,
	.usage = "[OPTIONS] -- CMD ARGS",
	.summary = "record a command many times, and compare (CI)",
	.help = "Records CMD many times, each time with a separate `frbpf run`. One of the\n"
		"first four options is required. The directory has the reports of all runs, and\n"
		"the directories of those runs that have incidents.\n\n"
		"      --repeat N      make N runs\n"
		"      --save-baseline FILE\n"
		"                      save the measurements of the runs (default: 30 runs)\n"
		"      --baseline FILE compare with FILE: pass, regressed or disturbed; runs\n"
		"                      that other programs disturb are repeated, up to three\n"
		"                      times N in all\n"
		"      --against CMD   compare with another command (`./old -x`, words as in a\n"
		"                      shell), run in turns with CMD, so that the machine\n"
		"                      affects both; up to four times N pairs (30) if they\n"
		"                      differ a lot\n"
		"      --tolerance P   accept runs that are up to P slower; default: 5%\n"
		"      --others-limit P\n"
		"                      share of the machine that other programs may use;\n"
		"                      default: 10%\n"
		"      --strict        use the status of a fired rule for `disturbed`, too\n"
		"      --force         replace the file of --save-baseline\n"
		"      --rules FILE, --when WHEN, --if E, --session LINE,\n"
		"      --matches-only, --last-window, --user[=NAME], --optional\n"
		"                      as for `frbpf run`, for every run\n"
		"  -o, --output DIR    the directory, which must not exist; default: frbpf-TIME\n"
		"      --exit-code N   the status if a rule fired, or CMD is slower; default: 2\n"
		"      --log FILE      write messages to FILE, not to standard error\n\n"
		"Exit status: that of CMD if it is not 0, and then no more runs are made; else\n"
		"2 if a rule fired or CMD is slower than the baseline or the other command; 125\n"
		"if nothing could be recorded.\n",
};
