// SPDX-License-Identifier: GPL-2.0-only
/* A program for probes: whatever it contains, what was found in it can be encoded. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "examine/probe/probe_search.h"

static const struct examine_probe questions[] = {
	{ .what = EXAMINE_FUNCTION, .latency = 1, .symbol = "f" },
	{ .what = EXAMINE_FUNCTION, .offset = 1, .symbol = "g(int)" },
	{ .what = EXAMINE_USDT, .provider = "p", .symbol = "q" },
	{ .what = EXAMINE_LIST_FUNCTIONS, .symbol = "*" },
	{ .what = EXAMINE_LIST_USDT, .symbol = "*" },
};

static void ask(const struct examine_probe *q, const struct probe_files_open *files, size_t size)
{
	static struct demangler *demangler;
	struct probe_found found = { 0 }, taken;
	char link[EXAMINE_LINK_MAX] = "";
	struct err err = { "" };
	struct buf b = { 0 };
	struct build_id id;

	demangler = demangler ?: demangler__new();
	if (probe_search__run(q, files, demangler, !files->n_debug, &found, &id, link, &err))
		return;
	assert(!probe_found__encode(&found, &b));
	/* the answer may be refused: its positions may lie outside of the file */
	if (!probe_found__decode(b.data, b.len, q, size, &taken))
		probe_found__free(&taken);
	probe_found__free(&found);
	buf__free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct probe_files_open files = { fd, "fuzz", true, &fd, 1 };

	assert(fd >= 0);
	assert(write(fd, data, size) == (ssize_t)size);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		files.n_debug = i % 2;
		ask(&questions[i], &files, size);
	}
	close(fd);
	return 0;
}
