/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes an outcome as the files of the output directory, and in the formats of CI services. Each
 * report_X() appends a whole text to @b: 0 or -ENOMEM.
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

/*
 * The hottest stacks in the window of @inc, compared with the rest of the run, as tables of
 * Markdown. Empty if the dumps were not searched, or have none.
 */
int report_stacks(const struct outcome *o, const struct run_incident *inc, struct buf *b);

/* One line per rule that fired, a GitHub annotation. */
int report_github(const struct outcome *o, struct buf *b);
/*
 * Links from the job to the reports, for GitLab's artifacts:reports:annotations. @url: of the job,
 * @directory: the output directory within the project.
 */
int report_gitlab(const struct outcome *o, const char *url, const char *directory, struct buf *b);

/* Shared by the reports */

json_t *report__histogram(const struct histogram *h); /* NULL: out of memory */
/* A text from outside, for JSON; NULL: out of memory. */
json_t *report__text(const char *s);

/* "80.1ms > 20ms by frbpf-victim (pid 1, tid 2)"; without a threshold: the subject only. */
int report__fact(const struct run_rule *rule, const struct run_trigger *t, struct buf *b);
/* The shell command that opens the dump of @inc, or the incident if there is no dump. */
int report__open_command(const struct outcome *o, const struct run_incident *inc, struct buf *b);
/* The command of the run, quoted for a shell; "" if there is none. */
int report__command(const struct outcome *o, struct buf *b);

/* The texts of all reports; empty ones are not written. */
struct report_texts {
	struct buf json, junit, markdown, github, gitlab;
};

/*
 * Find where GitLab shows files of the job. *ret_url: of the job; *ret_within: @directory
 * (absolute) within its project. False: this is not a GitLab job, or @directory is outside the
 * project.
 */
bool report__gitlab_place(const char *directory, const char **ret_url, const char **ret_within);
/*
 * Write new files into the directory @fd. If @ci, also write what the CI service reads, as found in
 * the environment. Negative errno, message in @err.
 */
int report_texts__write(const struct report_texts *t, int fd, bool ci, struct err *err);
void report_texts__free(struct report_texts *t);

/* Write all reports of one run. Negative errno, message in @err. */
int report__write(const struct outcome *o, int fd, struct err *err);

#endif
