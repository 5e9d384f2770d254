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
	.help = "Records CMD again and again, each time by an `frbpf run` of its own. One of the "
		"first four\n"
		"options is needed. The folder has the reports of all runs, and the folder of each "
		"run that\n"
		"has something to show.\n\n"
		"      --repeat N      make N runs\n"
		"      --save-baseline FILE\n"
		"                      write what the runs measured (default: 30 of them)\n"
		"      --baseline FILE compare with that: pass, regressed or disturbed; runs that "
		"others\n"
		"                      disturb are made again, up to three times N in all\n"
		"      --against CMD   compare with another command (`./old -x`: words as of a "
		"shell), run\n"
		"                      in turns with CMD: what the machine does is done to both; "
		"up to four\n"
		"                      times N pairs (30) where they differ much\n"
		"      --tolerance P   how much slower is no regression; default: 5%\n"
		"      --others-limit P\n"
		"                      how much of the machine others may use; default: 10%\n"
		"      --strict        the status of a rule that fired also for disturbed\n"
		"      --force         replace the file of --save-baseline\n"
		"      --rules FILE, --when WHEN, --if E, --session LINE, --matches-only, "
		"--last-window,\n"
		"      --user[=NAME], --optional\n"
		"                      as of `frbpf run`, for every run\n"
		"  -o, --output DIR    the folder, which must not exist; default: frbpf-TIME\n"
		"      --exit-code N   the status when a rule fired, or CMD is slower; default: 2\n"
		"      --log FILE      what frbpf has to say goes there instead of to standard "
		"error\n\n"
		"Exit status: that of CMD if it is not 0, and then no more runs are made; else 2 "
		"when a rule\n"
		"fired or CMD is slower than the baseline or the other; 125 when nothing could be "
		"recorded.\n",
};
