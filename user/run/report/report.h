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

/* What the reports share. */

json_t *report__histogram(const struct histogram *h); /* NULL: out of memory */
/* A text of others for JSON; NULL: out of memory. */
json_t *report__text(const char *s);

/* "80.1ms > 20ms by frbpf-victim (pid 1, tid 2)"; of what has no threshold: to whom it happened. */
int report__fact(const struct run_rule *rule, const struct run_trigger *t, struct buf *b);
/* The command that opens the dump, or the incident where it has none, for a shell. */
int report__open_command(const struct outcome *o, const struct run_incident *inc, struct buf *b);
/* The command of the run, for a shell; "" without one. */
int report__command(const struct outcome *o, struct buf *b);

/* The texts of all reports; empty ones are not written. */
struct report_texts {
	struct buf json, junit, markdown, github, gitlab;
};

/* Where GitLab shows the file of a job: the job's URL, and @folder (absolute) within its project. False: it does not. */
bool report__gitlab_place(const char *folder, const char **ret_url, const char **ret_within);
/* Write files into the folder @fd, under names that do not exist yet, and what the CI service around us (the environment
 * says which) reads, if @ci. Negative errno with words. */
int report_texts__write(const struct report_texts *t, int fd, bool ci, struct err *err);
void report_texts__free(struct report_texts *t);

/* All reports of one run. Negative errno with words. */
int report__write(const struct outcome *o, int fd, struct err *err);

#endif
