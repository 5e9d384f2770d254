// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/location.h"
#include "run/app_place.h"

/* Make a directory in /run/frbpf, where nobody else can write, or in /tmp, which is sticky. */
static bool make_directory(char ret[static 64])
{
	if (location__make_run_dir()) {
		snprintf(ret, 64, LOCATION_RUN_DIR "/run.XXXXXX");
		if (mkdtemp(ret))
			return true;
	}
	snprintf(ret, 64, "/tmp/frbpf-run.XXXXXX");
	return mkdtemp(ret);
}

static int make_app_place(struct app_place *p, struct err *err)
{
	struct stat st;

	if (!make_directory(p->made)) {
		int code = -errno;

		p->made[0] = '\0';
		return err_set(err, code, "no directory for the application socket: %s",
			       strerror(-code));
	}
	p->dir_fd = open(p->made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->dir_fd < 0 || fstat(p->dir_fd, &st) || st.st_uid != geteuid() ||
	    fchmod(p->dir_fd, 0711))
		return err_set(err, -EIO, "%s: cannot be opened for the application socket",
			       p->made);
	snprintf(p->path, sizeof(p->path), "%s/app", p->made);
	return 0;
}

int app_place__make(const struct output_dir *f, const struct child_user *user,
		    struct app_place *ret, struct err *err)
{
	struct app_place p = { .dir_fd = -1 };
	int code = 0;

	if (user->change && user->uid != geteuid()) {
		code = make_app_place(&p, err);
	} else {
		p.dir_fd = fcntl(f->base.fd, F_DUPFD_CLOEXEC, 3);
		if (p.dir_fd < 0)
			code = err_set(err, -errno, "%s: %s", f->base.path, strerror(errno));
		snprintf(p.path, sizeof(p.path), "%s/app", f->base.path);
	}
	if (code)
		app_place__free(&p);
	else
		*ret = p;
	return code;
}

void app_place__free(struct app_place *p)
{
	if (p->dir_fd >= 0)
		close(TAKE_FD(p->dir_fd));
	if (p->made[0])
		rmdir(p->made);
	p->made[0] = '\0';
}
