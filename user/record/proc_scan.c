// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "record/proc_scan.h"

#define STAT_MAX ((size_t)4096)
#define MAPS_MAX ((size_t)256 << 20)

/* include/linux/sched.h; what field 9 of stat shows */
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* One scan: what is reused from process to process. */
struct scan {
	struct task_model *m;
	struct buf text; /* a file of /proc */
	uint64_t ns_dev; /* the device of namespaces */
	char name[PATH_MAX];
};

/* The fields of /proc/PID/stat that matter. */
struct task_stat {
	const char *comm; /* in the text */
	size_t comm_len;
	uint64_t flags, n_threads;
	bool dead;
};

static int read_at(struct buf *b, int dir, const char *name, size_t max)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	b->len = 0;
	return fd < 0 ? -errno : buf__read_fd(b, fd, max);
}

static const char *parse_dec(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9')
		v = v * 10 + (*s++ - '0');
	*ret = v;
	return s;
}

static const char *parse_hex(const char *s, uint64_t *ret)
{
	uint64_t v = 0;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			v = v << 4 | (*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			v = v << 4 | (*s - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return s;
}

static const char *next_field(const char *s)
{
	while (*s && *s != ' ' && *s != '\n')
		s++;
	while (*s == ' ')
		s++;
	return s;
}

/* proc_pid_stat(5): "pid (comm) state ppid ...", flags is field 9, num_threads field 20. */
static bool parse_stat(const struct buf *text, struct task_stat *ret)
{
	const char *open, *close, *s;
	int field;

	if (!text->len)
		return false;
	open = strchr(text->data, '(');
	close = strrchr(text->data, ')');
	if (!open || !close || close < open || close[1] != ' ')
		return false;
	ret->comm = open + 1;
	ret->comm_len = close - open - 1;
	s = close + 2;
	ret->dead = *s == 'Z' || *s == 'X';
	for (field = 3; field < 9; field++)
		s = next_field(s);
	parse_dec(s, &ret->flags);
	for (; field < 20; field++)
		s = next_field(s);
	parse_dec(s, &ret->n_threads);
	if (ret->flags & PF_EXITING)
		ret->dead = true;
	return true;
}

/* procfs appends to a kworker's comm what it works on ("kworker/0:1-events"); records do not. */
static size_t kworker_comm_len(const struct task_stat *st)
{
	static const char prefix[] = "kworker/";
	const char *colon;
	size_t i;

	if (!(st->flags & PF_KTHREAD) || st->comm_len < sizeof(prefix) ||
	    memcmp(st->comm, prefix, sizeof(prefix) - 1) != 0)
		return st->comm_len;
	colon = memchr(st->comm, ':', st->comm_len);
	for (i = colon ? (size_t)(colon - st->comm) : st->comm_len; i < st->comm_len; i++)
		if (st->comm[i] == '-' || st->comm[i] == '+')
			return i;
	return st->comm_len;
}

/* Returns whether the text is that of a living thread, which then is in the model; negative:
 * -ENOMEM. */
static int add_thread(struct scan *s, uint32_t pid, uint32_t tid, struct task_stat *ret)
{
	int err;

	if (!parse_stat(&s->text, ret) || ret->dead)
		return 0;
	err = task_model__set_comm(s->m, pid, tid, ret->comm, kworker_comm_len(ret));
	return err ? err : 1;
}

static bool is_number(const char *s, uint32_t *ret)
{
	uint64_t v;

	if (*s < '0' || *s > '9' || *parse_dec(s, &v) || v > UINT32_MAX)
		return false;
	*ret = v;
	return true;
}

static int scan_threads(struct scan *s, int dir, uint32_t pid)
{
	int fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct task_stat st;
	struct dirent *de;
	char path[32];
	uint32_t tid;

	if (!tasks) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (ret >= 0 && (de = readdir(tasks))) {
		if (!is_number(de->d_name, &tid) || tid == pid)
			continue;
		snprintf(path, sizeof(path), "%u/stat", tid);
		ret = read_at(&s->text, fd, path, STAT_MAX);
		ret = ret == -ENOMEM ? ret : ret < 0 ? 0 : add_thread(s, pid, tid, &st);
	}
	closedir(tasks);
	return ret < 0 ? ret : 0;
}

/* What perf's records call memory without a file; the rest keeps its name ([vdso], [heap] ...). */
static bool is_anonymous(const char *name, size_t len)
{
	static const char named[] = "[anon:", shmem[] = "[anon_shmem:";

	return len == 0 || (len >= sizeof(named) && !memcmp(name, named, sizeof(named) - 1)) ||
	       (len >= sizeof(shmem) && !memcmp(name, shmem, sizeof(shmem) - 1));
}

/* The kernel writes a newline in a name as \012 (seq_path). */
static size_t unescape(const char *s, size_t len, char *out, size_t size)
{
	size_t n = 0;

	while (len && n < size - 1) {
		bool newline = len >= 4 && !memcmp(s, "\\012", 4);

		out[n++] = newline ? '\n' : *s;
		s += newline ? 4 : 1;
		len -= newline ? 4 : 1;
	}
	return n;
}

/* "start-end perms offset major:minor inode   name" */
static bool parse_map(const char *line, const char *end, struct task_map *ret,
		      const char **ret_name)
{
	uint64_t to, maj, min;
	const char *s;

	s = parse_hex(line, &ret->start);
	if (*s++ != '-')
		return false;
	s = parse_hex(s, &to);
	if (*s != ' ' || end - s < 6 || to < ret->start)
		return false;
	ret->len = to - ret->start;
	s++;
	ret->prot = (s[0] == 'r' ? PROT_READ : 0) | (s[1] == 'w' ? PROT_WRITE : 0) |
		    (s[2] == 'x' ? PROT_EXEC : 0);
	ret->flags = s[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	s = parse_hex(next_field(s), &ret->pgoff);
	s = parse_hex(next_field(s), &maj);
	if (*s++ != ':')
		return false;
	s = parse_hex(s, &min);
	s = parse_dec(next_field(s), &ret->file.ino);
	ret->file.maj = maj;
	ret->file.min = min;
	while (s < end && *s == ' ')
		s++;
	*ret_name = s < end ? s : end;
	return true;
}

static int add_map_line(struct scan *s, uint32_t pid, const char *line, const char *end)
{
	struct task_map map = { 0 };
	const char *name;
	int err;

	if (!parse_map(line, end, &map, &name) || !(map.prot & PROT_EXEC))
		return 0;
	if (is_anonymous(name, end - name)) {
		map.name = "//anon";
		map.name_len = strlen(map.name);
	} else {
		map.name = s->name;
		map.name_len = unescape(name, end - name, s->name, sizeof(s->name));
	}
	err = task_model__add_map(s->m, pid, &map);
	return err == -ENOMEM ? err : 0;
}

static int scan_maps(struct scan *s, int dir, uint32_t pid)
{
	const char *line, *end, *stop;
	int err = read_at(&s->text, dir, "maps", MAPS_MAX);

	if (err)
		return err == -ENOMEM ? err : 0;
	line = s->text.data;
	stop = line + s->text.len;
	for (; line < stop && !err; line = end + 1) {
		end = memchr(line, '\n', stop - line);
		if (!end)
			break;
		err = add_map_line(s, pid, line, end);
	}
	return err;
}

/* the order of NET_NS_INDEX ... in include/uapi/linux/perf_event.h */
static const char *const ns_links[] = {
	"ns/net", "ns/uts", "ns/ipc", "ns/pid", "ns/user", "ns/mnt", "ns/cgroup",
};

/* As the kernel's records have it: new_encode_dev() of include/linux/kdev_t.h. */
static uint64_t encode_dev(dev_t dev)
{
	uint32_t min = minor(dev);

	return (min & 0xff) | major(dev) << 8 | (min & ~0xffU) << 12;
}

/* All namespaces are inodes of one device. Reading a link is half as dear as following it. */
static int scan_namespaces(struct scan *s, int dir, uint32_t pid)
{
	uint64_t v[ARRAY_SIZE(ns_links)][2];
	char text[64], *number; /* "net:[4026531840]" */
	ssize_t n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ns_links); i++) {
		n = readlinkat(dir, ns_links[i], text, sizeof(text) - 1);
		if (n < 0)
			return 0;
		text[n] = '\0';
		number = strchr(text, '[');
		if (!number)
			return 0;
		v[i][0] = s->ns_dev;
		parse_dec(number + 1, &v[i][1]);
	}
	return task_model__set_namespaces(s->m, pid, v, i);
}

static int scan_process(struct scan *s, uint32_t pid)
{
	uint64_t time = now_ns();
	struct task_stat st;
	char path[32];
	int alive, err;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	_cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	err = read_at(&s->text, dir, "stat", STAT_MAX);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = task_model__add_process(s->m, pid, time);
	if (err)
		return err;
	st = (struct task_stat){ 0 };
	alive = add_thread(s, pid, pid, &st);
	if (alive < 0)
		return alive;
	if (st.n_threads > 1)
		err = scan_threads(s, dir, pid);
	if (!err && !(st.flags & PF_KTHREAD))
		err = scan_maps(s, dir, pid);
	if (!err && !(st.flags & PF_KTHREAD))
		err = scan_namespaces(s, dir, pid);
	if (!err && !task_model__n_threads(s->m, pid))
		task_model__remove_process(s->m, pid);
	return err;
}

static struct scan scan_of(struct task_model *m)
{
	struct scan s = { .m = m };
	struct stat st;

	if (!stat("/proc/self/ns/net", &st))
		s.ns_dev = encode_dev(st.st_dev);
	return s;
}

int proc_scan__process(struct task_model *m, uint32_t pid)
{
	struct scan s = scan_of(m);
	int err = scan_process(&s, pid);

	buf__free(&s.text);
	return err;
}

int proc_scan__tasks(struct task_model *m, struct err *err)
{
	struct scan s = scan_of(m);
	DIR *proc = opendir("/proc");
	struct dirent *de;
	uint32_t pid;
	int ret = 0;

	if (!proc)
		return err_set(err, -errno, "cannot read /proc: %s", strerror(errno));
	while (!ret && (de = readdir(proc)))
		if (is_number(de->d_name, &pid))
			ret = scan_process(&s, pid);
	closedir(proc);
	buf__free(&s.text);
	return ret ? err_set(err, ret, "reading /proc: %s", strerror(-ret)) : 0;
}
