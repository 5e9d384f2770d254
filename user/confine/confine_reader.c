// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <jansson.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/landlock.h"
#include "common/opening.h"
#include "common/rights.h"
#include "confine/allowed_calls.h"
#include "confine/confine_reader.h"
#include "confine/reader_opener.h"
#include "symbols/demangle.h"

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Close all descriptors but the standard ones, the opener's and those of @keep. */
static int close_other_fds(const int *keep, size_t n, int opener)
{
	int v[READER_FDS_MAX + 1], from = STDERR_FILENO + 1;

	if (n > READER_FDS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		v[i] = keep[i];
	v[n++] = opener;
	qsort(v, n, sizeof(*v), compare_fds);
	for (size_t i = 0; i < n; i++) {
		if (v[i] > from && close_range(from, v[i] - 1, 0))
			return -errno;
		from = v[i] >= from ? v[i] + 1 : from;
	}
	return close_range(from, ~0U, 0) ? -errno : 0;
}

static int filter_reader(const int *keep, size_t n, int opener)
{
	struct call_filter f;
	int err;

	allowed_calls__begin(&f);
	call_filter__allow_if(&f, SYS_sendmsg, 0, ~0U, opener);
	call_filter__allow_if(&f, SYS_recvmsg, 0, ~0U, opener);
	for (size_t i = 0; i < n; i++)
		call_filter__allow_if(&f, SYS_recvmsg, 0, ~0U, keep[i]);
	call_filter__allow_if(&f, SYS_shutdown, 0, ~0U, opener);
	allowed_calls__add_reader(&f);
	err = call_filter__install(&f, SECCOMP_RET_TRAP);
	return err == -ENOSYS ? 0 : err;
}

int confine__reader(const int *keep, size_t n)
{
	int opener, err = allowed_calls__watch_refused();

	/* now, since libraries would open files when they first need these */
	tzset();
	json_object_seed(0);
	demangle__prepare();
	err = err ?: opening__start(reader_opener__enter, reader_opener__open, keep, n, &opener);
	err = err ?: close_other_fds(keep, n, opener);
	err = err ?: rights__keep(NULL, 0);
	if (!IS_SANITIZED)
		err = err ?: landlock__no_files();
	return err ?: filter_reader(keep, n, opener);
}
