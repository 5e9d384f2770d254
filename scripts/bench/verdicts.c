// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints what frbpf bench says about runs that were measured before: "VERDICT TIME CPU" for each
 * comparison. TIME and CPU are the estimated ratios. verdicts.bash builds this program.
 *
 *	verdicts TOLERANCE OTHERS
 *		compares two baselines for each line "FILE FILE" on standard input
 *	verdicts TOLERANCE OTHERS FILE REPEAT apart|all
 *		compares pairs: FILE has the runs and against_runs of a summary.json. all: a
 *		comparison begins at every pair; apart: where the last comparison ends
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/against.h"
#include "bench/baseline.h"
#include "bench/bench.h"

static int judge(const struct series *before, const struct series *now,
		 const struct compare_opts *opts, struct err *err)
{
	struct comparison c;
	int code = comparison__make(before, now, opts, &c);

	if (code)
		return err_set(err, code, "cannot compare: %s", strerror(-code));
	printf("%s %.4f %.4f\n", verdict__name(c.verdict), c.metrics[0].ratio.estimate,
	       c.metrics[1].ratio.estimate);
	comparison__free(&c);
	return 0;
}

static int judge_baselines(const struct compare_opts *opts)
{
	struct series before, now;
	struct err err = { 0 };
	char a[512], b[512];

	while (scanf("%511s %511s", a, b) == 2) {
		if (baseline__read(a, &err, &before) || baseline__read(b, &err, &now) ||
		    judge(&before, &now, opts, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
		series__free(&before);
		series__free(&now);
	}
	return 0;
}

static bool read_runs(const json_t *root, const char *key, struct series *ret)
{
	const json_t *list = json_object_get(root, key), *item;
	size_t i;

	*ret = (struct series){ .cpus = 1, .command = strdup(key) };
	json_array_foreach (list, i, item) {
		struct run_sample *run = series__add(ret);
		json_int_t wall, cpu, capacity, others, steal, throttled, hot;

		if (!run || json_unpack((json_t *)item, "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
					"wall_ns", &wall, "cpu_ns", &cpu, "capacity_ns", &capacity,
					"others_ns", &others, "steal_ns", &steal, "throttled_ns",
					&throttled, "hot", &hot))
			return false;
		run->wall = wall;
		run->cpu = cpu;
		run->machine = (struct machine_use){ .capacity = capacity,
						     .others = others,
						     .steal = steal,
						     .throttled = throttled,
						     .hot = hot };
	}
	return true;
}

/* Some of the runs of @s, which still owns them. */
static struct series part(const struct series *s, size_t from, size_t n)
{
	struct series p = *s;

	p.runs += from;
	p.n_runs = n;
	return p;
}

/* The number of pairs that frbpf bench would have made. 0: there are not enough left. */
static size_t pairs_needed(const struct series *before, const struct series *now, size_t from,
			   size_t repeat, const struct compare_opts *opts)
{
	for (size_t n = repeat; from + n <= now->n_runs; n++) {
		struct series a = part(before, from, n), b = part(now, from, n);

		if (schedule__enough_pairs(&a, &b, repeat, opts))
			return n;
	}
	return 0;
}

static int judge_pairs(const char *path, size_t repeat, bool all, struct compare_opts *opts)
{
	json_t *root = json_load_file(path, 0, NULL);
	struct series before = { 0 }, now = { 0 };
	struct err err = { 0 };
	size_t n;

	opts->paired = true;
	if (!read_runs(root, "against_runs", &before) || !read_runs(root, "runs", &now) ||
	    before.n_runs != now.n_runs) {
		fprintf(stderr, "%s: not the pairs of a run\n", path);
		return 1;
	}
	for (size_t from = 0;; from += all ? 1 : n) {
		struct series a, b;

		n = pairs_needed(&before, &now, from, repeat, opts);
		if (!n)
			break;
		a = part(&before, from, n);
		b = part(&now, from, n);
		if (judge(&a, &b, opts, &err)) {
			fprintf(stderr, "%s: %s\n", path, err.msg);
			return 1;
		}
	}
	series__free(&before);
	series__free(&now);
	json_decref(root);
	return 0;
}

int main(int argc, char **argv)
{
	struct compare_opts opts = { .tolerance = argc > 1 ? atof(argv[1]) / 100 : 0.05,
				     .others_limit =
					     argc > 2 ? atof(argv[2]) / 100 : SERIES_OTHERS_LIMIT };

	if (argc == 6)
		return judge_pairs(argv[3], atoi(argv[4]), strcmp(argv[5], "all") == 0, &opts);
	return judge_baselines(&opts);
}
