// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "daemon/location.h"
#include "dump/base/base_dir.h"
#include "rules/config.h"
#include "rules/rules_files.h"

#define NOTE	  LOCATION_RUN_DIR "/base"
#define NOTE_LOCK LOCATION_RUN_DIR "/base.lock"

/*
 * Read `base` in [daemon] of the file @path. Only the syntax of the rest is checked. 1: it has an
 * absolute base; 0: it has none; or negative errno with a message in @err.
 */
static int read_base(const char *path, char ret[static PATH_MAX], struct err *err)
{
	struct diags d = { 0 };
	struct source_text *src;
	struct config *c = NULL;
	struct buf text = { 0 };
	char *value = NULL;
	int code = rules_files__read(path, &d, &src);

	if (code)
		diags__free(&d);
	if (code)
		return err_set(err, code, "%s: cannot read it: %s", path, strerror(-code));
	code = config__parse(src, &d, &c);
	if (code) {
		diags__format(&d, &text);
		err_set(err, code, "%s", text.len ? text.data : strerror(-code));
		buf__free(&text);
	}
	for (size_t s = 0; c && s < c->n_sections; s++) {
		const struct config_section *sec = &c->sections[s];

		for (size_t e = 0; strcmp(sec->name, "daemon") == 0 && e < sec->n_entries; e++) {
			if (strcmp(sec->entries[e].key, "base") == 0 && !value)
				value = config__perf_value(c, &sec->entries[e]);
		}
	}
	if (value)
		snprintf(ret, PATH_MAX, "%s", value);
	free(value);
	config__free(c);
	diags__free(&d);
	return code ?: ret[0] == '/';
}

static bool base_of_config(const char *path, char ret[static PATH_MAX])
{
	return read_base(path, ret, NULL) > 0;
}

/* Trust the note only if nobody but root can have written it. */
static bool read_location_note(char ret[static PATH_MAX])
{
	struct buf b = { 0 };
	struct stat st;

	if (stat(LOCATION_RUN_DIR, &st) < 0 || st.st_uid != 0 || (st.st_mode & 0022))
		return false;
	if (buf__read_file(&b, NOTE, PATH_MAX) == 0 && b.len)
		snprintf(ret, PATH_MAX, "%.*s", (int)strcspn(b.data, "\n"), b.data);
	buf__free(&b);
	return ret[0] == '/';
}

/* As in perf: 0, false, no and off mean no. */
static bool env_is_set(const char *name)
{
	const char *v = getenv(name);

	return v && strcmp(v, "0") && strcasecmp(v, "false") && strcasecmp(v, "no") &&
	       strcasecmp(v, "off");
}

/* Is the file root's or ours? A file of another user could make us run commands. */
static bool path_is_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
}

static bool base_is_wanted(const char *path, bool any)
{
	char base[PATH_MAX] = "";

	return path_is_trusted(path) && (any || base_of_config(path, base));
}

bool location__perf_config(bool any, char ret[static PATH_MAX])
{
	const char *home = getenv("HOME");
	char path[PATH_MAX] = "/etc/perfconfig";
	bool found = !env_is_set("PERF_CONFIG_NOSYSTEM") && base_is_wanted(path, any);

	if (!found && home && home[0] == '/' && !env_is_set("PERF_CONFIG_NOGLOBAL") &&
	    snprintf(path, sizeof(path), "%s/.perfconfig", home) < PATH_MAX)
		found = base_is_wanted(path, any);
	if (found)
		memcpy(ret, path, sizeof(path));
	return found;
}

static bool base_of_perf(char ret[static PATH_MAX])
{
	char path[PATH_MAX];

	return location__perf_config(false, path) && base_of_config(path, ret);
}

/*
 * Make a path absolute, since the daemon changes its directory. Links are not resolved: the daemon
 * refuses a link in place of the base.
 */
static void make_base_absolute(const char *path, char ret[static PATH_MAX])
{
	char cwd[PATH_MAX] = "", *to;

	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	snprintf(ret, PATH_MAX, "%s", strcmp(cwd, "/") ? cwd : "");
	to = ret + strlen(ret);
	for (const char *s = path + strspn(path, "/"); *s;) {
		size_t len = strcspn(s, "/");

		if (to + len + 2 > ret + PATH_MAX)
			break;
		if (len != 1 || s[0] != '.') {
			*to++ = '/';
			to = mempcpy(to, s, len);
		}
		s += len + strspn(s + len, "/");
	}
	if (to == ret)
		*to++ = '/';
	*to = '\0';
}

int location__find(const struct location_hint *hint, char ret[static PATH_MAX], struct err *err)
{
	const char *env = getenv("FRBPF_BASE");
	int code;

	ret[0] = '\0';
	if (hint->base) {
		make_base_absolute(hint->base, ret);
		return 0;
	}
	if (hint->config) {
		code = read_base(hint->config, ret, err);
		if (code > 0)
			return 0;
		if (code == 0) /* do not fall back to the base of another daemon */
			code = err_set(err, -EINVAL,
				       "%s: base not defined%s: write `base = /...` in its "
				       "[daemon], or give --base",
				       hint->config, ret[0] ? " as an absolute path" : "");
		return code;
	}
	if (env && env[0]) {
		snprintf(ret, PATH_MAX, "%s", env);
		return 0;
	}
	if (read_location_note(ret) || base_of_config(LOCATION_RULES, ret) || base_of_perf(ret))
		return 0;
	snprintf(ret, PATH_MAX, "%s", BASE_DIR_DEFAULT);
	return 0;
}

static bool is_alive(const char *base)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char lock[PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(lock, sizeof(lock), "%.*s/lock", PATH_MAX - 8, base);
	fd = open(lock, O_RDWR | O_CLOEXEC);
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
}

static bool same_dir(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* May the daemon of @base take over /run/frbpf? */
static bool take_run_dir(const char *base)
{
	char other[PATH_MAX] = "";

	/*
	 * a note with our base is ours; is_alive() must not see that base, since it would find our
	 * own lock
	 */
	return !read_location_note(other) || same_dir(other, base) || !is_alive(other);
}

bool location__make_run_dir(void)
{
	struct stat st;

	return (!mkdir(LOCATION_RUN_DIR, 0755) || errno == EEXIST) &&
	       !lstat(LOCATION_RUN_DIR, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 0022);
}

/* Serialize daemons that start together. Only root can open the lock. */
static int lock_run_dir(void)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int fd = -1;

	if (geteuid() != 0 || !location__make_run_dir())
		return -1;
	fd = open(NOTE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fcntl(fd, F_OFD_SETLKW, &fl) < 0)
		return -1;
	return TAKE_FD(fd);
}

void location__announce(const char *base)
{
	_cleanup_close_ int lock = lock_run_dir(), fd = -1;

	if (lock < 0 || !take_run_dir(base))
		return;
	fd = open(NOTE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0)
		dprintf(fd, "%s\n", base);
}

void location__withdraw(const char *base)
{
	char noted[PATH_MAX] = "";

	if (read_location_note(noted) && strcmp(noted, base) == 0)
		unlink(NOTE);
}

int location__owner(const char *base)
{
	struct buf b = { 0 };
	char lock[PATH_MAX];
	int pid = 0;

	snprintf(lock, sizeof(lock), "%.*s/lock", PATH_MAX - 8, base);
	if (is_alive(base) && buf__read_file(&b, lock, 64) == 0 && b.len)
		pid = atoi(b.data);
	buf__free(&b);
	return pid;
}

bool location__is_noted(const char *base)
{
	char noted[PATH_MAX] = "";

	return read_location_note(noted) && strcmp(noted, base) == 0;
}
