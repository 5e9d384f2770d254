// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/rights.h"
#include "common/write_all.h"
#include "symbols/kallsyms_cache.h"

#define KALLSYMS_MAX  (256u << 20)
#define KERNEL_FOLDER "[kernel.kallsyms]"
#define LINKS_FOLDER  ".build-id"

static int open_folder(int at, const char *name, struct err *err)
{
	int fd;

	if (mkdirat(at, name, 0755) && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot create the directory: %s", name,
			       strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", name, strerror(errno));
}

static int refuse_folder(const char *path, int code, struct err *err)
{
	if (code == -ELOOP)
		return err_set(err, code, "%s: it goes through a link of another user", path);
	return err_set(err, code, "%s: %s", path, strerror(-code));
}

/* Make the directory that our user named, if it is missing, and find it. Returns a handle. */
static int find_named(const char *path, struct err *err)
{
	char inside[PATH_MAX];
	size_t len = strlen(path);
	const char *slash;
	int at;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if ((size_t)snprintf(inside, sizeof(inside), "%.*s", (int)len, path) >= sizeof(inside) - 1)
		return refuse_folder(path, -ENAMETOOLONG, err);
	at = foreign__folder(inside);
	if (at < 0)
		return refuse_folder(path, at, err);
	slash = strrchr(inside, '/');
	if (mkdirat(at, slash ? slash + 1 : inside, 0755) && errno != EEXIST && len > 1) {
		int code = -errno;

		close(at);
		return refuse_folder(path, code, err);
	}
	close(at);
	strcpy(inside + len, "/");
	at = foreign__folder(inside);
	return at < 0 ? refuse_folder(path, at, err) : at;
}

static int check_kernel(const struct build_id *id, struct err *err)
{
	struct build_id running;

	if (build_id__read_kernel(&running))
		return err_set(err, -EINVAL, "the running kernel does not show its build id");
	if (running.size != id->size || memcmp(running.data, id->data, id->size))
		return err_set(err, -EINVAL,
			       "recorded on another kernel than the running one: its symbols are "
			       "available only while it runs");
	return 0;
}

/* Without the right to see addresses, all are 0. */
static bool shows_addresses(const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, NULL, 16))
			return true;
	}
	return false;
}

static int copy_kallsyms(struct buf *text, struct err *err)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	int code = buf__read_file(text, "/proc/kallsyms", KALLSYMS_MAX);

	if (code)
		return err_set(err, code, "/proc/kallsyms: %s", strerror(-code));
	if (!shows_addresses(text->data))
		return err_set(err, -EACCES, "/proc/kallsyms shows no addresses: try sudo");
	return 0;
}

/* Atomic: the file is complete, or absent. */
static int write_symbols(int folder, const struct buf *text, struct err *err)
{
	static const char tmp[] = ".kallsyms.new";
	_cleanup_close_ int fd = -1;
	int code;

	unlinkat(folder, tmp, 0);
	fd = openat(folder, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	code = fd < 0 ? -errno : write_all(fd, text->data, text->len);
	if (!code && renameat(folder, tmp, folder, "kallsyms"))
		code = -errno;
	if (!code)
		return 0;
	unlinkat(folder, tmp, 0);
	return err_set(err, code, "cannot write the kernel's symbols: %s", strerror(-code));
}

static int add_link(int dir, const char *hex, struct err *err)
{
	_cleanup_close_ int links = open_folder(dir, LINKS_FOLDER, err), two = -1;
	char first[3], target[128];

	snprintf(first, sizeof(first), "%.2s", hex);
	snprintf(target, sizeof(target), "../../" KERNEL_FOLDER "/%s", hex);
	if (links < 0)
		return links;
	two = open_folder(links, first, err);
	if (two < 0)
		return two;
	if (symlinkat(target, two, hex + 2) && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot create the link: %s", target,
			       strerror(errno));
	return 0;
}

static int write_cache(int dir, const struct build_id *id, struct err *err)
{
	_cleanup_close_ int kernel = -1, folder = -1;
	struct buf text = { 0 };
	char hex[2 * BUILD_ID_MAX + 1];
	int code;

	for (size_t i = 0; i < id->size; i++)
		sprintf(hex + 2 * i, "%02x", id->data[i]);
	kernel = open_folder(dir, KERNEL_FOLDER, err);
	if (kernel < 0)
		return kernel;
	folder = open_folder(kernel, hex, err);
	if (folder < 0)
		return folder;
	code = copy_kallsyms(&text, err) ?: write_symbols(folder, &text, err);
	buf__free(&text);
	return code ?: add_link(dir, hex, err);
}

int kallsyms_cache__write(const char *dir, const struct build_id *id, struct err *err)
{
	_cleanup_close_ int fd = -1;
	int code = check_kernel(id, err);

	if (code)
		return code;
	fd = find_named(dir, err);
	return fd < 0 ? fd : write_cache(fd, id, err);
}
