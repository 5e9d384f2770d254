// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/dump_name.h"
#include "common/err.h"
#include "dump/base/base_dir.h"

/* Files of incidents in the base: their names, drafts and manifests. */

struct name_search {
	const char *name;
	bool found;
};

static void look_in_session(int fd, const char *name, void *arg)
{
	struct name_search *search = arg;
	_cleanup_close_ int dir = -1;
	char file[DUMP_NAME_SIZE];

	if (strncmp(name, "session-", 8) != 0)
		return;
	dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0 && !dump_name__find(dir, search->name, file))
		search->found = true;
}

static pthread_mutex_t manifests_lock = PTHREAD_MUTEX_INITIALIZER;

void base_dir__lock_manifests(void)
{
	pthread_mutex_lock(&manifests_lock);
}

void base_dir__unlock_manifests(void)
{
	pthread_mutex_unlock(&manifests_lock);
}

bool base_dir__has_manifest(const struct base_dir *b, const char *name)
{
	char manifest[64];

	snprintf(manifest, sizeof(manifest), "%s.json", name);
	return faccessat(b->incidents_fd, manifest, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool name_taken(const struct base_dir *b, const char *name)
{
	struct name_search search = { .name = name };

	for (size_t i = 0; i < ARRAY_SIZE(b->names); i++) {
		if (strcmp(b->names[i], name) == 0)
			return true;
	}
	if (base_dir__has_manifest(b, name))
		return true;
	base_dir__each_entry(b->fd, look_in_session, &search);
	return search.found;
}

void base_dir__reserve_name(struct base_dir *b, uint64_t realtime_ns,
			    char ret[static INCIDENT_NAME_SIZE])
{
	pthread_mutex_lock(&b->name_lock);
	do {
		incident__format_name(realtime_ns, ret);
		realtime_ns += 10000000;
	} while (name_taken(b, ret));
	memcpy(b->names[b->n_names++ % ARRAY_SIZE(b->names)], ret, INCIDENT_NAME_SIZE);
	pthread_mutex_unlock(&b->name_lock);
}

/* @where: path of the directory below the base, ending in '/', for messages. */
static int write_whole_file(const struct base_dir *b, int dir, const char *where, const char *name,
			    const char *text, size_t len, struct err *err)
{
	char tmp[64];
	int fd, code;

	snprintf(tmp, sizeof(tmp), BASE_DIR_TMP_PREFIX "%s", name);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "cannot create %s/%s%s: %s", b->path, where, tmp,
			       strerror(errno));
	code = write_all(fd, text, len);
	if (!code && fsync(fd) < 0)
		code = -errno;
	close(fd);
	if (!code && renameat(dir, tmp, dir, name) < 0)
		code = -errno;
	if (code) {
		unlinkat(dir, tmp, 0);
		return err_set(err, code, "cannot write %s/%s%s: %s", b->path, where, name,
			       strerror(-code));
	}
	fsync(dir);
	return 0;
}

static void format_draft(const char *name, char ret[static 64])
{
	snprintf(ret, 64, BASE_DIR_DRAFT_PREFIX "%s.json", name);
}

int base_dir__write_draft(const struct base_dir *b, const char *name, const char *text, size_t len,
			  struct err *err)
{
	static const char spare[BASE_DIR_DRAFT_SPARE] = { [0 ... sizeof(spare) - 1] = '\n' };
	char draft[64];
	int fd, code = base_dir__renew(b, "incidents", b->incidents_fd, err);

	if (code < 0)
		return code;
	format_draft(name, draft);
	fd = openat(b->incidents_fd, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return err_set(err, -errno, "cannot create %s/incidents/%s: %s", b->path, draft,
			       strerror(errno));
	code = write_all(fd, text, len);
	code = code ?: write_all(fd, spare, sizeof(spare));
	close(fd);
	if (!code)
		return 0;
	unlinkat(b->incidents_fd, draft, 0);
	return err_set(err, code, "cannot write %s/incidents/%s: %s", b->path, draft,
		       strerror(-code));
}

void base_dir__drop_draft(const struct base_dir *b, const char *name)
{
	char draft[64];

	format_draft(name, draft);
	unlinkat(b->incidents_fd, draft, 0);
}

int base_dir__promote_draft(const struct base_dir *b, const char *name, const char *text,
			    size_t len)
{
	char draft[64], file[64];
	int fd, err;

	snprintf(file, sizeof(file), "%s.json", name);

	format_draft(name, draft);
	fd = openat(b->incidents_fd, draft, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text, len);
	if (!err && (ftruncate(fd, len) < 0 || fsync(fd) < 0))
		err = -errno;
	close(fd);
	if (!err && renameat(b->incidents_fd, draft, b->incidents_fd, file) < 0)
		err = -errno;
	return err;
}

int base_dir__write_manifest(const struct base_dir *b, const char *name, const char *text,
			     size_t len, struct err *err)
{
	char file[64];
	int code = base_dir__renew(b, "incidents", b->incidents_fd, err);

	if (code < 0)
		return code;
	snprintf(file, sizeof(file), "%s.json", name);
	code = write_whole_file(b, b->incidents_fd, "incidents/", file, text, len, err);
	if ((code == -ENOSPC || code == -EDQUOT) &&
	    base_dir__promote_draft(b, name, text, len) == 0)
		return 0;
	if (!code)
		base_dir__drop_draft(b, name);
	return code;
}

int base_dir__write_file(const struct base_dir *b, const char *name, const char *text, size_t len,
			 struct err *err)
{
	return write_whole_file(b, b->fd, "", name, text, len, err);
}
