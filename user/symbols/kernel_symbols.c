// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/foreign.h"
#include "common/opening.h"
#include "common/rights.h"
#include "symbols/kernel_symbols.h"
#include "symbols/text_symbols.h"

#define KALLSYMS     "/proc/kallsyms"
#define KALLSYMS_MAX (512u << 20)
#define NOTES_MAX    65536

static const char no_memory[] = "out of memory for its symbols";
static const char hidden[] = "addresses are hidden (kernel.kptr_restrict, or no root)";

static bool same_id(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

struct kallsyms {
	const char *module;
	struct symbol_table *table;
	struct kernel_text text;
};

static int add_kallsyms(const struct buf *text, void *arg)
{
	struct kallsyms *k = arg;

	return text_symbols__kallsyms(text, k->module, k->table, &k->text);
}

/* Read the table from @path, and where the kernel is. */
static const char *read_kallsyms(const char *path, const char *module, struct symbol_table *ret,
				 struct kernel_text *ret_text)
{
	struct symbol_table t = { .wanted = TAKE_PTR(ret->wanted) };
	struct kallsyms k = { .module = module, .table = &t };
	RAISED_RIGHTS(!strcmp(path, KALLSYMS) ? RIGHTS_PROCESSES : 0);
	_cleanup_close_ int fd = opening__kernel(path);
	int err = fd < 0 ? fd : text_chunks__each(fd, KALLSYMS_MAX, add_kallsyms, &k);

	err = err ?: symbol_table__finish(&t);
	if (!err && t.n) {
		*ret = t;
		*ret_text = k.text;
		return NULL;
	}
	symbol_table__free(&t);
	if (err == -ENOMEM)
		return no_memory;
	return err ? "cannot read " KALLSYMS : hidden;
}

/* Path of the kallsyms that `perf record` keeps for every kernel that it records. */
static bool kept_kallsyms(const struct build_id *id, char path[static PATH_MAX])
{
	const char *home = getenv("HOME");
	int n;

	if (!home || home[0] != '/' || !id->size)
		return false;
	n = snprintf(path, PATH_MAX, "%s/.debug/[kernel.kallsyms]/", home);
	if (n + 2 * BUILD_ID_MAX + 16 >= PATH_MAX)
		return false;
	for (int i = 0; i < id->size; i++)
		n += sprintf(path + n, "%02x", id->data[i]);
	strcpy(path + n, "/kallsyms");
	return true;
}

const char *kernel_symbols__read(uint64_t text, const struct build_id *id, struct symbol_table *ret,
				 uint64_t *ret_delta)
{
	struct build_id running = { 0 };
	struct symbol_table t = { 0 };
	const char *path = KALLSYMS, *why;
	struct kernel_text there = { 0 };
	char kept[PATH_MAX];

	if (!text)
		return "the recorder was not shown the kernel's addresses";
	if (id->size && (build_id__read_kernel(&running) || !same_id(&running, id))) {
		if (!kept_kallsyms(id, kept))
			return "is not the running one";
		path = kept;
	}
	why = read_kallsyms(path, NULL, &t, &there);
	if (why)
		return path == kept ? "is not the running one" : why;
	if (!there.start || (!id->size && there.start != text)) {
		symbol_table__free(&t);
		return !there.start ? hidden : "has no build id and is not the running one";
	}
	*ret = t;
	*ret_delta = there.start - text;
	return NULL;
}

/*
 * Addresses in the running kernel that were looked up before, without modules: these come and go.
 * Stacks contain the same addresses again and again, and reading all symbols takes a tenth of a
 * second.
 */
struct known_address {
	uint64_t addr, start;
	UT_hash_handle hh;
	char name[];
};

#define KNOWN_MAX 16384

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_address *known;

/*
 * Make a table of the symbols at @addrs. 0; -ENOENT: not all are known; -ENOMEM. The lock is held.
 */
static int copy_known_kallsyms(const uint64_t *addrs, size_t n, struct symbol_table *ret)
{
	struct known_address *k;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		HASH_FIND(hh, known, &addrs[i], sizeof(addrs[i]), k);
		err = k ? symbol_table__add(ret, k->start, 0, 0, k->name, strlen(k->name),
					    SYMBOL_KALLSYMS)
			: -ENOENT;
	}
	return err ?: symbol_table__finish(ret);
}

