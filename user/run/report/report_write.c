// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "run/report/report.h"

static int write_all(int fd, const struct buf *b)
{
	const char *p = b->data;
	size_t left = b->len;

	while (left) {
		ssize_t n = write(fd, p, left);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			left -= n;
		}
	}
	return 0;
}

static int write_file(int dir, const char *name, const struct buf *b, struct err *err)
{
	_cleanup_close_ int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code = fd < 0 ? -errno : write_all(fd, b);

	if (!code && fsync(fd) < 0)
		code = -errno;
	return code ? err_set(err, code, "%s cannot be written: %s", name, strerror(-code)) : 0;
}

typedef int (*report_fn)(const struct outcome *o, struct buf *b);

static int write_report(const struct outcome *o, int dir, const char *name, report_fn fn,
			struct err *err)
{
	struct buf b = { 0 };
	int code = fn(o, &b);

	if (code)
		err_set(err, code, "%s: out of memory", name);
	else
		code = write_file(dir, name, &b, err);
	buf__free(&b);
	return code;
}

/* What GitHub shows on the job's page: a file that it made for us, to be added to. */
static void add_step_summary(const struct outcome *o, const char *path)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct buf b = { 0 };
	struct stat st;
	int code;

	if (fd < 0 || fstat(fd, &st) < 0)
		code = -errno;
	else
		code = S_ISREG(st.st_mode) ? report_markdown(o, &b) : -EINVAL;
	code = code ? code : write_all(fd, &b);
	if (code)
		log_warn("GITHUB_STEP_SUMMARY %s: %s", path, strerror(-code));
	buf__free(&b);
}

/* GitHub takes the annotations from what the step writes. */
static void annotate_github(const struct outcome *o)
{
	const char *summary = getenv("GITHUB_STEP_SUMMARY");
	struct buf b = { 0 };

	if (!report_github(o, &b) && b.len)
		write_all(STDERR_FILENO, &b);
	buf__free(&b);
	if (summary && *summary)
		add_step_summary(o, summary);
}

/* The output folder within the project, as artifacts have it; NULL: it is not. */
static const char *within_project(const struct outcome *o)
{
	const char *project = getenv("CI_PROJECT_DIR");
	size_t len = project ? strlen(project) : 0;

	while (len > 1 && project[len - 1] == '/')
		len--;
	if (!len || strncmp(o->folder, project, len) || o->folder[len] != '/')
		return NULL;
	return o->folder + len + 1;
}

static int annotate_gitlab(const struct outcome *o, int dir, struct err *err)
{
	const char *url = getenv("CI_JOB_URL"), *folder = within_project(o);
	struct buf b = { 0 };
	int code;

	if (!url || !folder)
		return 0;
	code = report_gitlab(o, url, folder, &b);
	if (code)
		err_set(err, code, "out of memory");
	else
		code = write_file(dir, "gl-annotations.json", &b, err);
	buf__free(&b);
	return code;
}

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && strcmp(v, "true") == 0;
}

int report__write(const struct outcome *o, int fd, struct err *err)
{
	int code = write_report(o, fd, "summary.json", report_json, err);

	code = code ? code : write_report(o, fd, "junit.xml", report_junit, err);
	code = code ? code : write_report(o, fd, "summary.md", report_markdown, err);
	if (!code && is_set("GITLAB_CI"))
		code = annotate_gitlab(o, fd, err);
	if (is_set("GITHUB_ACTIONS"))
		annotate_github(o);
	return code;
}
