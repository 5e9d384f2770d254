/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads small files of the kernel: about one task (/proc/TID), or in another directory. Also finds
 * the files that a process has mapped. */
#ifndef FRBPF_COMMON_PROC_FILE_H
#define FRBPF_COMMON_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM 16 /* bytes, with the NUL */

/*
 * Open /proc/TID. Reads through it are about that task, even after its number was reused. Returns
 * a descriptor or -ESRCH.
 */
int proc_file__open_task(pid_t tid);

/*
 * Read file @name in @dir from its beginning, at most @size - 1 bytes, and add a NUL. @name may be
 * a path below @dir; no link is followed. Returns the length, or -errno of the open or the first
 * read.
 */
ssize_t proc_file__read(int dir, const char *name, char *buf, size_t size);

/* Is @tid a thread of process @pid? */
bool proc_file__is_thread(pid_t pid, pid_t tid);

/* Read the name of the task, not escaped, unlike in `status`. 0 or -ESRCH. */
int proc_file__comm(int dir, char comm[static PROC_COMM]);

/* Fields of `stat`: see proc_pid_stat(5). */
struct proc_stat {
	char state;
	pid_t ppid;
	int prio; /* below 0: real-time */
	int nice;
	int rt_priority;
	int policy;    /* SCHED_* */
	int cpu;       /* the CPU that it ran on last */
	uint64_t born; /* clock ticks since boot */
};

/* 0 or -ESRCH. */
int proc_file__stat(int dir, struct proc_stat *ret);

/* Find the value of @key ("Tgid") in the text of `status`; NULL: there is none. */
const char *proc_file__status_field(const char *status, const char *key);

/* Get the number of a "KEY VALUE" line. False: @key is missing, or its value is "max". */
bool proc_file__number(const char *text, const char *key, uint64_t *ret);

/* Get total= of the line that begins with @kind ("some") in a pressure file, us. 0 or -EPROTO. */
int proc_file__pressure(const char *text, const char *kind, uint64_t *ret_us);

/* ---- paths that lead to a mapped file itself, whatever has its name now ---- */

#define MAP_FILE_PATH_MAX 80

/*
 * The path of the file that process @pid has mapped at [@start, @end), as an event reported it. The
 * mapping may end earlier. If the first segment of a program is executable (always on arm64), the
 * kernel reports room for all segments. Then it unmaps what follows the first. If the process has
 * no such mapping, the path cannot be opened.
 */
void map_file__path(uint32_t pid, uint64_t start, uint64_t end, char ret[static MAP_FILE_PATH_MAX]);

/*
 * Parse a line of /proc/PID/maps in place; it has no newline. Returns the absolute path of a file
 * that is mapped executable, without " (deleted)". NULL: it is another kind of mapping.
 */
const char *map_line__program(char *line, uint64_t *ret_start, uint64_t *ret_end);

#endif
