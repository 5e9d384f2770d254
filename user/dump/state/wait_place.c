// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/json_text.h"
#include "common/proc_file.h"
#include "common/rights.h"
#include "dump/state/task_call.h"
#include "dump/state/wait_place.h"
#include "rules/when.h"

#define WCHAN_MAX     128 /* bytes, as KSYM_NAME_LEN once was */
#define CALL_PATH_MAX 512 /* bytes */

/* The file of descriptor @fd as /proc shows it; NULL: it is closed. */
static json_t *file_name(int dir, unsigned int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "fd/%u", fd);
	len = readlinkat(dir, link, path, sizeof(path));
	return len > 0 ? json_text(path, len) : NULL;
}

/* The path that was passed to the call, from the task's memory; NULL: none, or unreadable. */
static json_t *call_path(struct examiner *e, pid_t tid, int dir, const struct task_call *call)
{
	enum frbpf_call_file arg = syscall__file_arg((int)call->number);
	char path[CALL_PATH_MAX];
	struct proc_stat s;
	ssize_t len;

	if (arg != FRBPF_CALL_PATH_FIRST && arg != FRBPF_CALL_PATH_SECOND)
		return NULL;
	len = examiner__read_task(e, tid, EXAMINE_TASK_MEMORY,
				  call->args[arg == FRBPF_CALL_PATH_SECOND], path, sizeof(path));
	if (len <= 0 || proc_file__stat(dir, &s)) /* if the task has ended, its tid may be reused */
		return NULL;
	return json_text(path, (size_t)len);
}

static void add_task_call(json_t *o, struct examiner *e, pid_t tid, int dir)
{
	struct task_call call;
	const char *name;
	json_t *file, *path;

	if (!task_call__read(e, tid, dir, &call) || call.number > INT_MAX)
		return;
	name = syscall__name((int)call.number);
	json_object_set_new(o, "syscall", name ? json_string(name) : json_integer(call.number));
	file = syscall__file_arg((int)call.number) == FRBPF_CALL_DESCRIPTOR
		       ? file_name(dir, (unsigned int)call.args[0])
		       : NULL;
	if (file)
		json_object_set_new(o, "file", file);
	path = call_path(e, tid, dir, &call);
	if (path)
		json_object_set_new(o, "path", path);
}

int wait_place__read(struct examiner *e, pid_t tid, int dir, json_t **ret)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	char wchan[WCHAN_MAX];
	json_t *o = json_object();

	if (!o)
		return -ENOMEM;
	add_task_call(o, e, tid, dir);
	if (proc_file__read(dir, "wchan", wchan, sizeof(wchan)) > 0 && strcmp(wchan, "0") != 0)
		json_object_set_new(o, "wchan", json_text(wchan, sizeof(wchan)));
	if (!json_object_size(o)) {
		json_decref(o);
		return -ENODATA;
	}
	*ret = o;
	return 0;
}
