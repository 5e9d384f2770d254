// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "daemon/location.h"
#include "dump/base_dir.h"
#include "rules/config.h"

#define NOTE LOCATION_RUN_DIR "/base"

/* [daemon] base of the file @path; only its syntax must be right. */
static bool base_of_config(const char *path, char ret[static PATH_MAX])
{
	struct source_text *src;
	struct config *c = NULL;
	struct diags d = { 0 };
	char *value = NULL;

	if (source_text__read(path, &src) == 0 && config__parse(src, &d, &c) != 0)
		c = NULL;
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
	return ret[0] == '/';
}

/* Only root can have written the note: the directory is root's and 0755. */
static bool read_note(char ret[static PATH_MAX])
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

static bool base_of_perf(char ret[static PATH_MAX])
{
	const char *home = getenv("HOME");
	char path[PATH_MAX];

	if (home) {
		snprintf(path, sizeof(path), "%s/.perfconfig", home);
		if (base_of_config(path, ret))
			return true;
	}
	return base_of_config("/etc/perfconfig", ret);
}

int location__find(const struct location_hint *hint, char ret[static PATH_MAX], struct err *err)
{
	const char *env = getenv("FRBPF_BASE");

	ret[0] = '\0';
	if (hint->base) {
		if (!realpath(hint->base, ret))
			snprintf(ret, PATH_MAX, "%s", hint->base);
		return 0;
	}
	if (hint->config) {
		if (access(hint->config, R_OK) < 0)
			return err_set(err, -errno, "%s: cannot read it: %s", hint->config,
				       strerror(errno));
		if (base_of_config(hint->config, ret))
			return 0;
	}
	if (env && env[0]) {
		snprintf(ret, PATH_MAX, "%s", env);
		return 0;
	}
	if (read_note(ret) || base_of_config(LOCATION_RULES, ret) || base_of_perf(ret))
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
	return fd >= 0 && fcntl(fd, F_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
}

void location__announce(const char *base)
{
	char other[PATH_MAX] = "";
	_cleanup_close_ int fd = -1;

	if (geteuid() != 0 || (mkdir(LOCATION_RUN_DIR, 0755) < 0 && errno != EEXIST))
		return;
	if (read_note(other) && strcmp(other, base) != 0 && is_alive(other))
		return;
	fd = open(NOTE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0)
		dprintf(fd, "%s\n", base);
}

void location__withdraw(const char *base)
{
	char noted[PATH_MAX] = "";

	if (read_note(noted) && strcmp(noted, base) == 0)
		unlink(NOTE);
}
