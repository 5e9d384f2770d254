// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/proc_file.h"

#define STAT_MAX 1024

int proc_file__open_task(pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -ESRCH : fd;
}

bool proc_file__is_thread(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return tid > 0 && !access(path, F_OK);
}

ssize_t proc_file__read(int dir, const char *name, char *buf, size_t size)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t len = 0;
	ssize_t n = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += n;
	buf[len] = '\0';
	return n < 0 && !len ? -errno : (ssize_t)len;
}

int proc_file__comm(int dir, char comm[static PROC_COMM])
{
	char buf[128];
	ssize_t len = proc_file__read(dir, "comm", buf, sizeof(buf));

	if (len <= 0)
		return -ESRCH;
	buf[len - 1] = '\0'; /* the newline */
	memset(comm, 0, PROC_COMM);
	memcpy(comm, buf, strnlen(buf, PROC_COMM - 1));
	return 0;
}

/* The name may contain any character, so count fields after the last ')'. */
int proc_file__stat(int dir, struct proc_stat *ret)
{
	char buf[STAT_MAX], *p, *save = NULL;
	struct proc_stat s = { 0 };

	if (proc_file__read(dir, "stat", buf, sizeof(buf)) <= 0)
		return -ESRCH;
	p = strrchr(buf, ')');
	p = p ? strtok_r(p + 1, " ", &save) : NULL;
	for (int field = 3; p; field++, p = strtok_r(NULL, " ", &save)) {
		switch (field) {
		case 3:
			s.state = *p;
			break;
		case 4:
			s.ppid = atoi(p);
			break;
		case 18:
			s.prio = atoi(p);
			break;
		case 19:
			s.nice = atoi(p);
			break;
		case 22:
			s.born = strtoull(p, NULL, 10);
			break;
		case 39:
			s.cpu = atoi(p);
			break;
		case 40:
			s.rt_priority = atoi(p);
			break;
		case 41:
			s.policy = atoi(p);
			break;
		}
	}
	if (!s.born)
		return -ESRCH;
	*ret = s;
	return 0;
}

const char *proc_file__status_field(const char *status, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, "\t ");
	}
	return NULL;
}

/* Get the real end of the mapping at @start. False: there is none. */
static bool find_mapping_end(uint32_t pid, uint64_t start, uint64_t *ret)
{
	_cleanup_fclose_ FILE *maps = NULL;
	_cleanup_free_ char *line = NULL;
	char path[MAP_FILE_PATH_MAX];
	uint64_t from, to;
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2 || from > start)
			return false;
		if (from == start) {
			*ret = to;
			return true;
		}
	}
	return false;
}

void map_file__path(uint32_t pid, uint64_t start, uint64_t end, char ret[static MAP_FILE_PATH_MAX])
{
	static const char format[] = "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64;
	struct stat st;
	uint64_t real;

	snprintf(ret, MAP_FILE_PATH_MAX, format, pid, start, end);
	if (!lstat(ret, &st) || errno != ENOENT)
		return;
	if (find_mapping_end(pid, start, &real) && real < end)
		snprintf(ret, MAP_FILE_PATH_MAX, format, pid, start, real);
}

static void strip_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), end = sizeof(deleted) - 1;

	if (len > end && !strcmp(path + len - end, deleted))
		path[len - end] = '\0';
}

const char *map_line__program(char *line, uint64_t *ret_start, uint64_t *ret_end)
{
	char perms[5] = "";
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", ret_start, ret_end, perms,
		   &at) < 3 ||
	    !at || perms[2] != 'x' || line[at] != '/')
		return NULL;
	strip_deleted(line + at);
	return line + at;
}

bool proc_file__number(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);
	char *end;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		uint64_t v;

		line += *line == '\n';
		if (strncmp(line, key, len) || (len && line[len] != ' '))
			continue;
		errno = 0;
		v = strtoull(line + len, &end, 10);
		if (errno || end == line + len)
			return false;
		*ret = v;
		return true;
	}
	return false;
}

int proc_file__pressure(const char *text, const char *kind, uint64_t *ret_us)
{
	size_t len = strlen(kind);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *total;

		line += *line == '\n';
		if (strncmp(line, kind, len) != 0 || line[len] != ' ')
			continue;
		total = strstr(line, " total=");
		if (!total || total > strchrnul(line, '\n'))
			return -EPROTO;
		return sscanf(total, " total=%" SCNu64, ret_us) == 1 ? 0 : -EPROTO;
	}
	return -EPROTO;
}
