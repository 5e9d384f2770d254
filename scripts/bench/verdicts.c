// SPDX-License-Identifier: GPL-2.0-only
/*
 * What frbpf run says of two baselines: reads lines "FILE FILE" and writes "VERDICT TIME CPU" for each, the
 * estimated ratios last. Built by verdicts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "run/baseline/baseline.h"
#include "run/baseline/compare.h"

int main(int argc, char **argv)
{
	double tolerance = argc > 1 ? atof(argv[1]) / 100 : 0.05;
	double others = argc > 2 ? atof(argv[2]) / 100 : SERIES_OTHERS_LIMIT;
	struct series before, now;
	struct comparison c;
	struct err err = { 0 };
	char a[512], b[512];

	while (scanf("%511s %511s", a, b) == 2) {
		if (baseline__read(a, &err, &before) || baseline__read(b, &err, &now) ||
		    comparison__make(&before, &now, tolerance, others, &c)) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
		printf("%s %.4f %.4f\n", verdict__name(c.verdict), c.metrics[0].ratio.estimate,
		       c.metrics[1].ratio.estimate);
		comparison__free(&c);
		series__free(&before);
		series__free(&now);
	}
	return 0;
}
