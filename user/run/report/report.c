// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/log.h"
#include "common/printable.h"
#include "rules/units.h"
#include "run/report/report.h"

static int write_file(int dir, const char *name, const struct buf *b, struct err *err)
{
	_cleanup_close_ int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code = fd < 0 ? -errno : write_all(fd, b->data, b->len);

	if (!code && fsync(fd) < 0)
		code = -errno;
	return code ? err_set(err, code, "%s cannot be written: %s", name, strerror(-code)) : 0;
}

/*
 * Append to the summary on the job's page, a file provided by GitHub. The environment may be that
 * of another user (sudo -E).
 */
static void add_step_summary(const struct buf *markdown, const char *path)
{
	_cleanup_close_ int fd = foreign__append_file(path);
	int err = fd < 0 ? fd : write_all(fd, markdown->data, markdown->len);

	if (err)
		log_warn("GITHUB_STEP_SUMMARY %s: %s", path, strerror(-err));
}

/* GitHub reads annotations from the output of the step. */
static void annotate_github(const struct report_texts *t)
{
	const char *summary = getenv("GITHUB_STEP_SUMMARY");

	if (t->github.len)
		write_all(STDERR_FILENO, t->github.data, t->github.len);
	if (summary && *summary)
		add_step_summary(&t->markdown, summary);
}

static bool env_is_true(const char *name)
{
	const char *v = getenv(name);

	return v && strcmp(v, "true") == 0;
}

bool report__gitlab_place(const char *directory, const char **ret_url, const char **ret_within)
{
	const char *project = getenv("CI_PROJECT_DIR"), *url = getenv("CI_JOB_URL");
	size_t len = project ? strlen(project) : 0;

	while (len > 1 && project[len - 1] == '/')
		len--;
	if (!env_is_true("GITLAB_CI") || !url || !len || strncmp(directory, project, len) != 0 ||
	    directory[len] != '/')
		return false;
	*ret_url = url;
	*ret_within = directory + len + 1;
	return true;
}

int report_texts__write(const struct report_texts *t, int fd, bool ci, struct err *err)
{
	int code = write_file(fd, "summary.json", &t->json, err);

	code = code ?: write_file(fd, "junit.xml", &t->junit, err);
	code = code ?: write_file(fd, "summary.md", &t->markdown, err);
	if (!code && ci && t->gitlab.len)
		code = write_file(fd, "gl-annotations.json", &t->gitlab, err);
	if (ci && env_is_true("GITHUB_ACTIONS"))
		annotate_github(t);
	return code;
}

void report_texts__free(struct report_texts *t)
{
	buf__free(&t->json);
	buf__free(&t->junit);
	buf__free(&t->markdown);
	buf__free(&t->github);
	buf__free(&t->gitlab);
}

int report__write(const struct outcome *o, int fd, struct err *err)
{
	struct report_texts t = { 0 };
	const char *url, *within;
	int code = report_json(o, &t.json);

	code = code ?: report_junit(o, &t.junit);
	code = code ?: report_markdown(o, &t.markdown);
	code = code ?: report_github(o, &t.github);
	if (!code && report__gitlab_place(o->directory, &url, &within))
		code = report_gitlab(o, url, within, &t.gitlab);
	if (code)
		err_set(err, code, "the reports cannot be written: out of memory");
	else
		code = report_texts__write(&t, fd, !o->opts->quiet, err);
	report_texts__free(&t);
	return code;
}

int report__fact(const struct run_rule *rule, const struct run_trigger *t, struct buf *b)
{
	char value[32], threshold[32];

	units__format_duration(t->value, value, sizeof(value));
	units__format_duration(t->threshold, threshold, sizeof(threshold));
	if (rule->is_event)
		return buf__printf(b, "it happened to %s (process %s, pid %u, tid %u)", t->comm,
				   t->process, t->pid, t->tid);
	return buf__printf(b, "%s > %s, by %s (process %s, pid %u, tid %u)", value, threshold,
			   t->comm, t->process, t->pid, t->tid);
}

int report__open_command(const struct outcome *o, const struct run_incident *inc, struct buf *b)
{
	const struct run_file *dump = run_incident__dump(inc);
	int err;

	if (!dump) {
		err = buf__add_str(b, "frbpf show --base ");
		err = err ?: escape__shell(b, o->directory);
		return err ?: buf__printf(b, " %s", inc->name);
	}
	err = buf__add_str(b, "perf script -i ");
	return err ?: escape__shell(b, dump->path);
}

int report__command(const struct outcome *o, struct buf *b)
{
	int err = buf__add_str(b, "");

	for (size_t i = 0; o->opts->command && o->opts->command[i] && !err; i++) {
		err = buf__add_str(b, i ? " " : "");
		err = err ?: escape__shell(b, o->opts->command[i]);
	}
	return err;
}
