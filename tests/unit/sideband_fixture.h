/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by tests of the side band: a running one, and access to its slices. */
#ifndef TESTS_UNIT_SIDEBAND_FIXTURE_H
#define TESTS_UNIT_SIDEBAND_FIXTURE_H

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examine/examiner.h"
#include "perfdata/record.h"
#include "sideband/sideband.h"

static inline struct sideband *open_sideband(const struct sideband_opts *opts)
{
	static struct examiner *examiner; /* ends with us */
	struct sideband_opts with_examiner = *opts;
	struct sideband *sb;
	struct err err;
	int ret;

	if (!examiner)
		assert_int_equal(examiner__new(&examiner), 0);
	with_examiner.examiner = examiner;
	ret = sideband__open(&with_examiner, &err, &sb);

	if (ret == -EPERM || ret == -EACCES) {
		print_message("not allowed here: %s\n", err.msg);
		skip();
	}
	if (ret)
		fail_msg("%s", err.msg);
	return sb;
}

static inline struct sideband *start_sideband(const struct sideband_opts *opts)
{
	struct sideband *sb = open_sideband(opts);
	struct err err;

	assert_int_equal(sideband__scan(sb, &err), 0);
	assert_int_equal(sideband__start(sb, &err), 0);
	return sb;
}

static inline struct sideband_slice *slice_of(struct sideband *sb, const uint32_t *pids, size_t n,
					      uint64_t start, uint64_t end)
{
	struct sideband_task tasks[16];
	const struct sideband_request req = {
		.tasks = tasks,
		.n_tasks = n,
		.all_files = true,
		.start = start,
		.end = end,
	};
	struct sideband_slice *s;
	struct err err;
	size_t i;

	for (i = 0; i < n; i++)
		tasks[i] = (struct sideband_task){ pids[i], pids[i] };
	assert_int_equal(sideband__slice(sb, &req, &err, &s), 0);
	return s;
}

/*
 * Find the first record of @type and @pid whose name contains @name. Also check the order of the
 * records.
 */
static inline const struct perf_event_header *
find_record(const struct sideband_slice *s, uint32_t type, uint32_t pid, const char *name)
{
	const struct perf_event_header *h, *found = NULL;
	uint64_t last = 0;
	size_t off, n = 0;

	for (off = 0; off < s->records.len; off += h->size, n++) {
		const char *text = NULL;

		h = (const void *)(s->records.data + off);
		assert_true(record__valid(h, s->records.len - off));
		assert_true(record__time(h) > 0);
		assert_true(record__time(h) >= last);
		last = record__time(h);
		if (h->type == PERF_RECORD_COMM)
			text = ((const struct record_comm *)h)->comm;
		else if (h->type == PERF_RECORD_MMAP2)
			text = ((const struct record_mmap2 *)h)->filename;
		else if (h->type == PERF_RECORD_MMAP)
			text = ((const struct record_mmap *)h)->filename;
		if (h->type == type && ((const struct record_comm *)h)->pid == pid &&
		    (!name || (text && strstr(text, name))) && !found)
			found = h;
	}
	assert_int_equal(n, s->n_records);
	return found;
}

/* The slice has an MMAP2 with this name, and its table of build ids has the file's. */
static inline void assert_mapped(const struct sideband_slice *s, uint32_t pid, const char *name)
{
	const struct record_mmap2 *r = (const void *)find_record(s, PERF_RECORD_MMAP2, pid, name);
	size_t i;

	assert_non_null(r);
	for (i = 0; i < s->n_build_ids; i++)
		if (!strcmp(s->build_ids[i].name, r->filename)) {
			assert_false(s->build_ids[i].kernel);
			assert_int_equal(s->build_ids[i].id.size, 20);
			/*
			 * the kernel reports the build id only if the file's first page is in
			 * memory
			 */
			if (r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
				assert_memory_equal(s->build_ids[i].id.data, r->build_id, 20);
			return;
		}
	fail_msg("no build id of %s", r->filename);
}

/* Not by fork(), which takes ten times as long with AddressSanitizer. */
static inline pid_t spawn(const char *path)
{
	char *const argv[] = { (char *)path, NULL };
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, path, NULL, NULL, argv, environ), 0);
	return pid;
}

static inline void reap(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif
