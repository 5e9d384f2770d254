// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cgroup_mount.h"
#include "common/cleanup.h"
#include "common/json_text.h"
#include "common/proc_file.h"
#include "dump/state/cgroup_state.h"

#define LEVELS_MAX    16   /* nested cgroups that are read, at most */
#define FILE_TEXT     4096 /* bytes of a file that are read */
#define IO_DISKS      8
#define WEIGHT_NORMAL 100		  /* cpu.weight of a new cgroup */
#define SHARES_NORMAL 1024		  /* cpu.shares of a new cgroup, version 1 */
#define NOT_LIMITED   (UINT64_C(1) << 62) /* in version 1, values from here on mean no limit */

/* ---- text ---- */

bool cgroup_state__quota(const char *text, uint64_t *ret_quota, uint64_t *ret_period)
{
	uint64_t quota, period;

	if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) != 2 || !period ||
	    quota > UINT64_MAX / 1000 || period > UINT64_MAX / 1000)
		return false;
	*ret_quota = quota * 1000;
	*ret_period = period * 1000;
	return true;
}

static bool add_pressure_line(json_t *o, const char *text, const char *word)
{
	const char *line = strstr(text, word);
	uint64_t total = 0;
	char key[16];
	double avg;

	if (!line || sscanf(line + strlen(word), " avg10=%lf", &avg) != 1)
		return false;
	proc_file__pressure(text, word, &total);
	snprintf(key, sizeof(key), "%s_avg10", word);
	json_object_set_new(o, key, json_real(avg));
	snprintf(key, sizeof(key), "%s_ns", word);
	json_object_set_new(o, key, json_integer(total * 1000));
	return true;
}

json_t *cgroup_state__pressure(const char *text)
{
	json_t *o = json_object();

	if (!o || !add_pressure_line(o, text, "some")) {
		json_decref(o);
		return NULL;
	}
	add_pressure_line(o, text, "full");
	return o;
}

/* ---- one cgroup ---- */

static void put_number(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v));
}

/* Read a file with one number; false: it has none, or "max". */
static bool read_cgroup_number(int dir, const char *file, uint64_t *ret)
{
	char text[64];

	return proc_file__read(dir, file, text, sizeof(text)) > 0 &&
	       proc_file__number(text, "", ret);
}

static bool add_cgroup_number(json_t *o, const char *key, int dir, const char *file)
{
	uint64_t v;

	if (!read_cgroup_number(dir, file, &v) || v >= NOT_LIMITED)
		return false;
	put_number(o, key, v);
	return true;
}

/* The lines of a file to read, and their names in the manifest. */
struct counter_row {
	const char *line, *key;
	uint64_t scale;
};

static void add_cgroup_counters(json_t *o, int dir, const char *file,
				const struct counter_row *rows)
{
	char text[FILE_TEXT];
	uint64_t v;

	if (proc_file__read(dir, file, text, sizeof(text)) <= 0)
		return;
	for (; rows->line; rows++)
		if (proc_file__number(text, rows->line, &v))
			put_number(o, rows->key, v * rows->scale);
}

static bool read_quota(int dir, bool v2, uint64_t *ret_quota, uint64_t *ret_period)
{
	char text[64];

	if (v2)
		return proc_file__read(dir, "cpu.max", text, sizeof(text)) > 0 &&
		       cgroup_state__quota(text, ret_quota, ret_period);
	/* -1 means no quota */
	if (proc_file__read(dir, "cpu.cfs_quota_us", text, sizeof(text)) <= 0 || text[0] == '-' ||
	    !proc_file__number(text, "", ret_quota) ||
	    !read_cgroup_number(dir, "cpu.cfs_period_us", ret_period))
		return false;
	*ret_quota *= 1000;
	*ret_period *= 1000;
	return true;
}

/*
 * Add the weight of a cgroup. A level without a quota matters, too, if its weight decides between
 * it and its siblings.
 */
static bool add_cgroup_weight(json_t *o, int dir, bool v2)
{
	const char *key = v2 ? "weight" : "shares";

	if (!add_cgroup_number(o, key, dir, v2 ? "cpu.weight" : "cpu.shares"))
		return false;
	return json_integer_value(json_object_get(o, key)) != (v2 ? WEIGHT_NORMAL : SHARES_NORMAL);
}

