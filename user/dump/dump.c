// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "common/clock.h"
#include "dump/dump.h"
#include "dump/dump_file.h"
#include "dump/base/retention.h"
#include "dump/incident/stack_frames.h"
#include "dump/window/window.h"

void dump__write(const struct dump_job *job, struct dump_result *ret)
{
	struct window win = { 0 };
	uint64_t begun = now_ns();
	struct err err = { 0 };

	ret->session = job->session;
	if (job->env->before_write)
		job->env->before_write(job->env->before_write_arg, job->inc);
	ret->error = retention__check_free(job->dir_fd, job->inc->min_free, 0, &err);
	if (!ret->error)
		ret->error = window__gather(job, ret, &err, &win);
	if (!ret->error) /* after an mmap storm the side band is most of it */
		ret->error = retention__check_free(job->dir_fd, job->inc->min_free,
						   window__file_bytes(&win), &err);
	if (!ret->error) {
		ret->error = dump_file__write(job, &win, ret, &err);
		stack_frames__locate_user(job->inc, win.slice); /* without memory: fewer names */
	}
	if (ret->error) {
		snprintf(ret->error_text, sizeof(ret->error_text), "%.*s",
			 (int)sizeof(ret->error_text) - 1, err.msg);
		ret->file[0] = '\0';
	}
	window__free(&win);
	ret->write_ns = now_ns() - begun;
}
