// SPDX-License-Identifier: GPL-2.0-only
/*
 * An untrusted recording, for every source: reported events end after they begin, are in the order
 * of time, and name only existing fields.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/retrace/retrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool it)
{
	if (!it)
		abort();
}

static int look(const struct retraced *m, void *arg)
{
	uint64_t *last = arg;

	must(m->begin <= m->time && m->time - m->begin == m->val[0][FRBPF_FIELD_VALUE][0]);
	must(m->pending || m->time >= *last);
	must(!(m->unknown[0] >> FRBPF_FIELD_MAX) && m->key < FRBPF_KEY_MAX);
	if (!m->pending)
		*last = m->time;
	return 0;
}

static int pass(uint64_t time, void *arg)
{
	return 0;
}

static void cut(void *arg)
{
	*(uint64_t *)arg = 0;
}

static void want_all(struct retrace *m, uint64_t *last)
{
	struct retrace_want w = { .take = look, .pass = pass, .cut = cut };
	size_t id;

	for (int source = 1; source <= FRBPF_SOURCE_CONNECT; source++) {
		w.source = source;
		w.arg = last++;
		must(!retrace__want(m, &w, &id));
		w.pending = 1000000;
		w.arg = last++;
		must(!retrace__want(m, &w, &id));
		w.pending = 0;
	}
	w = (struct retrace_want){ .source = FRBPF_SOURCE_SPAN,
				   .start = "test:begin",
				   .end = "test:end",
				   .start_keys = { "key", "cpu" },
				   .end_keys = { "key", "cpu" },
				   .n_keys = 2,
				   .args = { "x", "y" },
				   .arg_at_start = { true },
				   .nested = true,
				   .take = look,
				   .arg = last };
	must(!retrace__want(m, &w, &id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t last[2 * FRBPF_SOURCE_CONNECT + 1] = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct retrace_field field;
	struct err err = { 0 };
	struct retrace *m;
	char path[64];

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(!retrace__new(&m));
	/* twice: duplicates count once */
	if (!retrace__add_file(m, path, &err) && !retrace__add_file(m, path, &err)) {
		retrace__find_field(m, "sched:sched_switch", "next.pid", &field);
		want_all(m, last);
		retrace__run(m, &err);
	}
	must(m || err.msg[0]);
	retrace__free(m);
	close(fd);
	return 0;
}
