// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroups.skel.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "detect/engine/cgroups.h"
#include "detect/engine/load_error.h"
#include "detect/engine/text_set.h"

struct cgroups {
	int ids_fd;
	struct slots slots;
	struct cgroups_bpf *skel; /* NULL: no rule names a cgroup */
};

struct cgroup_set {
	struct text_set paths;
};

_Static_assert(FRBPF_MAX_CGROUPS == FRBPF_MAX_SLOTS, "struct slots serves both");

struct cgroups *cgroups__new(int ids_fd)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (c)
		c->ids_fd = ids_fd;
	return c;
}

void cgroups__free(struct cgroups *c)
{
	if (!c)
		return;
	cgroups_bpf__destroy(c->skel);
	free(c);
}

static bool is_cgroup(const struct frbpf_node *node, uint32_t *ret_kind)
{
	return node->field == FRBPF_FIELD_CGROUP;
}

int cgroup_set__make(const struct cgroups *c, const struct rule_conf *rules, size_t n_rules,
		     struct cgroup_set **ret)
{
	struct cgroup_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return -ENOMEM;
	err = text_set__fill(&set->paths, &c->slots, rules, n_rules, FRBPF_MAX_CGROUPS, is_cgroup);
	if (err) {
		free(set);
		return err;
	}
	*ret = set;
	return 0;
}

bool cgroup_set__has(const struct cgroup_set *set, const char *path, uint32_t *ret)
{
	size_t i = text_set__find(&set->paths, path, 0);

	if (i == set->paths.n)
		return false;
	*ret = set->paths.index[i];
	return true;
}

int cgroup__own(char *buf, size_t size)
{
	struct buf text = { 0 };
	int err = buf__read_file(&text, "/proc/self/cgroup", 2 * PATH_MAX);
	const char *line = !err && text.len ? text.data : NULL;

	while (line && strncmp(line, "0::/", 4) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!err && !line)
		err = -ENOENT;
	if (!err) {
		line += strlen("0::");
		err = snprintf(buf, size, "%.*s", (int)strcspn(line, "\n"), line) < (int)size
			      ? 0
			      : -ENAMETOOLONG;
	}
	buf__free(&text);
	return err;
}

bool cgroup__is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	while (len && above[len - 1] == '/')
		len--;
	return !strncmp(path, above, len) && (!path[len] || path[len] == '/');
}

/*
 * Get the id of the cgroup at @path below the directory @dir. It is the file handle of kernfs
 * (FILEID_KERNFS, kernfs_encode_fh(), since 5.5).
 */
static int cgroup_id_at(int dir, const char *path, int flags, uint64_t *ret)
{
	struct {
		struct file_handle fh;
		uint64_t id;
	} h = { .fh.handle_bytes = sizeof(h.id) };
	int mount_id;

	if (name_to_handle_at(dir, path, &h.fh, &mount_id, flags))
		return -errno;
	if (h.fh.handle_bytes != sizeof(h.id))
		return -EINVAL;
	memcpy(ret, h.fh.f_handle, sizeof(*ret));
	return 0;
}

int cgroup__id(const char *mount, const char *path, uint64_t *ret)
{
	char full[2 * PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", mount, path);
	return cgroup_id_at(AT_FDCWD, full, 0, ret);
}

int cgroup__id_of(int fd, uint64_t *ret)
{
	return cgroup_id_at(fd, "", AT_EMPTY_PATH, ret);
}

static int watch_cgroups(struct cgroups *c)
{
	int err;

	c->skel = cgroups_bpf__open();
	if (!c->skel)
		return -errno;
	err = bpf_map__reuse_fd(c->skel->maps.cgroups, c->ids_fd);
	err = err ?: cgroups_bpf__load(c->skel);
	return err ?: cgroups_bpf__attach(c->skel);
}

static int start_watching(struct cgroups *c, struct err *err)
{
	struct load_log log;
	int code;

	if (c->skel)
		return 0;
	load_log__begin(&log);
	code = watch_cgroups(c);
	load_log__end();
	if (!code)
		return 0;
	cgroups_bpf__destroy(TAKE_PTR(c->skel));
	load_error__explain(err, code, &log);
	return err_prefix(err, code, "cgroups: ");
}

/* The programs may write the entry when a cgroup comes or goes: repeat until nothing changed. */
static int resolve_cgroup(const struct cgroups *c, const char *mount, const char *path,
			  uint32_t index)
{
	uint64_t id = 0, again;
	int err;

	if (cgroup__id(mount, path, &id))
		id = 0; /* does not exist yet */
	do {
		again = id;
		if (bpf_map_update_elem(c->ids_fd, &index, &id, BPF_ANY))
			return -errno;
		err = cgroup__id(mount, path, &id);
		if (err)
			id = 0;
	} while (id != again);
	return 0;
}

int cgroup_set__resolve(const struct cgroup_set *set, struct cgroups *c, struct err *err)
{
	const struct text_set *paths = &set->paths;
	char mount[PATH_MAX];
	int code;

	if (!paths->n)
		return 0;
	if (cgroup__mount_point(mount, sizeof(mount)))
		return err_set(err, -ENOENT,
			       "a rule names a cgroup, and no cgroup2 file system is mounted here");
	code = start_watching(c, err);
	if (code)
		return code;
	for (size_t i = 0; i < paths->n; i++) {
		struct frbpf_cgroup_path key = { "" };

		strncpy(key.text, paths->text[i], sizeof(key.text) - 1);
		code = bpf_map_update_elem(bpf_map__fd(c->skel->maps.paths), &key, &paths->index[i],
					   BPF_ANY)
			       ? -errno
			       : resolve_cgroup(c, mount, paths->text[i], paths->index[i]);
		if (code)
			return err_set(err, code, "cgroup %s: %s", paths->text[i], strerror(-code));
	}
	return 0;
}

/* Forget paths that no rule names any more. */
static void forget_others(const struct cgroup_set *set, struct cgroups *c)
{
	struct frbpf_cgroup_path key, next;
	int fd = bpf_map__fd(c->skel->maps.paths);
	bool more = !bpf_map_get_next_key(fd, NULL, &next);
	uint32_t index;

	while (more) {
		key = next;
		more = !bpf_map_get_next_key(fd, &key, &next);
		if (!cgroup_set__has(set, key.text, &index))
			bpf_map_delete_elem(fd, &key);
	}
}

void cgroup_set__commit(const struct cgroup_set *set, struct cgroups *c)
{
	c->slots = set->paths.slots;
	if (!c->skel)
		return;
	if (set->paths.n)
		forget_others(set, c);
	else
		cgroups_bpf__destroy(TAKE_PTR(c->skel));
}

void cgroup_set__free(struct cgroup_set *set)
{
	free(set);
}
