// SPDX-License-Identifier: GPL-2.0-only
/* Files of /proc contain names that anybody chooses: of tasks, files, cgroups. */
#include <string.h>

#include "common/proc_file.h"
#include "dump/state/cgroup_state.h"
#include "sideband/proc_maps.h"
#include "fuzz_dir.h"

static void read_maps(const uint8_t *data, size_t size)
{
	static struct proc_maps maps = { .no_query = true };
	size_t names = 0;

	fuzz_dir__write("maps", data, size);
	if (proc_maps__read(&maps, fuzz_dir__open()))
		return;
	for (size_t i = 0; i < maps.n; i++) {
		assert(maps.v[i].name == maps.names.data + names);
		names += maps.v[i].name_len;
	}
	assert(names == maps.names.len);
}

static void read_task(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "comm", "stat" };
	struct proc_stat stat;
	char comm[PROC_COMM];

	for (size_t i = 0; i < 2; i++)
		fuzz_dir__write(names[i], data, size);
	if (!proc_file__comm(fuzz_dir__open(), comm))
		assert(!comm[PROC_COMM - 1]);
	if (!proc_file__stat(fuzz_dir__open(), &stat))
		assert(stat.born);
}

static void read_text(char *text)
{
	const char *end = text + strlen(text), *at = proc_file__status_field(text, "Uid"), *name;
	const struct cgroup_roots none = { { -1, -1, -1, -1 } };
	json_t *state = json_object();
	uint64_t a, b;

	assert(!at || (at > text && at <= end));
	assert(!cgroup_state__add(&none, text, state));
	json_decref(state);
	proc_file__number(text, "max", &a);
	cgroup_state__quota(text, &a, &b);
	json_decref(cgroup_state__pressure(text));
	name = map_line__program(text, &a, &b);
	assert(!name || (name > text && name <= end && *name == '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);

	assert(text);
	memcpy(text, data, size);
	read_maps(data, size);
	read_task(data, size);
	read_text(text);
	free(text);
	return 0;
}