/* Keep a symbol for the next look-up, if there is room. The lock is held. */
static void keep_known_kallsyms(uint64_t addr, const struct symbol *s)
{
	struct known_address *k;
	size_t len = strlen(s->name) + 1;

	HASH_FIND(hh, known, &addr, sizeof(addr), k);
	if (k || HASH_COUNT(known) >= KNOWN_MAX)
		return;
	k = calloc(1, sizeof(*k) + len);
	if (!k)
		return;
	k->addr = addr;
	k->start = s->start;
	memcpy(k->name, s->name, len);
	HASH_ADD(hh, known, addr, sizeof(k->addr), k);
	if (!k->hh.tbl)
		free(k);
}

const char *kernel_symbols__read_running(const uint64_t *addrs, size_t n, struct symbol_table *ret)
{
	struct symbol_table t = { 0 };
	struct kernel_text text;
	const struct symbol *s;
	const char *why;
	int err;

	pthread_mutex_lock(&known_lock);
	err = copy_known_kallsyms(addrs, n, &t);
	pthread_mutex_unlock(&known_lock);
	if (!err) {
		*ret = t;
		return NULL;
	}
	symbol_table__free(&t);
	if (err == -ENOMEM || symbol_table__want(&t, addrs, n))
		return no_memory;
	why = read_kallsyms(KALLSYMS, TEXT_SYMBOLS_ANY, &t, &text);
	if (why) {
		symbol_table__free(&t);
		return why;
	}
	pthread_mutex_lock(&known_lock);
	for (size_t i = 0; i < n; i++) {
		s = symbol_table__find(&t, addrs[i]);
		if (s && s->start >= text.start && addrs[i] < text.end)
			keep_known_kallsyms(addrs[i], s);
	}
	pthread_mutex_unlock(&known_lock);
	*ret = t;
	return NULL;
}

/* Get the address of a loaded module; false: it is not loaded, or hidden. */
static bool module_start(const char *name, size_t len, uint64_t *ret)
{
	RAISED_RIGHTS(RIGHTS_PROCESSES);
	int fd = opening__kernel("/proc/modules");
	_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[4096];

	if (fd >= 0 && !f)
		close(fd);
	while (f && fgets(line, sizeof(line), f)) {
		const char *addr = strstr(line, " 0x");

		if (strncmp(line, name, len) || line[len] != ' ' || !addr)
			continue;
		*ret = strtoull(addr + 1, NULL, 16);
		return *ret;
	}
	return false;
}

static bool is_module_of_id(const char *name, size_t len, const struct build_id *id)
{
	struct build_id is = { 0 };
	struct buf notes = { 0 };
	char path[256];
	int err;

	if (!id->size)
		return true;
	snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id", (int)len, name);
	_cleanup_close_ int fd = opening__kernel(path);
	err = fd < 0 ? fd : buf__read_fd(&notes, fd, NOTES_MAX);
	err = err ?: build_id__from_notes(notes.data, notes.len, &is);
	buf__free(&notes);
	return !err && same_id(&is, id);
}

const char *kernel_symbols__read_module(const char *name, uint64_t start, const struct build_id *id,
					struct symbol_table *ret, uint64_t *ret_delta)
{
	size_t len = strcspn(++name, "]");
	struct kernel_text text;
	char bare[128];
	uint64_t there;
	const char *why;

	if (len >= sizeof(bare) || !module_start(name, len, &there))
		return "is not loaded, or its address is hidden";
	if (!is_module_of_id(name, len, id) || (!id->size && there != start))
		return "is another build than the one recorded";
	memcpy(bare, name, len);
	bare[len] = '\0';
	why = read_kallsyms(KALLSYMS, bare, ret, &text);
	if (!why)
		*ret_delta = there - start;
	return why;
}