static bool add_cgroup_cpu(json_t *o, int dir, bool v2)
{
	static const struct counter_row rows[] = { { "nr_periods", "periods", 1 },
						   { "nr_throttled", "throttled", 1 },
						   { "throttled_usec", "throttled_ns", 1000 },
						   { "throttled_time", "throttled_ns", 1 },
						   { 0 } };
	uint64_t quota, period;
	bool limited = read_quota(dir, v2, &quota, &period);

	if (limited) {
		put_number(o, "quota_ns", quota);
		put_number(o, "period_ns", period);
		add_cgroup_counters(o, dir, "cpu.stat", rows);
	}
	return add_cgroup_weight(o, dir, v2) || limited;
}

static bool add_memory(json_t *o, int dir, bool v2)
{
	static const struct counter_row rows[] = { { "high", "high_events", 1 },
						   { "max", "max_events", 1 },
						   { "oom_kill", "oom_kills", 1 },
						   { 0 } };
	bool limited;

	add_cgroup_number(o, "current", dir, v2 ? "memory.current" : "memory.usage_in_bytes");
	limited = add_cgroup_number(o, "max", dir, v2 ? "memory.max" : "memory.limit_in_bytes");
	if (v2) {
		limited |= add_cgroup_number(o, "high", dir, "memory.high");
		add_cgroup_counters(o, dir, "memory.events", rows);
	} else {
		add_cgroup_number(o, "max_events", dir, "memory.failcnt");
	}
	return limited;
}

/* Add the limits of disks, one a line. */
static bool add_io_lines(json_t *list, int dir, const char *file, bool with_name)
{
	char text[FILE_TEXT], line[192];
	bool any = false;

	if (proc_file__read(dir, file, text, sizeof(text)) <= 0)
		return false;
	for (char *save = NULL, *l = strtok_r(text, "\n", &save);
	     l && json_array_size(list) < IO_DISKS; l = strtok_r(NULL, "\n", &save)) {
		snprintf(line, sizeof(line), "%.120s%s%s", l, with_name ? " " : "",
			 with_name ? strrchr(file, '.') + 1 : "");
		json_array_append_new(list, json_text(line, sizeof(line)));
		any = true;
	}
	return any;
}

static bool add_io(json_t *o, int dir, bool v2)
{
	static const char *const v1[] = { "blkio.throttle.read_bps_device",
					  "blkio.throttle.write_bps_device",
					  "blkio.throttle.read_iops_device",
					  "blkio.throttle.write_iops_device" };
	json_t *list = json_array();
	bool any = v2 && add_io_lines(list, dir, "io.max", false);

	for (size_t i = 0; !v2 && i < ARRAY_SIZE(v1); i++)
		any |= add_io_lines(list, dir, v1[i], true);
	if (any)
		json_object_set(o, "max", list);
	json_decref(list);
	return any;
}

/* ---- from the task's own cgroup upwards ---- */

static const struct cgroup_part {
	const char *key;
	enum cgroup_tree v1;
	const char *controller;
	/* returns whether it has a limit, or a weight of its own */
	bool (*add)(json_t *o, int dir, bool v2);
} parts[] = {
	{ "cpu", CGROUP_CPU, "cpu", add_cgroup_cpu },
	{ "memory", CGROUP_MEMORY, "memory", add_memory },
	{ "io", CGROUP_IO, "blkio", add_io },
};

/* Open a cgroup strictly below @root: no links, no other file system. */
static int open_cgroup(int root, const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
						 RESOLVE_NO_XDEV };

	path += strspn(path, "/");
	return syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
}

/*
 * Read the task's own cgroup, and those above that have limits or weights. NULL: there is nothing.
 */
