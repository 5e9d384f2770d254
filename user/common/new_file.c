// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/new_file.h"

/* Some file systems cannot rename without replacing. Most can link, which never replaces. */
int new_file__rename(int directory, const char *from, const char *to, bool replace)
{
	if (!renameat2(directory, from, directory, to, replace ? 0 : RENAME_NOREPLACE))
		return 0;
	if (replace || (errno != EINVAL && errno != ENOSYS))
		return -errno;
	if (linkat(directory, from, directory, to, 0))
		return -errno;
	unlinkat(directory, from, 0);
	return 0;
}

/*
 * May the file @path be made? Returns a handle of its directory, which the caller closes, or
 * negative errno with a message in @err.
 */
static int find_directory(const char *option, const char *path, bool replace, struct err *err,
			  const char **ret_name)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_close_ int directory = foreign__directory(path);
	struct stat st;

	if (!*path)
		return err_set(err, -EINVAL, "%s: an empty name", option);
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_set(err, -EISDIR, "%s %s: not the name of a file", option, path);
	if (directory == -ELOOP)
		return err_set(
			err, directory,
			"%s %s: it goes through a link of another user: name the file itself",
			option, path);
	if (directory < 0)
		return err_set(err, directory, "%s %s: %s", option, path, strerror(-directory));
	*ret_name = name;
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return TAKE_FD(directory);
	if (!replace)
		return err_set(err, -EEXIST,
			       "%s %s: it exists already: nothing is overwritten without --force",
			       option, path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s %s: not a regular file", option, path);
	return TAKE_FD(directory);
}

int new_file__check(const char *option, const char *path, bool replace, struct err *err)
{
	const char *name;
	_cleanup_close_ int directory = find_directory(option, path, replace, err, &name);

	if (directory < 0)
		return directory;
	if (faccessat(directory, ".", W_OK | X_OK, AT_EACCESS))
		return err_set(err, -errno, "%s %s: %s", option, path, strerror(errno));
	return 0;
}

int new_file__create(const char *option, const char *path, mode_t mode, bool replace,
		     struct err *err, struct new_file *ret)
{
	struct new_file f = { .fd = -1, .replace = replace };
	int code = find_directory(option, path, replace, err, &f.name);

	if (code < 0)
		return code;
	f.directory = code;
	snprintf(f.tmp, sizeof(f.tmp), ".frbpf-%d.tmp", (int)getpid());
	f.fd = openat(f.directory, f.tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (f.fd < 0) {
		code = -errno;
		close(f.directory);
		return err_set(err, code, "%s %s: cannot create a file beside it: %s", option, path,
			       strerror(-code));
	}
	*ret = f;
	return 0;
}

/* fsync() does not take a handle (O_PATH), so open the directory again. */
static int sync_directory(int directory)
{
	_cleanup_close_ int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return again < 0 || fsync(again) ? -errno : 0;
}

int new_file__publish(struct new_file *f)
{
	int err = fsync(f->fd) ? -errno : 0;

	err = err ?: new_file__rename(f->directory, f->tmp, f->name, f->replace);
	if (err) {
		new_file__drop(f);
		return err;
	}
	err = sync_directory(f->directory);
	close(f->directory);
	close(f->fd);
	return err;
}

void new_file__drop(struct new_file *f)
{
	unlinkat(f->directory, f->tmp, 0);
	close(f->directory);
	close(f->fd);
}
