// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/cpus.h"
#include "detect/engine/load_error.h"
#include "detect/feed/feed.h"
#include "lock_wait.skel.h"

#define ATTACH_TO "tp_btf/"

struct feed {
	struct lock_wait_bpf *skel; /* owned */
	char lacking[256];
};

static bool kernel_has(const struct btf *kernel, const char *tracepoint)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
	return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

static void note_lacking(struct feed *f, const char *tracepoint)
{
	size_t len = strlen(f->lacking);

	snprintf(f->lacking + len, sizeof(f->lacking) - len, "%s%s", len ? ", " : "", tracepoint);
}

/* Leave out programs whose tracepoint this kernel lacks. 0 or negative errno. */
static int leave_out(struct feed *f)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct bpf_program *prog;

	if (!kernel)
		return -errno;
	bpf_object__for_each_program(prog, f->skel->obj)
	{
		const char *tracepoint = bpf_program__section_name(prog) + strlen(ATTACH_TO);

		if (kernel_has(kernel, tracepoint))
			continue;
		bpf_program__set_autoload(prog, false);
		note_lacking(f, tracepoint);
	}
	btf__free(kernel);
	return 0;
}

static int feed_load(struct feed *f, uint16_t event_type)
{
	struct stat ns;
	int r;

	f->skel = lock_wait_bpf__open();
	if (!f->skel)
		return -errno;
	f->skel->rodata->event_type = event_type;
	if (!stat("/proc/self/ns/pid", &ns))
		f->skel->rodata->daemon_pidns = ns.st_ino;
	r = bpf_map__set_max_entries(f->skel->maps.out, cpus__n_possible());
	return r ?: leave_out(f) ?: lock_wait_bpf__load(f->skel);
}

int feed__open(uint16_t event_type, struct err *err, struct feed **ret)
{
	struct feed *f = calloc(1, sizeof(*f));
	struct load_log log;
	int r;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	load_log__begin(&log);
	r = feed_load(f, event_type);
	load_log__end();
	if (r) {
		feed__free(f);
		return load_error__explain(err, r, &log);
	}
	*ret = f;
	return 0;
}

const char *feed__lacking(const struct feed *f)
{
	return f->lacking;
}

int feed__send(struct feed *f, int cpu, int fd)
{
	uint32_t key = cpu, value = fd;

	return bpf_map_update_elem(bpf_map__fd(f->skel->maps.out), &key, &value, BPF_ANY) ? -errno
											  : 0;
}

int feed__attach(struct feed *f, struct err *err)
{
	struct load_log log;
	int r;

	load_log__begin(&log);
	r = lock_wait_bpf__attach(f->skel);
	load_log__end();
	return r ? load_error__explain(err, r, &log) : 0;
}

void feed__free(struct feed *f)
{
	if (!f)
		return;
	lock_wait_bpf__destroy(f->skel);
	free(f);
}