static json_t *read_levels(const struct cgroup_part *p, int root, const char *path, bool v2)
{
	json_t *list = json_array(), *o;
	char at[PATH_MAX];

	snprintf(at, sizeof(at), "%s", path);
	for (size_t level = 0; level < LEVELS_MAX && at[0]; level++) {
		_cleanup_close_ int dir = open_cgroup(root, at);
		char *slash = strrchr(at, '/');
		bool limited;

		o = dir < 0 ? NULL : json_object();
		limited = o && p->add(o, dir, v2);
		if (o && json_object_size(o) && (limited || !level)) {
			json_object_set_new(o, "cgroup", json_text(at, sizeof(at)));
			json_array_append(list, o);
		}
		json_decref(o);
		if (!slash || !at[1])
			break;
		slash[slash == at] = '\0';
	}
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}

static void add_pressures(json_t *state, int root, const char *path)
{
	static const char *const names[] = { "cpu", "memory", "io" };
	_cleanup_close_ int dir = open_cgroup(root, path);
	json_t *all = json_object(), *o;
	char file[32], text[256];

	for (size_t i = 0; dir >= 0 && i < ARRAY_SIZE(names); i++) {
		snprintf(file, sizeof(file), "%s.pressure", names[i]);
		if (proc_file__read(dir, file, text, sizeof(text)) <= 0)
			continue;
		o = cgroup_state__pressure(text);
		if (o)
			json_object_set_new(all, names[i], o);
	}
	if (json_object_size(all))
		json_object_set(state, "pressure", all);
	json_decref(all);
}

/* Is @word in the list "cpu,cpuacct" of @len bytes? */
static bool controller_in_list(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (const char *end = list + len; list < end;) {
		const char *comma = memchr(list, ',', end - list);
		size_t have = (comma ?: end) - list;

		if (have == n && !memcmp(list, word, n))
			return true;
		list += have + 1;
	}
	return false;
}

/* Get the path from "0::/path", or from the line with @controller. False: there is no such line. */
static bool find_cgroup_path(const char *lines, const char *controller, char path[static PATH_MAX])
{
	for (const char *line = lines; line && *line; line = strchr(line, '\n')) {
		const char *list, *colon;
		int len;

		line += *line == '\n';
		list = strchr(line, ':');
		colon = list ? strchr(list + 1, ':') : NULL;
		if (!colon)
			return false;
		if (controller ? !controller_in_list(list + 1, colon - list - 1, controller)
			       : strncmp(line, "0::", 3) != 0)
			continue;
		len = strcspn(colon + 1, "\n");
		return len && len < PATH_MAX &&
		       snprintf(path, PATH_MAX, "%.*s", len, colon + 1) == len;
	}
	return false;
}

int cgroup_state__add(const struct cgroup_roots *r, const char *lines, json_t *state)
{
	char own[PATH_MAX], path[PATH_MAX];
	bool v2 = find_cgroup_path(lines, NULL, own);
	json_t *list;

	if (v2 && json_object_set_new(state, "cgroup", json_text(own, sizeof(own))))
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct cgroup_part *p = &parts[i];

		list = NULL;
		if (r->fd[p->v1] >= 0 && find_cgroup_path(lines, p->controller, path))
			list = read_levels(p, r->fd[p->v1], path, false);
		else if (v2 && r->fd[CGROUP_V2] >= 0)
			list = read_levels(p, r->fd[CGROUP_V2], own, true);
		if (list && json_object_set_new(state, p->key, list))
			return -ENOMEM;
	}
	if (v2 && r->fd[CGROUP_V2] >= 0)
		add_pressures(state, r->fd[CGROUP_V2], own);
	return 0;
}

void cgroup_roots__open(struct cgroup_roots *ret)
{
	char dir[PATH_MAX];

	for (size_t i = 0; i < CGROUP_TREES; i++)
		ret->fd[i] = -1;
	if (!cgroup__mount_point(dir, sizeof(dir)))
		ret->fd[CGROUP_V2] = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!cgroup__mount_point_v1(parts[i].controller, dir, sizeof(dir)))
			ret->fd[parts[i].v1] = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void cgroup_roots__close(struct cgroup_roots *r)
{
	for (size_t i = 0; i < CGROUP_TREES; i++) {
		if (r->fd[i] >= 0)
			close(r->fd[i]);
		r->fd[i] = -1;
	}
}
