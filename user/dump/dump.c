// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "common/clock.h"
#include "dump/dump.h"
#include "dump/dump_file.h"
#include "dump/incident/stack_frames.h"
#include "dump/window/window.h"

/* Write the gathered window, if the disk has room. */
static int write_window(const struct dump_job *job, const struct window *win,
			struct dump_result *res, struct err *err)
{
	/* after many calls of mmap() most of the file is side band */
	uint64_t bytes = window__file_bytes(win);
	int code = disk_room__promise(job->env->room, job->dir_fd, job->inc->min_free, bytes, err);

	if (code)
		return code;
	code = dump_file__write(job, win, res, err);
	disk_room__release(job->env->room, bytes, code ? 0 : res->bytes);
	stack_frames__locate_user(job->inc, win->slice); /* out of memory: fewer names */
	return code;
}

void dump__write(const struct dump_job *job, struct dump_result *ret)
{
	struct window win = { 0 };
	uint64_t begun = now_ns();
	struct err err = { 0 };

	ret->session = job->session;
	if (job->env->before_write)
		job->env->before_write(job->env->before_write_arg, job->inc);
	ret->error = disk_room__promise(job->env->room, job->dir_fd, job->inc->min_free, 0, &err);
	if (!ret->error)
		ret->error = window__gather(job, ret, &err, &win);
	if (!ret->error)
		ret->error = write_window(job, &win, ret, &err);
	if (ret->error) {
		snprintf(ret->error_text, sizeof(ret->error_text), "%.*s",
			 (int)sizeof(ret->error_text) - 1, err.msg);
		ret->file[0] = '\0';
	}
	window__free(&win);
	ret->write_ns = now_ns() - begun;
}