/* ---- the copy that perf on another machine finds ---- */

#define KERNEL_DIRECTORY "[kernel.kallsyms]"
#define LINKS_DIRECTORY	 ".build-id"

static int open_directory(int at, const char *name, struct err *err)
{
	int fd;

	if (mkdirat(at, name, 0755) && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot create the directory: %s", name,
			       strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", name, strerror(errno));
}

static int refuse_directory(const char *path, int code, struct err *err)
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
		return refuse_directory(path, -ENAMETOOLONG, err);
	at = foreign__directory(inside);
	if (at < 0)
		return refuse_directory(path, at, err);
	slash = strrchr(inside, '/');
	if (mkdirat(at, slash ? slash + 1 : inside, 0755) && errno != EEXIST && len > 1) {
		int code = -errno;

		close(at);
		return refuse_directory(path, code, err);
	}
	close(at);
	strcpy(inside + len, "/");
	at = foreign__directory(inside);
	return at < 0 ? refuse_directory(path, at, err) : at;
}

static int check_kernel(const struct build_id *id, struct err *err)
{
	struct build_id running;

	if (build_id__read_kernel(&running))
		return err_set(err, -EINVAL, "the running kernel does not show its build id");
	if (!same_id(&running, id))
		return err_set(err, -EINVAL,
			       "recorded on another kernel than the running one: its symbols are "
			       "available only while it runs");
	return 0;
}

/* Does the text show addresses? Without the right to see them, all are 0. */
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
	int code = buf__read_file(text, KALLSYMS, KALLSYMS_MAX);

	if (code)
		return err_set(err, code, KALLSYMS ": %s", strerror(-code));
	if (!shows_addresses(text->data))
		return err_set(err, -EACCES, KALLSYMS " shows no addresses: try sudo");
	return 0;
}

/* Write the file atomically: it is complete, or absent. */
static int write_symbols(int directory, const struct buf *text, struct err *err)
{
	static const char tmp[] = ".kallsyms.new";
	_cleanup_close_ int fd = -1;
	int code;

	unlinkat(directory, tmp, 0);
	fd = openat(directory, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	code = fd < 0 ? -errno : write_all(fd, text->data, text->len);
	if (!code && renameat(directory, tmp, directory, "kallsyms"))
		code = -errno;
	if (!code)
		return 0;
	unlinkat(directory, tmp, 0);
	return err_set(err, code, "cannot write the kernel's symbols: %s", strerror(-code));
}

static int add_id_link(int dir, const char *hex, struct err *err)
{
	_cleanup_close_ int links = open_directory(dir, LINKS_DIRECTORY, err), two = -1;
	char first[3], target[128];

	snprintf(first, sizeof(first), "%.2s", hex);
	snprintf(target, sizeof(target), "../../" KERNEL_DIRECTORY "/%s", hex);
	if (links < 0)
		return links;
	two = open_directory(links, first, err);
	if (two < 0)
		return two;
	if (symlinkat(target, two, hex + 2) && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot create the link: %s", target,
			       strerror(errno));
	return 0;
}

static int write_cache(int dir, const struct build_id *id, struct err *err)
{
	_cleanup_close_ int kernel = -1, directory = -1;
	struct buf text = { 0 };
	char hex[2 * BUILD_ID_MAX + 1];
	int code;

	for (size_t i = 0; i < id->size; i++)
		sprintf(hex + 2 * i, "%02x", id->data[i]);
	kernel = open_directory(dir, KERNEL_DIRECTORY, err);
	if (kernel < 0)
		return kernel;
	directory = open_directory(kernel, hex, err);
	if (directory < 0)
		return directory;
	code = copy_kallsyms(&text, err) ?: write_symbols(directory, &text, err);
	buf__free(&text);
	return code ?: add_id_link(dir, hex, err);
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
