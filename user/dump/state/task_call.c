// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "common/proc_file.h"
#include "dump/state/task_call.h"

bool task_call__read(struct examiner *e, pid_t tid, int dir, struct task_call *ret)
{
	char text[256];
	struct proc_stat s;
	ssize_t n = -1;

	if (e)
		n = examiner__read_task(e, tid, EXAMINE_TASK_SYSCALL, 0, text, sizeof(text) - 1);
	if (n <= 0 || proc_file__stat(dir, &s)) /* if the task has ended, its tid may be reused */
		return false;
	text[n] = '\0';
	return sscanf(text, "%ld %" SCNx64 " %" SCNx64, &ret->number, &ret->args[0],
		      &ret->args[1]) == 3 &&
	       ret->number >= 0;
}
