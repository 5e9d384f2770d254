// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sideband/kernel_thread.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

size_t kernel_thread__comm_len(const char *comm, size_t len)
{
	static const char prefix[] = "kworker/";
	const char *colon;
	size_t i;

	if (len < sizeof(prefix) || memcmp(comm, prefix, sizeof(prefix) - 1) != 0)
		return len;
	colon = memchr(comm, ':', len);
	for (i = colon ? (size_t)(colon - comm) : len; i < len; i++)
		if (comm[i] == '-' || comm[i] == '+')
			return i;
	return len;
}

bool kernel_thread__name(uint32_t tid, char ret[static KERNEL_THREAD_COMM])
{
	char path[32], text[512], *open_paren, *close_paren;
	unsigned int flags;
	_cleanup_close_ int fd = -1;
	ssize_t n;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');
	/* proc_pid_stat(5): state, ppid, pgrp, session, tty, tpgid, flags */
	if (!open_paren || !close_paren || close_paren < open_paren ||
	    sscanf(close_paren + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
	    !(flags & PF_KTHREAD))
		return false;
	len = kernel_thread__comm_len(open_paren + 1, close_paren - open_paren - 1);
	snprintf(ret, KERNEL_THREAD_COMM, "%.*s", (int)len, open_paren + 1);
	return ret[0] && strcmp(ret, "kthreadd") != 0;
}
