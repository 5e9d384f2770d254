/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An outcome as the files of the output folder, and as what the CI service around us reads. Each
 * report_X() makes a whole text of it, appended to @b: 0 or -ENOMEM.
 */
#ifndef FRBPF_RUN_REPORT_H
#define FRBPF_RUN_REPORT_H

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"
#include "run/baseline/compare.h"
#include "run/outcome.h"

#define REPORT_SCHEMA 1 /* of summary.json */

int report_json(const struct outcome *o, struct buf *b);
int report_junit(const struct outcome *o, struct buf *b);
int report_markdown(const struct outcome *o, struct buf *b);

/* The stacks that were hottest in the window of @inc, against the rest of the run: tables of markdown;
 * nothing where nobody looked, or the dumps do not tell. */
int report_stacks(const struct outcome *o, const struct run_incident *inc, struct buf *b);

/* One line per rule that fired, as GitHub makes annotations of them. */
int report_github(const struct outcome *o, struct buf *b);
/* Links from the job to the reports, as GitLab's artifacts:reports:annotations takes them; @url: of
 * the job, @folder: the output folder within the project. */
int report_gitlab(const struct outcome *o, const char *url, const char *folder, struct buf *b);

/* The comparison with a baseline, for each of them; nothing, or null, without one. */
int report_compare_markdown(const struct outcome *o, struct buf *b);
int report_compare_junit(const struct outcome *o, struct buf *b);
int report_compare_github(const struct outcome *o, struct buf *b);
json_t *report_compare_json(const struct outcome *o); /* NULL: out of memory */
json_t *
report_series_json(const struct series *s); /* what its runs measured; NULL: an empty list */
/* How many of its test cases are this. */
size_t report_compare_cases(const struct outcome *o, enum verdict verdict);

/* What the reports share. */

/* A text of others for JSON; NULL: out of memory. */
json_t *report__text(const char *s);

/* "80.1ms > 20ms by frbpf-victim (pid 1, tid 2)"; of what has no threshold: to whom it happened. */
int report__fact(const struct run_rule *rule, const struct run_trigger *t, struct buf *b);
/* The command that opens the dump, or the incident where it has none, for a shell. */
int report__open_command(const struct outcome *o, const struct run_incident *inc, struct buf *b);
/* The command of the run, for a shell; "" without one. */
int report__command(const struct outcome *o, struct buf *b);

/* Write the three reports into the folder @fd, under names that do not exist yet, and those for the
 * CI service around us (the environment says which). Negative errno with words. */
int report__write(const struct outcome *o, int fd, struct err *err);

#endif
